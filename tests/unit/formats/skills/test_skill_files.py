"""Skills and their requests are read from whatever they are kept in."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.skills.skill_files import SkillFile, read_queries, read_skill, refuse_invalid
from evalq.formats.skills.skill_files import SkillQuery as Query
from evalq.formats.skills.trigger_cases import Skill, write_choice_prompt

SKILL_MD = (
    "---\nname: csv\ndescription: >-\n  Reads CSV.\n  Use when there is CSV.\nlicense: x\n---\n# Body\n---\n"
)


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_skill(path, Path())
    return str(caught.value)


def skill_folder(tmp_path: Path, text: str = SKILL_MD, **lists: object) -> Path:
    folder = tmp_path / "csv-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    for name, value in lists.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def test_an_eva_prompt_is_a_skill_with_its_requests(new_prompt: Callable[..., Path]) -> None:
    folder = new_prompt()
    found = read_skill(folder, Path())
    assert found.skill == Skill(
        "tidy", "Tidies one function. Use when asked to tidy.", ("tidy this",), ("explaining code",)
    )
    assert found.queries == (Query("tidy", "tidy foo.py", True), Query("tidy", "explain foo.py", False))
    assert found.judge == "claude-haiku-4-5-20251001"
    assert read_skill(folder / "meta.yml", Path()) == found


def test_a_skill_file_s_front_matter_is_enough(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path)
    found = read_skill(folder, Path())
    assert found == SkillFile(Skill("csv", "Reads CSV. Use when there is CSV."))
    assert read_skill(folder / "SKILL.md", Path()) == found


def test_a_skill_without_a_name_has_its_folder_s(tmp_path: Path) -> None:
    assert read_skill(skill_folder(tmp_path, "---\ndescription: d\n---\n"), Path()).skill.name == "csv-skill"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Body", "SKILL.md:1: it does not begin with front matter"),
        ("---\nname: x\n", "it does not begin with front matter"),
        ("---\nname: x\n---\n", "no description to decide by"),
        ("---\nname: x\ndescription: ''\n---\n", "SKILL.md:3: no description to decide by"),
        ("---\nname: [x]\ndescription: d\n---\n", "SKILL.md:2: the name is not text"),
        ("---\nname: x\ndescription: a: b\n---\n", "SKILL.md:3: not YAML"),
    ],
)
def test_a_skill_that_says_nothing_of_itself_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(skill_folder(tmp_path, text))


def test_a_folder_without_a_skill_is_refused(tmp_path: Path) -> None:
    assert "no skill there" in refusal(tmp_path)


def test_requests_beside_a_skill_are_those_that_speak_of_triggering(tmp_path: Path) -> None:
    entries = [
        {"query": "read this csv", "should_trigger": True},
        {"id": 2, "prompt": "bake bread", "should_trigger": False, "files": []},
        {"id": 3, "prompt": "sum the column", "expected_output": "42"},
    ]
    wanted = (Query("csv", "read this csv", True), Query("csv", "bake bread", False))
    assert read_skill(skill_folder(tmp_path, evals=entries), Path()).queries == wanted


def test_the_list_may_be_inside_a_document(tmp_path: Path) -> None:
    document = {"skill_name": "csv", "evals": [{"query": "q", "should_trigger": True}]}
    assert read_skill(skill_folder(tmp_path, evals=document), Path()).queries == (Query("csv", "q", True),)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("5", "not a list of requests"),
        ('[\n"q"]', "q.json:2: not a request"),
        ('[{"should_trigger": true}]', "a request without a query"),
        ('[{"query": "q", "should_trigger": "yes"}]', "neither true nor false"),
        ('[{"query": "q", "should_trigger": true, "skill": "z"}]', "no skill 'z'; one of a, b"),
        ('[{"query": "q", "should_trigger": true}]', "of several skills it names none"),
    ],
)
def test_a_list_of_requests_is_checked(tmp_path: Path, entries: str, message: str) -> None:
    (tmp_path / "q.json").write_text(entries)
    with pytest.raises(InputError) as caught:
        read_queries(tmp_path / "q.json", ["a", "b"])
    assert message in str(caught.value)


def test_a_request_may_name_its_skill(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('[{"query": "q", "should_trigger": true, "skill": "b"}]')
    assert read_queries(tmp_path / "q.json", ["a", "b"]) == [Query("b", "q", True)]


def test_requests_may_be_lines_of_text(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("# mine\nread this\n+ and that\n\n- not this\n")
    assert read_queries(tmp_path / "q.txt", ["a"]) == [
        Query("a", "read this", True),
        Query("a", "and that", True),
        Query("a", "not this", False),
    ]


@pytest.mark.parametrize(
    ("names", "queries", "message"),
    [
        (["a", "a"], [Query("a", "q", True)], "two skills are called 'a'"),
        (["none"], [Query("none", "q", True)], "a skill cannot be called 'none'"),
        (["a"], [], "there is no request to try"),
        (["a"], [Query("a", "q", True), Query("a", "q", False)], "'q' should and should not trigger a"),
    ],
)
def test_what_cannot_be_measured_is_refused(names: list[str], queries: list[Query], message: str) -> None:
    with pytest.raises(InputError, match=message):
        refuse_invalid([SkillFile(Skill(name, "d")) for name in names], queries)


def test_no_skill_is_always_shown_first() -> None:
    skills = [Skill(name, f"does {name}") for name in ("one", "two", "three")]
    firsts = {
        write_choice_prompt(skills, f"query {i}").partition("SKILL ")[2].split("\n")[0] for i in range(40)
    }
    assert firsts == {"one", "two", "three"}
    assert write_choice_prompt(skills, "q") == write_choice_prompt(skills, "q")


def test_a_skill_file_may_have_an_exam_beside_it(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path)
    (folder / "eval.yml").write_text("triggering: {judge: {model: m}, should_match: [q]}\n")
    found = read_skill(folder, Path())
    assert (found.queries, found.judge) == ((Query("csv", "q", True),), "m")


def test_a_prompt_that_says_nothing_of_itself_is_no_skill(new_prompt: Callable[..., Path]) -> None:
    assert "meta.yml: neither description nor summary" in refusal(new_prompt(meta="id: tidy\n"))
