import json
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.agentv.eval_yaml import Block, EvalFile, Trials
from evalq.formats.agentv.read import read_eval_yaml


def read(tmp_path: Path, text: str, name: str = "EVAL.yaml") -> EvalFile:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return read_eval_yaml(path)


def problems_in(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    return [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems]


def one_test(tmp_path: Path, fields: dict[str, Any], **suite: Any) -> Any:
    return read(tmp_path, json.dumps({"tests": [fields], **suite})).tests[0]


def test_a_test_is_read_with_its_lines(tmp_path: Path) -> None:
    eval_file = read(
        tmp_path,
        "name: first\ntests:\n  - id: a\n    criteria: ' Be right '\n    input: Hi\n    assert:\n"
        "      - type: trigger_judge\n        skill: s\n      - Bare line\n",
    )
    (test,) = eval_file.tests
    assert (test.id, test.index, test.line, test.criteria) == ("a", 1, 3, ("Be right",))
    assert [(m.role, m.text, m.line) for m in test.messages] == [("user", "Hi", 5)]
    trigger, bare = test.assertions
    assert (trigger.type, trigger.written, trigger.line) == ("skill-trigger", "trigger_judge", 7)
    assert trigger.fields == {"type": "trigger_judge", "skill": "s"}
    assert (bare.type, bare.fields, bare.line) == ("rubrics", {"criteria": "Bare line"}, 9)


def test_messages_keep_roles_and_blocks(tmp_path: Path) -> None:
    content = [{"type": "file", "value": "a.csv"}, {"type": "text", "value": "Sum it"}, "up"]
    asked = [{"role": "system", "content": "Short"}, {"role": "user", "content": content}]
    system, user = one_test(tmp_path, {"input": asked}).messages
    assert (system.role, system.text) == ("system", "Short")
    assert user.blocks == (Block("file", "a.csv"), Block("text", "Sum it"), Block("text", "up"))
    assert (user.text, user.files) == ("Sum itup", ("a.csv",))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Hi", "Hi"),
        ({"role": "user", "content": "Hi"}, "Hi"),
        ([{"content": "Hi"}], "Hi"),
        ([{"type": "text", "value": "Hi"}], "Hi"),
        ({"accuracy": 0.5}, '{"accuracy":0.5}'),
        ([{"role": "user", "content": {"a": 1}}], '{"a":1}'),
        (5, "5"),
        ([], "[]"),
    ],
)
def test_what_is_asked_can_be_written_in_many_ways(tmp_path: Path, written: Any, text: str) -> None:
    (message,) = one_test(tmp_path, {"input": written}).messages
    assert (message.role, message.text) == ("user", text)


def test_a_message_without_content_is_a_message(tmp_path: Path) -> None:
    (message,) = one_test(tmp_path, {"input": [{"role": "assistant", "tool_calls": []}]}).messages
    assert (message.content, message.blocks) == (None, ())


def test_the_old_names_are_read(tmp_path: Path) -> None:
    old = {
        "id": "x",
        "expected_outcome": "Done",
        "input_messages": [{"role": "user", "content": "Do"}],
        "expected_messages": [{"role": "assistant", "content": "Did"}],
        "evaluators": [{"name": "c", "type": "code_judge", "script": "c.py"}],
        "rubrics": ["Neat"],
    }
    for key in ("evalcases", "eval_cases", "evalCases"):
        (test,) = read(tmp_path, json.dumps({key: [old]})).tests
        assert (test.criteria, test.messages[0].text) == (("Done",), "Do")
        assert test.expected_messages[0].text == "Did"
        assert [assertion.type for assertion in test.assertions] == ["rubrics", "code-grader"]


def test_checks_under_several_keys_are_all_read_and_copies_once(tmp_path: Path) -> None:
    same, other = {"type": "is-json"}, {"type": "is_json"}
    fields = {"assert": [same], "assertions": [same, same], "execution": {"evaluators": [other, same]}}
    assert [a.written for a in one_test(tmp_path, fields).assertions] == ["is-json", "is-json", "is_json"]


def test_common_fields_of_a_check_are_read(tmp_path: Path) -> None:
    written = {"type": "is-json", "metric": 3, "weight": 2, "required": 0.8, "min_score": 0.5, "negate": True}
    (found,) = one_test(tmp_path, {"assert": [written]}).assertions
    assert (found.name, found.weight, found.required) == ("3", 2, 0.8)
    assert (found.min_score, found.negate) == (0.5, True)
    (required,) = one_test(tmp_path, {"assert": [{"type": "is-json", "required": True}]}).assertions
    assert required.required is True


def test_the_suite_adds_messages_files_and_checks_to_every_test(tmp_path: Path) -> None:
    test = one_test(
        tmp_path,
        {"input": "Hi"},
        input=[{"role": "system", "content": "Be brief"}],
        input_files=["style.md"],
        assertions=["Polite"],
    )
    assert [message.text for message in test.suite_messages] == ["Be brief"]
    assert test.input_files == ("style.md",)
    assert [assertion.fields for assertion in test.suite_assertions] == [{"criteria": "Polite"}]


def test_a_tests_own_files_replace_the_suites(tmp_path: Path) -> None:
    assert one_test(tmp_path, {"input_files": ["b"]}, input_files=["a"]).input_files == ("b",)


def test_a_test_may_skip_what_the_suite_adds(tmp_path: Path) -> None:
    suite = {"input": "S", "input_files": ["a"], "assertions": ["Polite"]}
    test = one_test(tmp_path, {"input": "Hi", "execution": {"skip_defaults": True}}, **suite)
    assert (test.suite_messages, test.input_files, test.suite_assertions) == ((), (), ())


def test_variables_are_filled_in_everywhere(tmp_path: Path) -> None:
    fields = {
        "vars": {"city": "Paris", "sum": {"due": 5.0}},
        "criteria": "Names {{city}}",
        "input": "Pay {{ sum.due }} to {{nobody}} for ${{ city }}",
        "expected_output": "{{sum}}",
        "assertions": [{"type": "contains-any", "value": ["{{city}}"]}],
    }
    test = one_test(tmp_path, fields, input="In {{city}}", assertions=["About {{city}}"])
    assert test.criteria == ("Names Paris",)
    assert test.messages[0].text == "Pay 5 to {{nobody}} for ${{ city }}"
    assert test.expected_output == '{"due":5.0}'
    assert test.assertions[0].fields["value"] == ["Paris"]
    assert test.suite_messages[0].text == "In Paris"
    assert test.suite_assertions[0].fields["criteria"] == "About Paris"


def test_variables_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    fields = {"vars": {"long": "x" * 1_000_000}, "input": "{{long}}" * 100}
    (problem,) = problems_in(tmp_path, json.dumps({"tests": [fields]}))
    assert problem.startswith("EVAL.yaml:1: the variables filled in are too long; shorten")


@pytest.mark.parametrize(
    ("suite", "variables", "text"),
    [
        ({"prompts": ["{{ input }}"]}, {"input": [{"role": "user", "content": "Hi"}]}, "Hi"),
        ({"prompts": ["Say {{word}}"]}, {"word": "hi"}, "Say hi"),
        ({"prompts": [{"id": "p"}]}, {"input": "Hi"}, "Hi"),
        ({}, {"input": "Hi"}, "Hi"),
    ],
)
def test_without_an_input_the_prompts_and_variables_ask(
    tmp_path: Path, suite: dict[str, Any], variables: dict[str, Any], text: str
) -> None:
    (message,) = one_test(tmp_path, {"vars": variables}, **suite).messages
    assert message.text == text


def test_a_test_that_asks_nothing_is_still_read(tmp_path: Path) -> None:
    assert one_test(tmp_path, {"id": 1}).messages == ()
    assert one_test(tmp_path, {"id": [1]}).id == "[1]"


def test_turns_are_read(tmp_path: Path) -> None:
    turns = [
        {"input": "Hi", "expected_output": "Hello"},
        {"input": [{"type": "text", "value": "Bye"}], "assertions": ["Kind", {"type": "is-json"}]},
    ]
    fields = {"mode": "conversation", "turns": turns, "aggregation": "min", "window_size": 2}
    test = one_test(tmp_path, {**fields, "on_turn_failure": "stop"})
    first, second = test.turns
    assert (first.messages[0].text, first.expected_messages[0].text) == ("Hi", "Hello")
    assert [assertion.type for assertion in second.assertions] == ["rubrics", "is-json"]
    assert (test.mode, test.aggregation, test.on_turn_failure, test.window_size) == (
        "conversation",
        "min",
        "stop",
        2,
    )


def test_how_tests_are_run_is_read(tmp_path: Path) -> None:
    execution = {
        "target": "default",
        "targets": ["a", {"name": "b"}],
        "workers": 4,
        "cache": False,
        "trials": {"count": 3, "strategy": "pass_at_k", "cost_limit_usd": 1.5},
        "budgetUsd": 2,
        "fail_on_error": True,
        "threshold": 0.8,
    }
    found = read(tmp_path, json.dumps({"tests": [{}], "execution": execution})).execution
    assert (found.target, found.targets, found.workers) == ("default", ("a", {"name": "b"}), 4)
    assert found.trials == Trials(3, "pass_at_k", 1.5)
    assert (found.cache, found.budget_usd, found.fail_on_error, found.threshold) == (False, 2, True, 0.8)
    assert found.fields == execution


def test_some_of_it_may_stand_beside_the_block(tmp_path: Path) -> None:
    suite = {"tests": [{}], "target": "t", "targets": ["a"], "threshold": 1, "repeat": 2}
    found = read(tmp_path, json.dumps(suite)).execution
    assert (found.target, found.targets, found.threshold, found.trials) == ("t", ("a",), 1, Trials(2))
    assert read(tmp_path, json.dumps({"tests": [{}], "target": {"a": 1}})).execution.target is None


def test_what_describes_the_suite_and_a_test_is_read(tmp_path: Path) -> None:
    suite = {
        **{name: name for name in ("name", "description", "category", "author", "license")},
        "version": 1.0,
        "tags": ["a", 2],
        "requires": {"agentv": ">=4"},
        "metadata": {"team": "x", "runs_per_query": 4},
        "preprocessors": [{"type": "pdf", "command": "p"}],
        "workspace": {"template": "w"},
        "execution": {"trigger_threshold": 0.25},
    }
    test = {"conversation_id": 5, "suite": "s", "depends_on": ["a"], "on_dependency_failure": "skip"}
    found = read(tmp_path, json.dumps({**suite, "tests": [{**test, "workspace": "w.yaml"}]}))
    assert (found.name, found.version, found.tags, found.license) == ("name", "1", ("a", "2"), "license")
    assert (found.runs_per_query, found.trigger_threshold) == (4, 0.25)
    assert (found.requires, found.metadata["team"], found.workspace) == (
        {"agentv": ">=4"},
        "x",
        {"template": "w"},
    )
    (read_test,) = found.tests
    assert (read_test.conversation_id, read_test.depends_on) == ("5", ("a",))
    assert (read_test.on_dependency_failure, read_test.workspace) == ("skip", "w.yaml")


@pytest.mark.parametrize(("tags", "read_as"), [("one", ("one",)), ({"team": "x"}, ("team: x",))])
def test_tags_can_be_written_in_other_ways(tmp_path: Path, tags: Any, read_as: tuple[str, ...]) -> None:
    assert read(tmp_path, json.dumps({"tests": [{}], "tags": tags})).tags == read_as


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "EVAL.yaml:1: not an EVAL.yaml; "),
        ("word", "EVAL.yaml:1: not an EVAL.yaml; "),
        ("name: x\n", "EVAL.yaml:1: no tests; "),
        ("tests: 5\n", "EVAL.yaml:1: tests is not a list; "),
        ("tests:\n  - 5\n", "EVAL.yaml:2: a test that is not a mapping; "),
        ("tests:\n  - input: x\n    criteria: 5\n", "EVAL.yaml:3: criteria is not text; "),
        ("tests:\n  - assert: {type: x}\n", "EVAL.yaml:2: assert is not a list; "),
        ("tests:\n  - assert:\n    - 5\n", "EVAL.yaml:3: entry 1 of assert is not a mapping; "),
        (
            "tests:\n  - input:\n    - {role: user}\n    - 5\n",
            "EVAL.yaml:4: entry 2 of input is not a mapping; ",
        ),
        (
            "tests:\n  - input:\n    - role: user\n      content: [{type: text, value: a}, {type: x}]\n",
            "EVAL.yaml:4: a block without a type or a value; ",
        ),
        ("tests:\n  - input_files: a\n", "EVAL.yaml:2: input_files is not a list; "),
        ("tests: [{}]\nexecution: fast\n", "EVAL.yaml:2: execution is not a mapping; "),
        ("tests: [{}]\nruns_per_query: 0\n", "EVAL.yaml:2: runs_per_query is not a whole number from 1 on; "),
        ("tests: [{}]\ntrigger_threshold: 2\n", "EVAL.yaml:2: trigger_threshold is not from 0 to 1; "),
        ("tests: [{}]\nexecution:\n  trials: {}\n", "EVAL.yaml:3: trials without a count; "),
        ("tests:\n  - id: a\n    id: b\n", "EVAL.yaml:3: key 'id' is written twice, first on line 2; "),
    ],
)
def test_bad_input_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = problems_in(tmp_path, text)
    assert found.startswith(problem)


def test_the_problems_of_all_tests_are_told_at_once(tmp_path: Path) -> None:
    found = problems_in(tmp_path, "tests:\n  - criteria: 5\n  - input: fine\n  - assert: no\n")
    assert [line.split(": ")[0] for line in found] == ["EVAL.yaml:2", "EVAL.yaml:4"]


def test_an_example_with_anchors_and_merge_keys_is_read(tmp_path: Path) -> None:
    text = "base: &base\n  criteria: Same\ntests:\n  - <<: *base\n    input: a\n  - <<: *base\n    input: b\n"
    assert [test.criteria for test in read(tmp_path, text).tests] == [("Same",), ("Same",)]


def test_criteria_may_be_a_list(tmp_path: Path) -> None:
    assert one_test(tmp_path, {"criteria": ["One", " ", "Two "]}).criteria == ("One", "Two")
    assert one_test(tmp_path, {"criteria": "", "expected_outcome": "Old"}).criteria == ("Old",)
