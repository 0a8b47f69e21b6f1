"""The timeline of a judge: its baseline, and the marks of what changed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from evalq.store.bakeoff_lists import SeriesRun
from evalq.web.drift_page import baseline_of, list_points

RUN = SeriesRun(
    run_id=1,
    bakeoff_id=1,
    judge="a",
    eval_set_name="dev-30",
    run_type="drift_check",
    accuracy=0.9,
    ci_low=0.8,
    ci_high=0.95,
    n=30,
    excluded=None,
    started_at=datetime(2030, 1, 6, tzinfo=UTC),
    task_sha="x",
    verdict="ok",
    rule="confirm",
    numbers={},
    model="m-1",
)


def runs(*rates: float | None) -> list[SeriesRun]:
    return [
        replace(RUN, accuracy=rate, started_at=RUN.started_at + timedelta(weeks=week))
        for week, rate in enumerate(rates)
    ]


def test_the_baseline_is_the_median_of_the_four_before_the_newest() -> None:
    assert baseline_of(runs(0.1, 0.9, 0.8, 0.7, 0.6, 0.2)) == 0.75
    assert baseline_of(runs(0.9)) is None
    assert baseline_of([]) is None


def test_a_broken_check_is_in_no_baseline() -> None:
    broken = replace(RUN, accuracy=0.0, excluded="30/30 empty outputs")
    assert baseline_of([*runs(0.9), broken, *runs(None), *runs(0.5)]) == 0.9


def test_a_change_of_model_or_prompt_is_marked_where_it_happened() -> None:
    first, second, third = runs(0.9, 0.9, 0.5)
    series = [first, replace(second, model="m-2"), replace(third, model=None, task_sha="y", verdict="alert")]
    points = list_points(series)
    assert [point.label for point in points] == ["01-06", "01-13", "01-20"]
    assert [point.is_model_changed for point in points] == [False, True, False]
    assert [point.is_prompt_changed for point in points] == [False, False, True]
    assert [point.verdict for point in points] == ["ok", "ok", "alert"]
