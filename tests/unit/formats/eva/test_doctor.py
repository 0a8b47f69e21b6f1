"""The doctor says everything that is wrong with a prompt, where it is, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.eva.doctor import examine, find_problems

NewPrompt = Callable[..., Path]


def findings(folder: Path) -> list[str]:
    return [str(finding).removeprefix(f"{folder}/") for finding in examine([folder], Path())[1]]


def with_meta(new_prompt: NewPrompt, old: str, new: str) -> list[str]:
    folder = new_prompt()
    path = folder / "meta.yml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return findings(folder)


def test_a_good_prompt_has_no_findings(new_prompt: NewPrompt) -> None:
    assert findings(new_prompt()) == []


@pytest.mark.parametrize("key", ["id", "title", "summary", "status", "version", "created", "updated"])
def test_what_eva_demands_must_be_there(new_prompt: NewPrompt, key: str) -> None:
    folder = new_prompt()
    path = folder / "meta.yml"
    kept = [line for line in path.read_text().splitlines() if not line.startswith(f"{key}:")]
    path.write_text("\n".join(kept))
    assert f"meta.yml:1: problem: missing key {key!r}; add {key}: …" in findings(folder)
    path.write_text("\n".join([*kept, f"{key}: ''"]))
    assert any(f": problem: {key}" in one for one in findings(folder))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("id: tidy", "id: tidier", "meta.yml:1: problem: id is 'tidier', the folder 'tidy'; write id: tidy"),
        (
            "status: draft",
            "status: done",
            "meta.yml:4: problem: status cannot be 'done'; write 'draft', 'tested'",
        ),
        (
            "{name: limits}",
            "{name: bounds}",
            "prompt.xml:3: problem: {{limits}} is not declared; add '- name:",
        ),
        (
            "{name: limits}",
            "{name: limits}\n  - {name: more, required: true}",
            "meta.yml:11: problem: required input 'more' is not in prompt.xml; put {{more}} into",
        ),
        ("inputs:", "inputz:", "meta.yml:8: warning: unknown key 'inputz'; did you mean 'inputs'?"),
        ("Use when asked to tidy.", "", "warning: the description does not say when to use it"),
        ("Use when asked", "Use when asked <b>", "meta.yml:11: problem: the description holds < or >"),
        ("Use when asked", f"Use when asked {'x' * 1024}", "characters, 1024 at most are read; shorten it"),
        ("[tidy this]", "tidy this", "meta.yml:12: problem: triggers should be a list"),
        ("[tidy this]", "['']", "meta.yml:12: problem: triggers[0]: it is empty"),
        ("[explaining code]", "[5]", "meta.yml:13: problem: not_for[0] should be text"),
        ("{name: limits}", "limits", "meta.yml:10: problem: inputs[1] should be a mapping"),
        (
            "not_for:",
            "promotion: {min_uses: x}\nnot_for:",
            "meta.yml:13: problem: promotion.min_uses should be",
        ),
    ],
)
def test_what_is_wrong_with_meta_is_found(new_prompt: NewPrompt, old: str, new: str, found: str) -> None:
    all_found = with_meta(new_prompt, old, new)
    assert any(found in one for one in all_found), all_found


@pytest.mark.parametrize("name", ["claude-tidy", "my-Anthropic-tool"])
def test_a_skill_is_not_named_after_its_maker(new_prompt: NewPrompt, name: str) -> None:
    found = findings(new_prompt(name))
    assert [one.partition(";")[0].partition(" 'a")[0].partition(" 'c")[0] for one in found] == [
        "meta.yml:1: problem: the id holds"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["problem: the prompt is empty"]),
        ("w " * 3499, []),
        ("w " * 3500, ["warning: 3500 words are many"]),
        ("w " * 4999, ["warning: 4999 words are many"]),
        ("w " * 5000, ["problem: 5000 words are too many"]),
        ("w\n\n" * 199, []),
        ("w\n\n" * 200, ["warning: 200 lines that are not blank are many"]),
    ],
)
def test_a_prompt_says_something_and_not_too_much(new_prompt: NewPrompt, text: str, found: list[str]) -> None:
    meta = "id: tidy\ntitle: t\nsummary: s\nstatus: draft\nversion: 1\ncreated: 1\nupdated: 1\n"
    folder = new_prompt(meta=meta, prompt=text, eval="triggering: {should_match: [q]}")
    assert [one.partition("prompt.xml:1: ")[2].partition(";")[0] for one in findings(folder)] == found


@pytest.mark.parametrize("name", ["meta.yml", "prompt.xml"])
def test_a_missing_file_is_a_problem(new_prompt: NewPrompt, name: str) -> None:
    folder = new_prompt()
    (folder / name).unlink()
    assert any(one.startswith(f"{name}:1: problem: no file '{name}'") for one in findings(folder))


def test_a_prompt_needs_no_exam(new_prompt: NewPrompt) -> None:
    folder = new_prompt()
    (folder / "eval.yml").unlink()
    assert findings(folder) == []


def test_the_exam_is_examined_too(new_prompt: NewPrompt) -> None:
    text = (
        "cases:\n- {name: a, inputs_from: examples/none, rubric: Score it.}\n"
        "- {name: b, inputs: {}, rubric: Score it.}\n"
        "- {name: c, inputs: {source: x, sauce: y}, rubric: Score it.}\n"
    )
    found = findings(new_prompt(eval=text))
    assert [one.partition(";")[0] for one in found] == [
        "eval.yml:2: problem: no file 'examples/none/inputs.yml'",
        "eval.yml:3: problem: case 'b' gives no value for {{source}} (line 2) of prompt.xml",
        "eval.yml:4: warning: case 'c' gives a value for 'sauce', which prompt.xml does not use",
    ]


def test_an_exam_that_is_none_is_a_problem(new_prompt: NewPrompt) -> None:
    assert findings(new_prompt(eval="cases: 5"))[0].startswith("eval.yml:1: problem: cases should be a list")


def test_examples_must_be_mappings(new_prompt: NewPrompt) -> None:
    folder = new_prompt()
    (folder / "examples/odd").mkdir()
    (folder / "examples/odd/inputs.yml").write_text("- a\n")
    assert findings(folder) == [
        "examples/odd/inputs.yml:1: problem: not a mapping of variables; write NAME: value lines"
    ]


def test_aliases_are_words_and_unique_among_all_prompts(new_prompt: NewPrompt) -> None:
    folder, other = new_prompt(), new_prompt("other")
    (folder / "aliases").write_text("# short\ntd\n2fast\n_ok-1\n")
    (other / "aliases").write_text("td\n")
    assert findings(folder) == [
        "aliases:2: problem: alias 'td' is also in prompts/other/aliases:1; keep one of them",
        "aliases:3: problem: '2fast' is not an alias; "
        "use letters, digits, _ and -, beginning with a letter or _",
    ]


def test_all_prompts_of_a_folder_are_examined(new_prompt: NewPrompt) -> None:
    new_prompt(prompt="")
    new_prompt("other", prompt="")
    n_prompts, found = examine([Path("prompts")], Path())
    assert n_prompts == 2
    assert [finding.file for finding in found if finding.message == "the prompt is empty"] == [
        "prompts/other/prompt.xml",
        "prompts/tidy/prompt.xml",
    ]


def test_only_problems_count_elsewhere(new_prompt: NewPrompt) -> None:
    folder = new_prompt(meta="id: wrong\nextra: 1\n")
    assert "unknown key" not in " ".join(problem.message for problem in find_problems(folder, Path()))
    assert "id is 'wrong', the folder 'tidy'" in [
        problem.message for problem in find_problems(folder, Path())
    ]


def test_a_path_that_is_no_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such prompt folder"):
        examine([tmp_path / "none"], tmp_path)


def test_a_meta_that_is_no_mapping_is_a_problem(new_prompt: NewPrompt) -> None:
    assert findings(new_prompt(meta="- a\n"))[0].startswith(
        "meta.yml:1: problem: the file should be a mapping"
    )


def test_aliases_that_cannot_be_read_are_a_problem(new_prompt: NewPrompt) -> None:
    folder = new_prompt()
    (folder / "aliases").symlink_to("/etc/passwd")
    assert findings(folder) == [
        "aliases:1: problem: 'aliases' leads out of its folder; write a path inside the folder, from its top"
    ]
