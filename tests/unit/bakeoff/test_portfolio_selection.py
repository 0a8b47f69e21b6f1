"""Which tasks are meant, on which evalset each, with which judges."""

import json
from pathlib import Path

import pytest

from evalq.bakeoff.portfolio import all_tasks, first_set, select
from evalq.bakeoff.request import Request
from evalq.errors import InputError
from evalq.formats import prepare_all
from evalq.settings import load_settings

LIKE = Request("", "", ["sim-grok-4.3"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three tasks: a and b with two sets each, c with its holdout alone."""
    for task, sets in {"a": ["dev", "more"], "b": ["dev", "holdout-1"], "c": ["holdout-1"]}.items():
        fields = {
            "name": task,
            "system_prompt": "s",
            "user_template": "{x}",
            "scoring": {"mode": "strict_substring", "pass_rule": "exact_match"},
            "default_judges": ["sim-grok-4.3", "sim-opus-4.7"][: 1 + (task == "b")],
        }
        write(tmp_path / "tasks" / f"{task}.json", fields)
        for name in sets:
            cases = [{"id": "1", "inputs": {"x": "y"}, "expected": {"answer": "z"}}]
            write(tmp_path / "evalsets" / task / f"{name}.json", {"cases": cases})
    return tmp_path


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def sets(root: Path, eval_set: str | None, names: str = "a,b") -> dict[str, str]:
    requests = select(names.split(","), eval_set, like=LIKE, root=root)
    return {request.task: request.eval_set for request in requests}


def complaint(root: Path, eval_set: str | None, names: str = "a,b", like: Request = LIKE) -> str:
    with pytest.raises(InputError) as caught:
        select(names.split(","), eval_set, like=like, root=root)
    return str(caught.value)


def test_all_tasks_are_the_projects_own(root: Path) -> None:
    assert all_tasks(root) == ["a", "b", "c"]


def test_where_a_project_has_none_all_tasks_are_those_that_come_with_evalq(tmp_path: Path) -> None:
    assert "mail_classify" in all_tasks(tmp_path)


def test_each_task_takes_its_first_set_that_is_no_holdout(root: Path) -> None:
    assert sets(root, None) == {"a": "dev", "b": "dev"}
    assert first_set("b", root) == "dev"


def test_a_task_with_holdouts_alone_needs_its_set_named(root: Path) -> None:
    assert "task 'c' has no evalset but holdouts" in complaint(root, None, "a,c")


def test_one_set_is_meant_for_every_task(root: Path) -> None:
    assert sets(root, "more") == {"a": "more", "b": "more"}


def test_pairs_name_the_set_of_some_tasks_and_the_others_take_their_first(root: Path) -> None:
    assert sets(root, "a=more, b=dev") == {"a": "more", "b": "dev"}
    assert sets(root, "a=more") == {"a": "more", "b": "dev"}


def test_a_task_named_by_its_path_is_known_by_its_name(root: Path) -> None:
    path = str(root / "tasks" / "a.json")
    assert sets(root, "a=more", f"{path},b") == {path: "more", "b": "dev"}


@pytest.mark.parametrize(
    ("eval_set", "words"),
    [
        ("dev,more", "names no set of a task"),
        ("a=", "names no set of a task"),
        ("bb=dev", "did you mean 'b'"),
    ],
)
def test_a_pair_that_means_nothing_is_answered(root: Path, eval_set: str, words: str) -> None:
    assert words in complaint(root, eval_set)


def test_every_unknown_task_and_every_one_named_twice_is_reported(root: Path) -> None:
    message = complaint(root, None, "a,x,a,y")
    assert all(words in message for words in ("no task 'x'", "no task 'y'", "task 'a' is named twice"))


def test_judges_must_be_named_unless_all_tasks_have_the_same(root: Path) -> None:
    message = complaint(root, "dev", "a,b", Request("", ""))
    assert "not the same default judges (a: sim-grok-4.3; b: sim-grok-4.3, sim-opus-4.7)" in message
    assert "--judges" in message
    assert len(select(["a", "c"], "holdout-1", like=Request("", ""), root=root)) == 2


def test_the_problems_of_all_tasks_are_reported_together_and_once(root: Path) -> None:
    settings = load_settings(root, {})
    requests = select(["a", "b"], "none", like=LIKE, root=root)
    with pytest.raises(InputError) as caught:
        prepare_all(requests, settings, root)
    assert len(caught.value.problems) == 2
    unknown = select(["a", "b"], "dev", like=Request("", "", ["nobody"]), root=root)
    with pytest.raises(InputError) as caught:
        prepare_all(unknown, settings, root)
    assert len(caught.value.problems) == 1


def test_a_set_missing_for_one_task_is_refused(root: Path) -> None:
    requests = select(["a", "b"], "more", like=LIKE, root=root)
    with pytest.raises(InputError, match="no evalset 'more'"):
        prepare_all(requests, load_settings(root, {}), root)


def test_every_task_is_planned(root: Path) -> None:
    requests = select(["a", "b"], None, like=LIKE, root=root)
    plans = prepare_all(requests, load_settings(root, {}), root)
    assert [(plan.task.name, plan.evalset.name) for plan in plans] == [("a", "dev"), ("b", "dev")]
