"""The bake-offs a suite takes, its retries, and which baselines they are held against."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.assignment import assign_judges
from evalq.formats.suite.baselines import Baselines, comparable_output, load_baselines
from evalq.formats.suite.choice import LoadedSuite, parse_variables
from evalq.formats.suite.plan import (
    SuitePlan,
    SuiteRunOptions,
    plan_bakeoffs,
    plan_retry,
    refuse_empty,
    retries_of,
)
from evalq.formats.suite.read import Suite
from evalq.settings import Settings
from evalq.store.baselines import Baseline

Make = Callable[..., Suite]

ASKED = {"id": "a", "input": "x", "expected": "y"}
REGRESSION = {
    "id": "r",
    "baseline": {"output": "inline"},
    "current": {"input": "y"},
    "comparison": {"type": "exact"},
}
NEW = {"id": "n", "current": {"input": "y"}, "comparison": {"type": "exact"}}


def plan(suite: Suite, *names: str, settings: Settings, baselines: Any = None, **options: Any) -> SuitePlan:
    found = assign_judges(suite, suite.evals, names, settings=settings, values={})
    loaded = LoadedSuite(suite, suite.evals, tuple(found))
    of = (baselines or Baselines()).of
    return plan_bakeoffs(loaded, SuiteRunOptions(**options), settings=settings, baseline_of=of)


def captured(judge: str, output: Any, at: int = 1) -> Baseline:
    return Baseline("S", "r", judge, "v1", output, datetime(2026, 1, at, tzinfo=UTC))


def test_judges_share_a_bake_off_while_their_cases_are_the_same(make_suite: Make, settings: Settings) -> None:
    (bakeoff,) = plan(make_suite(ASKED, REGRESSION), "sim", "sim2", settings=settings, samples=3).bakeoffs
    assert [judge.name for judge in bakeoff.plan.judges] == ["sim", "sim2"]
    assert (bakeoff.plan.samples, bakeoff.plan.task.name, bakeoff.plan.n_jobs) == (3, "s", 12)


def test_a_baseline_of_its_own_parts_a_judge_from_the_others(make_suite: Make, settings: Settings) -> None:
    own = Baselines({("r", "sim"): captured("sim", "captured")})
    bakeoffs = plan(make_suite(REGRESSION), "sim", "sim2", settings=settings, baselines=own).bakeoffs
    expected = {bakeoff.plan.judges[0].name: bakeoff.plan.evalset.cases[0].expected for bakeoff in bakeoffs}
    assert expected == {"sim": {"answer": "captured"}, "sim2": {"answer": "inline"}}
    inline = Baselines(own.captured, inline=True)
    assert len(plan(make_suite(REGRESSION), "sim", "sim2", settings=settings, baselines=inline).bakeoffs) == 1


def test_a_regression_without_a_baseline_is_left_out_and_named(make_suite: Make, settings: Settings) -> None:
    planned = plan(make_suite(ASKED, NEW), "sim", settings=settings)
    assert [case.id for case in planned.bakeoffs[0].plan.evalset.cases] == ["a"]
    assert [(judge, one.id) for judge, one in planned.lacking] == [("sim", "n")]
    nothing = plan(make_suite(NEW), "sim", settings=settings)
    with pytest.raises(InputError, match="none of these evals has a baseline yet; capture them"):
        refuse_empty(nothing)


@pytest.mark.parametrize(
    ("config", "at_once"),
    [
        ({}, {"sim": None, "sim2": 2}),
        ({"max_workers": 4}, {"sim": 4, "sim2": 2}),
        ({"parallel_execution": False}, {"sim": 1, "sim2": 1}),
    ],
)
def test_workers_bound_what_a_judge_is_asked_at_once(
    make_suite: Make, settings: Settings, config: Any, at_once: dict[str, int | None]
) -> None:
    (bakeoff,) = plan(make_suite(ASKED, config=config), "sim", "sim2", settings=settings).bakeoffs
    assert {judge.name: judge.concurrency for judge in bakeoff.plan.judges} == at_once


def test_the_most_patient_eval_sets_the_deadline(make_suite: Make, settings: Settings) -> None:
    timed = [{**ASKED, "id": str(n), "metadata": {"timeout_seconds": n}} for n in (5, 20)]
    (bakeoff,) = plan(make_suite(*timed), "real", settings=settings).bakeoffs
    assert bakeoff.plan.judges[0].deadline_s == 20  # type: ignore[union-attr]
    (bakeoff,) = plan(make_suite(*timed, ASKED), "real", settings=settings).bakeoffs
    assert bakeoff.plan.judges[0].deadline_s == 120  # type: ignore[union-attr]


def test_a_retry_asks_the_failed_cases_with_another_seed(make_suite: Make, settings: Settings) -> None:
    (bakeoff,) = plan(
        make_suite(ASKED, {**ASKED, "id": "b"}), "sim", settings=settings, samples=3, seed=7
    ).bakeoffs
    again = plan_retry(bakeoff, bakeoff.plan.judges, ["b"], attempt=2)
    assert ([case.id for case in again.evalset.cases], again.seed, again.samples) == (["b"], 9, 1)


def test_an_eval_can_set_its_own_number_of_retries(make_suite: Make) -> None:
    own = {**ASKED, "id": "b", "metadata": {"retries": 0}}
    suite = make_suite(ASKED, own, config={"retry_failed": True, "retry_count": 2})
    assert [retries_of(suite, one) for one in suite.evals] == [2, 0]


def test_the_newest_baseline_counts_wherever_it_is_kept(make_suite: Make, tmp_path: Path) -> None:
    suite = make_suite(REGRESSION)
    (tmp_path / "baselines/deep").mkdir(parents=True)
    (tmp_path / "baselines/deep/r.json").write_text(
        '{"eval_id": "r", "captures": ['
        '{"judge": "sim", "captured_at": "2026-01-02T00:00:00+00:00", "output": {"b": 1, "a": 2}}, '
        '{"judge": "bad"}]}',
        "utf-8",
    )
    (tmp_path / "baselines/other.json").write_text("[1, 2]", "utf-8")
    found = load_baselines(suite, None)
    assert list(found.of(suite.evals[0], "sim")) == ["b", "a"]
    assert found.of(suite.evals[0], "other") == "inline"


def test_only_descriptive_headers_of_a_response_are_kept() -> None:
    response = {"status": 200, "headers": {"content-type": "t", "x-request-id": "1"}, "body": 1}
    assert comparable_output(response, is_response=True)["headers"] == {"content-type": "t"}
    assert comparable_output(response, is_response=False) == response
    assert comparable_output("text", is_response=True) == "text"


def test_values_are_given_as_pairs_and_never_repeated_in_errors() -> None:
    assert parse_variables(("API_base_url=http://x?a=b", "t=")) == {"api_base_url": "http://x?a=b", "t": ""}
    with pytest.raises(InputError) as caught:
        parse_variables(("s3cret",))
    assert "s3cret" not in str(caught.value)
