"""Tasks and cases given as values are checked as files are."""

from pathlib import Path
from typing import Any

import pytest

from evalq.api.inline_definitions import is_inline, load_inline
from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

FLAT = {"ticket": "The invoice is wrong 😀.", "expected": "billing", "stratum": "EN"}
PROMPT = "Which team? {ticket}"


def load(task: Any, cases: Any, root: Path = Path()) -> Any:
    return load_inline(task, cases, root)


@pytest.mark.parametrize(
    ("task", "eval_set", "inline"),
    [
        ("triage", "dev", False),
        ("", "cases.csv", False),
        (Path("tasks/triage.yaml"), Path("dev.yaml"), False),
        (PROMPT, "dev", True),
        ("triage", [FLAT], True),
        ({"user_template": "{ticket}"}, "dev", True),
    ],
)
def test_a_name_or_a_path_is_not_inline(task: Any, eval_set: Any, inline: bool) -> None:
    assert is_inline(task, eval_set) is inline


def test_a_prompt_and_flat_cases_make_a_task() -> None:
    found = load(PROMPT, [FLAT, {**FLAT, "id": "mine"}])
    first, second = found.evalset.cases
    assert (first.id, second.id, first.inputs) == ("case-001", "mine", {"ticket": "The invoice is wrong 😀."})
    assert (first.expected, first.stratum_name) == ({"answer": "billing"}, "EN")
    assert found.task.scoring.pass_rule == "exact_match"


@pytest.mark.parametrize(
    ("expected", "stored", "rule"),
    [
        (["a", "b"], {"any_of": ["a", "b"]}, "any_substring"),
        ({"any_of": ["a"]}, {"any_of": ["a"]}, "any_substring"),
        (4, {"answer": "4"}, "exact_match"),
        (True, {"answer": "true"}, "exact_match"),
    ],
)
def test_what_is_expected_chooses_the_rule(expected: Any, stored: Any, rule: str) -> None:
    found = load(PROMPT, [{"ticket": "t", "expected": expected}])
    assert (found.evalset.cases[0].expected, found.task.scoring.pass_rule) == (stored, rule)


def test_cases_with_graders_of_their_own_need_no_rule() -> None:
    found = load(PROMPT, [{"ticket": "t", "graders": [{"type": "contains", "value": "a"}]}])
    assert found.task.scoring is None


def test_definitions_are_taken_as_they_are() -> None:
    task = TaskConfig(name="mine", system_prompt="", user_template="{ticket}")
    case = EvalCase(id="c", inputs={"ticket": "t"}, expected={"answer": "a"})
    found = load(task, [case])
    assert (found.task, found.evalset.cases) == (task, [case])


def test_a_task_of_a_file_may_have_cases_of_a_list() -> None:
    case = {"subject": "s", "body": "b", "sender": "x", "expected": "spam"}
    assert load("mail_classify", [case]).task.name == "mail_classify"


def test_a_task_of_a_mapping_may_have_the_cases_of_a_file() -> None:
    task = {"name": "mail_classify", "user_template": "{subject}", "scoring": {"mode": "strict_substring"}}
    assert len(load(task, "dev-30").evalset.cases) == 30


def test_a_holdout_is_only_for_tasks_in_files(tmp_path: Path) -> None:
    path = tmp_path / "holdout-9.json"
    path.write_text('{"cases": [{"id": "a", "inputs": {"ticket": "t"}, "expected": {"answer": "a"}}]}')
    with pytest.raises(InputError, match="is a holdout"):
        load(PROMPT, str(path))


@pytest.mark.parametrize(
    ("task", "cases", "words"),
    [
        ("", [FLAT], "no task is given"),
        (PROMPT, [], "cases is empty"),
        (PROMPT, ["text"], "case-001 of eval_set is not a dictionary"),
        (PROMPT, [{"ticket": object(), "expected": "a"}], "cannot be written as JSON"),
        (PROMPT, [{"ticket": "\x00", "expected": "a"}], "eval_set"),
        (PROMPT, [{"ticket": "\ud800", "expected": "a"}], "eval_set"),
        (PROMPT, [{**FLAT, "id": "a"}, {**FLAT, "id": "a"}], "used twice"),
        (PROMPT, [{"inputs": {"ticket": "t"}, "expcted": "a"}], "did you mean 'expected'"),
        ("{ticket", [FLAT], "user_template"),
        ("{ticket.__class__}", [FLAT], "user_template"),
        ({"user_template": "{ticket}", "scoring": {"mode": "exact"}}, [FLAT], "scoring.mode"),
        ({"user_templat": "{ticket}"}, [FLAT], "missing key 'user_template'"),
        ("no_such_task", [FLAT], "no task 'no_such_task'"),
    ],
)
def test_what_is_wrong_is_named(task: Any, cases: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(task, cases)
    assert words in str(caught.value)
