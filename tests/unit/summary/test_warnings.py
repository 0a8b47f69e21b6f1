"""What a result says in words: its warnings, and what to type next in each state."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalq.records import BakeOffRow, RunRow
from evalq.results import BakeOffState, RunResult
from evalq.summary.warnings import next_commands, warnings

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
BAKE_OFF = BakeOffRow(
    id=142,
    uid=uuid.UUID(int=0),
    task_name="audit",
    eval_set_name="dev",
    scorer_mode="strict_substring",
    grader_model=None,
    run_type="bake-off",
    task_sha="t",
    eval_set_sha="e",
    seed=0,
    samples=1,
    state="concluded",
    cap_usd=Decimal("2.5"),
    reserved_usd=Decimal(0),
    spent_usd=Decimal(1),
    created_at=NOW,
    read_at=NOW,
    result=None,
)
FINE = RunResult(
    run_id=1,
    judge="a",
    vendor="x",
    n_cases=10,
    n_pass=7,
    n_fail=3,
    n_error=0,
    accuracy=0.7,
    ci_low=0.4,
    ci_high=0.9,
    ci_method="wilson",
    p50_latency_ms=1,
    p95_latency_ms=2,
    total_cost_usd=Decimal(0),
    judging_cost_usd=Decimal(0),
    grading_cost_usd=Decimal(0),
    retries=0,
)
BROKEN = replace(
    FINE, judge="b", n_pass=0, n_fail=0, n_error=10, accuracy=None, excluded="10/10 empty outputs"
)
RUN = RunRow(1, "a", "x", "http", "http/-/a", 10, "concluded")


def said(*results: RunResult, state: BakeOffState = "concluded", provider: str = "http") -> list[str]:
    return list(warnings(replace(BAKE_OFF, state=state), [replace(RUN, provider=provider)], results))


def commands(state: BakeOffState, *results: RunResult) -> list[str]:
    return list(next_commands(replace(BAKE_OFF, state=state), results))


def test_a_clean_result_needs_no_warning() -> None:
    assert said(FINE) == []


def test_a_broken_judge_is_called_broken_not_bad() -> None:
    [warning] = said(BROKEN)
    assert warning == "b: 10/10 empty outputs; left out of ranking and agreement: broken, not bad"


def test_errors_are_counted_by_kind_and_said_to_be_outside_the_rate() -> None:
    judge = replace(FINE, n_error=3, errors={"truncated": 1, "refused": 2})
    [warning] = said(judge)
    assert warning == "a: 3 of 13 not graded (2 refused, 1 truncated); its rate is over the rest"


def test_a_bake_off_stopped_at_its_cap_says_so() -> None:
    [warning] = said(FINE, state="capped")
    assert warning.startswith("stopped at the cap")


def test_another_cap_than_its_own_is_said_to_be_raised_elsewhere() -> None:
    capped = replace(BAKE_OFF, state="capped", stop_reason="the cap of the day")
    first, second = warnings(capped, [RUN], [FINE])
    assert first == "stopped at the cap of the day; everything paid for is stored"
    assert "caps: in evalq.yaml" in second


def test_a_paused_bake_off_says_why() -> None:
    paused = replace(BAKE_OFF, state="paused", stop_reason="by hand")
    assert list(warnings(paused, [RUN], [FINE])) == ["paused: by hand"]


def test_real_answers_graded_by_a_simulation_are_warned_of() -> None:
    [warning] = warnings(replace(BAKE_OFF, grader_model="sim-grader"), [RUN], [FINE])
    assert "its verdicts say nothing about real answers" in warning


def test_simulated_dollars_are_said_to_be_simulated() -> None:
    [warning] = said(FINE, provider="simulated")
    assert "nothing was billed" in warning


@pytest.mark.parametrize(
    ("state", "first"),
    [
        ("paused", "evalq resume 142"),
        ("cancelled", "evalq resume 142"),
        ("capped", "evalq resume 142 --max-cost-usd 5.00"),
        ("running", "evalq watch 142"),
        ("concluded", "evalq inspect 142 --disagreements"),
    ],
)
def test_the_first_command_to_type_follows_the_state(state: BakeOffState, first: str) -> None:
    assert commands(state, FINE, FINE)[0] == first


def test_failures_can_always_be_looked_into() -> None:
    shown = "evalq inspect 142 --show-failures"
    assert commands("concluded", FINE) == [shown, "evalq report 142", "evalq web"]


def test_one_judge_that_counts_disagrees_with_nobody() -> None:
    assert "evalq inspect 142 --disagreements" not in commands("concluded", FINE, BROKEN)
    assert "evalq inspect 142 --disagreements" in commands("concluded", FINE, FINE, BROKEN)


@pytest.mark.parametrize("kind", ["call_permanent", "call_transient", "worker_lost", "internal"])
def test_errors_that_another_try_may_mend_can_be_retried(kind: str) -> None:
    ailing = replace(FINE, n_error=1, errors={kind: 1})
    assert commands("concluded", FINE, ailing)[0] == "evalq retry 142 --errors"
    assert commands("capped", ailing)[:2] == [
        "evalq resume 142 --max-cost-usd 5.00",
        "evalq retry 142 --errors",
    ]


@pytest.mark.parametrize("kind", ["empty", "refused", "truncated", "ungradable"])
def test_what_a_judge_said_is_not_retried_by_default(kind: str) -> None:
    assert "evalq retry 142 --errors" not in commands("concluded", replace(FINE, errors={kind: 1}))


def test_a_judge_that_grades_its_own_answers_is_warned_of() -> None:
    [warning] = warnings(BAKE_OFF, [replace(RUN, grades_itself=True)], [FINE])
    assert warning.startswith("a grades its own answers")
