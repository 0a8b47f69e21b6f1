"""A drift check is no way around the guard: the cases of a holdout stay out of sight, under any name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.inspect import CaseFilter, find_cases
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.replay import replay
from evalq.bakeoff.runs import change_between, find_runs
from evalq.errors import Refused
from evalq.review.calibration import gather
from evalq.store import bakeoffs
from evalq.store.database import Database

Decide = Callable[..., int]


def show_cases(db: Database, bakeoff_id: int) -> None:
    find_cases(db, result_of(db, bakeoff_id), CaseFilter("failures"))


def show_replay(db: Database, bakeoff_id: int) -> None:
    replay(db, bakeoffs.get(db, bakeoff_id), bakeoffs.runs(db, bakeoff_id)[0], case_id="case-0000")


def show_changes(db: Database, bakeoff_id: int) -> None:
    (run,) = find_runs(db, [f"{bakeoff_id}:sim-a"])
    change_between(db, run, run, margin=0.05)


VIEWS = [show_cases, show_replay, show_changes, gather]


@pytest.mark.parametrize("show", VIEWS)
def test_the_cases_of_a_drift_check_on_a_holdout_are_withheld_until_the_final_decision(
    db: Database, decide: Decide, show: Callable[[Database, int], object]
) -> None:
    check = decide(run_type="drift_check")
    assert result_of(db, check).runs[0].accuracy == 1.0
    with pytest.raises(Refused, match="withheld until a final decision"):
        show(db, check)
    show(db, decide())
    show(db, check)


@pytest.mark.parametrize("name", ["dev-3", "holdout-copy-sample"])
def test_a_copy_of_a_frozen_set_under_another_name_is_recognised(
    db: Database, root: Path, held_out: Callable[..., Plan], decide: Decide, name: str
) -> None:
    decide()
    with pytest.raises(Refused, match=rf"'{name}' has the very cases of the frozen holdout 'holdout-3'"):
        holdout.admit(db, root, held_out(name), run_type="drift_check")


def test_a_copy_is_recognised_in_another_task(
    db: Database, held_out: Callable[..., Plan], decide: Decide
) -> None:
    decide()
    copy = held_out("dev-3")
    other = replace(copy, task=copy.task.model_copy(update={"name": "towns"}))
    with pytest.raises(Refused, match="of capitals, under another name"):
        holdout.admit(db, None, other, run_type="bake-off")


def test_other_cases_are_free(db: Database, root: Path, plan: Callable[..., Plan], decide: Decide) -> None:
    decide()
    assert holdout.admit(db, root, plan(2), run_type="bake-off")
