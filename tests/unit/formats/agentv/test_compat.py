"""Where agentv's own transpiler differs from the proposal it came from, point by point."""

from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.agentv.compat import load_as_agentv, transpile_as_agentv
from evalq.formats.agentv.skill_evals import Transpilation, json_document


def transpiled(*tests: Any, **suite: Any) -> Transpilation:
    return transpile_as_agentv({"tests": list(tests), **suite}, "EVAL.yaml")


def entries(*tests: Any, **suite: Any) -> list[dict[str, Any]]:
    (document,) = transpiled(*tests, **suite).documents.values()
    found: list[dict[str, Any]] = document.content()["evals"]
    return found


def lines(assertion: Any) -> list[str]:
    (entry,) = entries({"assertions": [assertion]})
    found: list[str] = entry["assertions"]
    return found


def wants(skill: Any, should_trigger: Any = True) -> dict[str, Any]:
    return {"type": "trigger-judge", "skill": skill, "should_trigger": should_trigger}


def block(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value}


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ({"type": "rubrics", "criteria": "R"}, ["R"]),
        ({"type": "rubrics", "criteria": [{"outcome": "dropped"}]}, []),
        ({"type": "contains", "value": "it's"}, ["Output contains 'it's'"]),
        ({"type": "contains"}, ["Output contains 'undefined'"]),
        ({"type": "contains", "value": None}, ["Output contains 'null'"]),
        ({"type": "contains", "value": ["a", 1]}, ["Output contains 'a,1'"]),
        ({"type": "equals", "value": {"a": 1}}, ["Output exactly equals: [object Object]"]),
        ({"type": "equals", "value": 1.0}, ["Output exactly equals: 1"]),
        ({"type": "contains-any", "value": ["a", "b"]}, ["Output contains any of: 'a', 'b'"]),
        ({"type": "contains_all", "value": "a"}, ["Output contains all of: 'a'"]),
        ({"type": "icontains", "value": "a"}, ["Output contains (case-insensitive) 'a'"]),
        ({"type": "icontains-any", "value": ["a"]}, ["icontains-any assertion"]),
        ({"type": "regex", "value": "a", "flags": "i"}, ["Output matches regex: a"]),
        ({"type": "is_json"}, ["Output is valid JSON"]),
        ({"type": "starts_with", "value": "a"}, ["Output starts with 'a'"]),
        ({"type": "ends-with", "value": "a"}, ["Output ends with 'a'"]),
        ({"type": "llm-judge", "prompt": "p.md", "rubrics": [{"outcome": "no"}]}, ["p.md"]),
        ({"type": "llm-judge", "name": "n"}, []),
        ({"type": "llm-judge", "prompt": {"command": "c"}}, []),
        ({"type": "llm-grader", "prompt": "P", "rubrics": [{"outcome": "no"}]}, ["P"]),
        (
            {"type": "agent-judge", "rubrics": [{"outcome": "O", "id": "i"}, {"criteria": "C"}, {"id": "I"}]},
            ["O", "C", "I"],
        ),
        (
            {"type": "agent-judge", "rubrics": ["dropped", {"outcome": 5}, {"outcome": None, "id": "i"}]},
            ["i"],
        ),
        ({"type": "agent_judge", "rubrics": [], "prompt": "P"}, ["P"]),
        (
            {"type": "tool-trajectory", "expected": [{"tool": "A"}, {"tool": "B"}]},
            ["Agent called tools in order: A, B"],
        ),
        ({"type": "tool-trajectory", "expected": ["A", {}]}, ["Agent followed expected tool trajectory"]),
        ({"type": "tool_trajectory", "minimums": {"A": 1}}, ["Agent followed expected tool trajectory"]),
        ({"type": "code-judge", "name": "n", "command": ["c"]}, ["n"]),
        (
            {"type": "code-judge", "name": None, "command": ["bun", "c.ts"], "description": "D"},
            ["bun c.ts: D"],
        ),
        ({"type": "code_judge", "command": "c.sh", "description": 5}, ["c.sh"]),
        ({"type": "code-judge", "name": "", "description": "D"}, ["Code judge assertion"]),
        ({"type": "code-judge"}, ["Code judge assertion"]),
        (
            {"type": "field-accuracy", "fields": [{"path": "a"}, {"path": ""}]},
            ["Fields a match expected values"],
        ),
        ({"type": "field-accuracy", "fields": "a"}, ["Fields match expected values"]),
        ({"type": "latency", "threshold": 2000}, ["Response time under 2000ms"]),
        ({"type": "latency", "threshold": "2000"}, ["Response time within threshold"]),
        ({"type": "cost", "budget": 0.1}, ["Cost under $0.1"]),
        ({"type": "cost", "budget": 5.0}, ["Cost under $5"]),
        ({"type": "cost", "budget": 1e-7}, ["Cost under $1e-7"]),
        ({"type": "cost", "budget": True}, ["Cost within budget"]),
        ({"type": "token-usage"}, ["Token usage within limits"]),
        ({"type": "execution_metrics"}, ["Execution within metric bounds"]),
        ({"type": "composite", "assertions": [{"type": "is-json"}]}, ["composite assertion"]),
        ({"type": "odd", "criteria": "C", "prompt": "P"}, ["C"]),
        ({"type": "odd", "criteria": 5, "prompt": "P"}, ["P"]),
        ({"type": "odd", "name": "n"}, ["odd assertion"]),
        ({"type": "skill-trigger", "skill": "s"}, ["skill-trigger assertion"]),
        ({"type": "trigger_judge", "skill": "s"}, ["trigger_judge assertion"]),
        ({"type": 5}, ["5 assertion"]),
        ({"type": "contains", "value": "a", "negate": True}, ["Output contains 'a'"]),
        ({"name": "no type"}, []),
        ("a bare line", []),
    ],
)
def test_the_words_are_agentvs(assertion: Any, said: list[str]) -> None:
    assert lines(assertion) == said


def test_the_keys_come_in_agentvs_order() -> None:
    test = {"input": "p", "input_files": ["f"], "expected_output": "e", "assertions": [wants("s")]}
    (entry,) = entries(test)
    assert list(entry) == ["id", "prompt", "expected_output", "files", "assertions", "should_trigger"]


def test_the_last_text_wins_and_only_users_files_count() -> None:
    messages = [
        {"role": "system", "content": [block("file", "no")]},
        {"role": "user", "content": [block("text", "one"), block("text", "two"), block("image", "no")]},
        {"role": "user", "content": [block("file", "yes"), block("file", 5), "no"]},
        {"role": "assistant", "content": "no"},
        "no",
    ]
    (entry,) = entries({"input": messages, "input_files": ["first", 5]})
    assert (entry["prompt"], entry["files"]) == ("two", ["first", "yes"])


@pytest.mark.parametrize("asked", [{"role": "user", "content": "x"}, 5, None])
def test_what_is_asked_otherwise_is_an_empty_prompt(asked: Any) -> None:
    assert entries({"input": asked, "turns": [{"input": "x"}]})[0]["prompt"] == ""


def test_an_id_is_always_the_place_in_the_file() -> None:
    assert [entry["id"] for entry in entries({"id": 42}, {"id": "b"})] == [1, 2]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", ""),
        ([{"role": "user", "content": "a"}, {"role": "x", "content": "b"}, {"content": ["c"]}], "b"),
        ({"b": 1.0, "1": None}, '{"1":null,"b":1}'),
        (5, "5"),
        (False, "false"),
    ],
)
def test_what_is_expected_is_agentvs_text(written: Any, text: str) -> None:
    assert entries({"expected_output": written})[0]["expected_output"] == text


@pytest.mark.parametrize("written", [None, [], [{"content": [block("text", "x")]}], ["x"]])
def test_what_is_expected_may_be_dropped(written: Any) -> None:
    assert "expected_output" not in entries({"expected_output": written})[0]


def test_criteria_are_trimmed_as_javascript_trims() -> None:
    assert entries({"criteria": "\ufeff C \n"})[0]["assertions"] == ["C"]
    assert entries({"criteria": " "}, {"criteria": ["x"]})[0]["assertions"] == []


@pytest.mark.parametrize(("written", "wanted"), [(False, False), ("false", True), (0, True), (None, True)])
def test_only_false_itself_is_false(written: Any, wanted: bool) -> None:
    assert entries({"assertions": [wants("s", written)]})[0]["should_trigger"] is wanted


def test_two_triggers_of_one_skill_are_two_entries() -> None:
    found = entries({"assertions": [wants("s"), wants("s", False)]})
    assert [(entry["id"], entry["should_trigger"]) for entry in found] == [(1, True), (1, False)]


def test_tests_of_no_skill_go_last_with_the_largest() -> None:
    documents = transpiled(
        {}, {"assertions": [wants("a")]}, {"assertions": [wants("b")]}, {"assertions": [wants("b")]}
    ).documents
    assert {name: [case.id for case in found.evals] for name, found in documents.items()} == {
        "a.evals.json": [2],
        "b.evals.json": [3, 4, 1],
    }


def test_of_skills_alike_the_first_takes_them() -> None:
    documents = transpiled({"assertions": [wants("a")]}, {"assertions": [wants("b")]}, {}).documents
    assert [case.id for case in documents["a.evals.json"].evals] == [1, 3]


def test_without_a_skill_the_file_is_still_evals_json() -> None:
    (name, document), *_ = transpiled({}).documents.items()
    assert (name, document.skill_name) == ("evals.json", "_no-skill")


def test_a_trigger_without_a_skill_keeps_its_answer() -> None:
    found = entries({"assertions": [wants(5, False)]}, {"assertions": [wants("a")]})
    assert [(entry["id"], entry["should_trigger"]) for entry in found] == [(2, True), (1, False)]


def test_a_skill_with_an_empty_name_takes_no_strays() -> None:
    documents = transpiled({}, {"assertions": [wants("")]}).documents
    assert list(documents) == ["_no-skill.evals.json", ".evals.json"]


def test_of_files_of_one_name_the_last_stays_with_a_warning() -> None:
    result = transpiled({"assertions": [wants("a b"), wants("a.b")]})
    assert [(name, found.skill_name) for name, found in result.documents.items()] == [
        ("a_b.evals.json", "a.b")
    ]
    assert "skill 'a b' are lost" in str(result.warnings[0])


def test_a_suites_trigger_is_ignored_and_its_checks_reach_even_those_who_skip_them() -> None:
    test = {"execution": {"skip_defaults": True}, "rubrics": ["ignored"], "evaluators": [{"type": "is-json"}]}
    (entry,) = entries(test, assertions=[wants("s"), {"type": "contains", "value": "x"}], input="ignored")
    assert entry == {"id": 1, "prompt": "", "assertions": ["Output contains 'x'"]}


def test_assertions_go_before_assert_which_is_deprecated() -> None:
    both = {"assertions": [{"type": "is-json"}], "assert": [{"type": "cost"}]}
    result = transpiled(both, {"id": 7.0, "assert": [{"type": "cost"}]}, {"assert": 5}, assert_=1)
    evals = result.documents["evals.json"].content()["evals"]
    assert [entry["assertions"] for entry in evals] == [["Output is valid JSON"], ["Cost within budget"], []]
    assert [str(warning) for warning in result.warnings] == [
        "Test '7': 'assert' is deprecated. Use 'assertions' instead.",
        "Test '3': 'assert' is deprecated. Use 'assertions' instead.",
    ]


def test_a_suites_assert_is_deprecated_too() -> None:
    result = transpile_as_agentv({"assert": [], "tests": []}, "E")
    assert result.documents == {}
    assert str(result.warnings[0]) == "'assert' is deprecated at the suite level. Use 'assertions' instead."


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "Invalid EVAL.yaml: expected an object in 'EVAL.yaml'"),
        ("text", "Invalid EVAL.yaml: expected an object in 'EVAL.yaml'"),
        ([], "Invalid EVAL.yaml: missing 'tests' array in 'EVAL.yaml'"),
        ({"tests": "cases.yaml"}, "Invalid EVAL.yaml: missing 'tests' array in 'EVAL.yaml'"),
        ({"eval_cases": []}, "Invalid EVAL.yaml: missing 'tests' array in 'EVAL.yaml'"),
        ({"tests": [None]}, "Cannot read properties of null (reading 'assertions')"),
        ({"tests": [{"assert": [None]}]}, "Cannot read properties of null (reading 'type')"),
    ],
)
def test_what_agentv_refuses_is_refused_in_its_words(document: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        transpile_as_agentv(document, "EVAL.yaml")
    assert str(caught.value) == message


def test_a_test_that_is_a_text_is_an_empty_test() -> None:
    assert entries("file://cases.yaml") == [{"id": 1, "prompt": "", "assertions": []}]


def test_yaml_is_read_to_the_letter(tmp_path: Path) -> None:
    path = tmp_path / "EVAL.yaml"
    path.write_text(
        "base: &b {criteria: C}\ntests:\n- <<: *b\n  assertions: [{type: equals, value: 007}]\n", "utf-8"
    )
    result = transpile_as_agentv(load_as_agentv(path), path.name)
    assert json_document(result.documents["evals.json"].content()["evals"][0]["assertions"]) == (
        '[\n  "Output exactly equals: 7"\n]\n'
    )
