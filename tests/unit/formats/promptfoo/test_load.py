"""A promptfoo configuration: prompts, variables, files, and when a test passes."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError
from evalq.formats.document import text_of
from evalq.formats.promptfoo.load import load

CHECK = {"type": "contains", "value": "a"}


def imported(folder: Path, *tests: Any, **more: Any) -> LoadedTask:
    path = folder / "promptfooconfig.yaml"
    path.write_text(
        text_of({"prompts": ["Say {{x}}"], **more, **({"tests": list(tests)} if tests else {})}), "utf-8"
    )
    return load(path, folder)


def prompts(found: LoadedTask) -> list[str]:
    return [case.inputs["prompt"] for case in found.evalset.cases]


def test_variables_are_filled_in(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"vars": {"x": "hi {{y}}", "n": 3}, "assert": [CHECK], "description": "greets"}
    )
    (case,) = found.evalset.cases
    assert (case.id, case.inputs) == ("1 greets", {"x": "hi {{y}}", "n": 3, "prompt": "Say hi {{y}}"})


def test_every_prompt_meets_every_test(tmp_path: Path) -> None:
    more = {"prompts": ["Say {{x}}", {"label": "loud", "raw": "SHOUT {{ x }}"}]}
    found = imported(
        tmp_path, {"vars": {"x": "a"}, "assert": [CHECK]}, {"vars": {"x": "b"}, "assert": [CHECK]}, **more
    )
    assert prompts(found) == ["Say a", "SHOUT a", "Say b", "SHOUT b"]
    assert found.evalset.cases[1].stratum == {"prompt": "loud"}
    assert found.evalset.cases[1].id == "test-1 · loud"


def test_lists_of_variables_are_combined(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"vars": {"x": ["a", "b"], "y": ["c", "d"]}, "assert": [CHECK]}, prompts="{{x}}{{y}}"
    )
    assert prompts(found) == ["ac", "ad", "bc", "bd"]


def test_defaults_stand_under_every_test(tmp_path: Path) -> None:
    defaults = {"vars": {"x": "default", "y": 1}, "assert": [{"type": "is-json"}]}
    found = imported(tmp_path, {"vars": {"x": "own"}, "assert": [CHECK]}, {}, defaultTest=defaults)
    assert prompts(found) == ["Say own", "Say default"]
    assert [[g.type for g in case.graders] for case in found.evalset.cases] == [
        ["contains", "is_json"],
        ["is_json"],
    ]


def test_a_test_without_a_threshold_needs_every_check(tmp_path: Path) -> None:
    checks = [CHECK, {**CHECK, "weight": 0}]
    (case,) = imported(tmp_path, {"vars": {"x": 1}, "assert": checks}).evalset.cases
    assert ([grader.required for grader in case.graders], case.pass_threshold) == ([True, False], None)


def test_a_test_with_a_threshold_weighs_them(tmp_path: Path) -> None:
    checks = [CHECK, {**CHECK, "weight": 3}]
    (case,) = imported(tmp_path, {"vars": {"x": 1}, "assert": checks, "threshold": 0.5}).evalset.cases
    assert ([grader.required for grader in case.graders], case.pass_threshold) == ([False, False], 0.5)


def test_a_chat_is_sent_as_messages(tmp_path: Path) -> None:
    chat = '[{"role": "system", "content": "Be {{x}}"}, {"role": "user", "content": "Hi"}]'
    (case,) = imported(tmp_path, {"vars": {"x": "kind"}, "assert": [CHECK]}, prompts=[chat]).evalset.cases
    assert [(one.role, one.content) for one in case.messages] == [("system", "Be kind"), ("user", "Hi")]


@pytest.mark.parametrize(
    "chat",
    [
        '[{"role": "tool", "content": "x"}]',
        '[{"role": "user", "content": 5}]',
        '[{"role": "user", "content": "{% x %}"}]',
    ],
)
def test_a_chat_that_cannot_be_sent_is_listed(tmp_path: Path, chat: str) -> None:
    found = imported(tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=[chat, "Say {{x}}"])
    assert prompts(found) == ["Say 1"]
    assert any("a prompt is left out" in warning for warning in found.warnings)


@pytest.mark.parametrize("text", ["[]", "[not json", "[1, 2]"])
def test_a_bracket_alone_makes_no_chat(tmp_path: Path, text: str) -> None:
    assert prompts(imported(tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=[text])) == [text]


def test_blocks_of_text_are_joined(tmp_path: Path) -> None:
    chat = '[{"role": "user", "content": [{"type": "text", "text": "Hi "}, {"type": "text", "text": "you"}]}]'
    assert prompts(imported(tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=[chat])) == ["Hi you"]


def test_a_chat_that_does_not_end_with_the_user_is_refused(tmp_path: Path) -> None:
    chat = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{{x}}"}]'
    with pytest.raises(InputError, match="does not end with the user's word"):
        imported(tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=[chat])


def test_prompts_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("One {{x}}\n---\nTwo {{x}}", "utf-8")
    (tmp_path / "chat.yaml").write_text("- {role: user, content: 'Three {{x}}'}\n", "utf-8")
    found = imported(
        tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=["file://two.txt", "file://chat.yaml"]
    )
    assert prompts(found) == ["One 1", "Two 1", "Three 1"]


@pytest.mark.parametrize(
    "prompt",
    ["{% if x %}a{% endif %}", "{{ x | upper }}", "file://make.py", "exec:make", "file://gone.txt", 5],
)
def test_a_prompt_that_is_a_program_is_listed(tmp_path: Path, prompt: Any) -> None:
    found = imported(tmp_path, {"vars": {"x": 1}, "assert": [CHECK]}, prompts=[prompt, "Say {{x}} {{y}}"])
    assert prompts(found) == ["Say 1 "]
    assert any("left out" in warning for warning in found.warnings)
    assert any("names {{y}}, which the test does not give" in warning for warning in found.warnings)


def test_without_prompts_the_question_is_a_variable(tmp_path: Path) -> None:
    found = imported(tmp_path, {"vars": {"question": "Why?", "y": 1}, "assert": [CHECK]}, prompts=[])
    assert prompts(found) == ["Why?"]
    with pytest.raises(InputError, match="no prompt to put its variables in"):
        imported(tmp_path, {"vars": {"y": 1, "z": 2}, "assert": [CHECK]}, prompts=[])


def test_tests_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "x,__expected,__expected2,__description,__threshold\n"
        'a,contains: b,"llm-rubric(0.5): Is it kind?",first,0.5\nc,plain text,is-json,,\n',
        "utf-8",
    )
    (tmp_path / "t.jsonl").write_text('{"vars": {"x": "d"}, "assert": [{"type": "is-json"}]}\n', "utf-8")
    found = imported(tmp_path, "file://t.csv", "file://t.jsonl")
    assert prompts(found) == ["Say a", "Say c", "Say d"]
    assert [[g.type for g in case.graders] for case in found.evalset.cases] == [
        ["contains", "rubric"],
        ["equals", "is_json"],
        ["is_json"],
    ]


def test_a_single_file_may_hold_all_tests_and_another_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("- vars: {x: a}\n- vars: {x: b}\n", "utf-8")
    (tmp_path / "d.json").write_text('{"assert": [{"type": "is-json"}]}', "utf-8")
    found = imported(tmp_path, tests="file://t.yaml", defaultTest="file://d.json")
    assert prompts(found) == ["Say a", "Say b"]


def test_a_threshold_that_is_no_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,__expected,__threshold\na,is-json,much\n", "utf-8")
    with pytest.raises(InputError, match=r"t\.csv:2: threshold is not a number"):
        imported(tmp_path, "file://t.csv")


def test_a_file_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tests"):
        imported(tmp_path)


@pytest.mark.parametrize("reference", ["file://../key.csv", "file:///etc/hosts.csv", "file://make.py"])
def test_tests_outside_or_in_programs_are_refused(tmp_path: Path, reference: str) -> None:
    (tmp_path / "key.csv").write_text("x\n1\n", "utf-8")
    (tmp_path / "inside").mkdir()
    with pytest.raises(InputError, match=r"promptfooconfig\.yaml:1: "):
        imported(tmp_path / "inside", reference)


def test_variables_and_values_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("from a file", "utf-8")
    check = {"type": "contains", "value": "file://v.txt"}
    found = imported(tmp_path, {"vars": {"x": "file://v.txt"}, "assert": [check]})
    assert prompts(found) == ["Say from a file"]
    assert found.evalset.cases[0].graders[0].value == "from a file"  # type: ignore[union-attr]


def test_a_variable_from_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k", "utf-8")
    (tmp_path / "inside").mkdir()
    with pytest.raises(InputError, match="leads out of its folder"):
        imported(tmp_path / "inside", {"vars": {"x": "file://../key"}, "assert": [CHECK]})


def test_what_the_bake_off_decides_is_listed(tmp_path: Path) -> None:
    test = {"vars": {"x": 1}, "assert": [CHECK], "options": {"transform": "x"}}
    found = imported(tmp_path, test, providers=["openai:gpt"], outputPath="o", evaluateOptions={"repeat": 4})
    assert found.samples == 4
    said = " ".join(found.warnings)
    for part in ("providers are not taken over", "outputPath is not taken over", "options of a test"):
        assert part in said


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ({"vars": {"x": 1}}, "nothing marks the answers"),
        ({"vars": {"x": 1}, "assert": [{"value": "a"}]}, "a check without a type"),
        ({"vars": {"x": 1}, "assert": [{"$ref": "other.yaml#/a"}]}, "leads out of the file"),
        (
            {"vars": {"x": 1}, "assert": [{"$ref": "#/assertionTemplates/gone"}]},
            "there is no template 'gone'",
        ),
        ({"vars": {"x": list(range(200)), "y": list(range(200))}, "assert": [CHECK]}, "make 40,000 tests"),
        ({"vars": "file://v.yaml", "assert": [CHECK]}, "variables in a file of their own"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(tmp_path: Path, test: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        imported(tmp_path, test)


def test_templates_of_checks_are_filled_in(tmp_path: Path) -> None:
    check = {"$ref": "#/assertionTemplates/has", "weight": 2}
    templates = {"has": {"type": "contains", "value": "{{x}}"}}
    (case,) = imported(
        tmp_path, {"vars": {"x": "hi"}, "assert": [check]}, assertionTemplates=templates
    ).evalset.cases
    assert (case.graders[0].value, case.graders[0].weight) == ("hi", 2.0)  # type: ignore[union-attr]


GOOD = {"vars": {"x": "fine"}, "assert": [CHECK]}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"vars": {"x": "a"}, "assert": []}, "a test is left out: nothing marks the answers to a test"),
        ({"vars": {"x": "a"}, "asert": [CHECK]}, "a test is left out: unknown key 'asert'; write assert"),
        ({"vars": {"x": "a"}, "assert": [CHECK], "threshold": "much"}, "a test is left out: threshold"),
        ({"vars": {"x": "file://../key"}, "assert": [CHECK]}, "a test is left out: '../key' leads out"),
        ("file://none.yaml", "a test is left out: no file 'none.yaml'"),
        (5, "a test is left out: "),
        (
            {"vars": {"x": list(range(200)), "y": list(range(200))}},
            "a test is left out: its lists of variables",
        ),
    ],
)
def test_one_bad_test_does_not_refuse_the_rest(tmp_path: Path, bad: Any, said: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "key").write_text("secret", "utf-8")
    found = imported(tmp_path / "in", GOOD, bad, GOOD)
    assert prompts(found) == ["Say fine", "Say fine"]
    (warning,) = [one for one in found.warnings if "left out" in one]
    assert said in warning
    assert "promptfooconfig.yaml:" in warning


def test_a_file_with_bad_tests_alone_is_refused_with_all_of_them(tmp_path: Path) -> None:
    bad = {"vars": {"x": "a"}, "assert": []}
    with pytest.raises(InputError) as caught:
        imported(tmp_path, bad, {**bad, "threshold": "x"})
    assert caught.value.problems
