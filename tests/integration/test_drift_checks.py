"""Drift checks decided from rows: once each, whoever asks, and told when somebody must know."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from drift_series import FINISH, N, Series

from evalq.bakeoff.conclude import conclude, conclude_paused
from evalq.bakeoff.plan import Plan
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.schedules import DriftSchedule
from evalq.drift.history import accept, read_status
from evalq.engines.broker import Broker
from evalq.errors import InputError
from evalq.store import bakeoffs
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def series(db: Database, broker: Broker, sql: Sql, plan: Callable[..., Plan]) -> Series:
    return Series(db, broker, sql, plan)


def test_the_first_four_checks_only_gather_a_baseline(series: Series) -> None:
    runs = series.warm()
    assert [series.verdict(run_id) for run_id in runs] == [("inconclusive", True)] * 4
    assert [series.numbers(run_id)["needs_runs"] for run_id in runs] == [4, 3, 2, 1]
    assert series.alerts() == []


def test_a_steady_judge_is_ok_and_its_row_has_every_number(series: Series) -> None:
    earlier = series.warm()
    run_id = series.check(26)
    assert series.verdict(run_id) == ("ok", True)
    numbers = series.numbers(run_id)
    assert (numbers["n"], numbers["passes"], numbers["baseline_passes"]) == (30, 26, [27] * 4)
    assert numbers["baseline_runs"] == earlier
    assert numbers["provider"]["p50_latency_ms"] == {"from": 100, "to": 100}
    assert {"p", "drop_pp", "smallest_drop_pp", "task_changed"} <= set(numbers)


def test_deciding_again_changes_nothing(series: Series, sql: Sql) -> None:
    series.warm()
    series.check(20, "seed")
    before = sql("SELECT * FROM drift_checks ORDER BY run_id"), sql("SELECT * FROM alerts")
    series.advance()
    assert (sql("SELECT * FROM drift_checks ORDER BY run_id"), sql("SELECT * FROM alerts")) == before


def test_a_check_waits_for_its_run(series: Series) -> None:
    bakeoff_id = series.open()
    series.advance()
    ((run_id,),) = series.sql("SELECT id FROM runs WHERE bakeoff_id = %s", bakeoff_id)
    assert series.verdict(run_id) == (None, False)


def test_a_watch_starts_one_confirmation_of_the_same_snapshots(series: Series, sql: Sql) -> None:
    series.warm()
    run_id = series.check(20)
    assert series.verdict(run_id) == ("watch", False)
    series.advance()
    rows = sql(
        "SELECT run_type, samples, task_sha, eval_set_sha, state, cap_usd < 5 FROM bakeoffs ORDER BY id"
    )
    check, confirmation = rows[-2:]
    assert len(rows) == 6
    assert confirmation[:2] == ("drift_confirm", 4)
    assert confirmation[2:4] == check[2:4]
    judges = sql("SELECT judge_sha, n_jobs FROM runs ORDER BY id DESC LIMIT 2")
    assert judges[0][0] == judges[1][0]
    assert (judges[0][1], judges[1][1]) == (120, 30)
    assert series.alerts() == []


def test_fresh_repeats_that_are_as_bad_make_it_an_alert(series: Series) -> None:
    series.warm()
    run_id = series.check(20, model="sim-b")
    series.confirm(run_id, [20, 19, 21, 20])
    assert series.verdict(run_id) == ("alert", True)
    numbers = series.numbers(run_id)
    assert numbers["p"] <= 0.01
    assert (numbers["fresh_passes"], numbers["passes"], numbers["watch_n"]) == (80, 20, 30)
    (alert,) = series.alerts()
    assert (alert["kind"], alert["judge"], alert["run_id"]) == ("drift", "sim-a", run_id)
    assert "model version sim-a → sim-b" in alert["numbers"]["provider"]["notes"]
    assert alert["confirm"].startswith("evalq verify --task capitals --judges sim-a --eval-set dev-30")


def test_fresh_repeats_that_are_as_good_as_ever_end_the_watch(series: Series) -> None:
    series.warm()
    run_id = series.check(24)
    series.confirm(run_id, [27, 26, 27, 27])
    assert series.verdict(run_id) == ("ok", True)
    assert series.alerts() == []


def test_of_several_deciders_at_once_one_decides(
    series: Series, sql: Sql, at_once: Callable[..., list[Any]]
) -> None:
    series.warm()
    (run_id,) = series.end(series.open(), 20)
    at_once(series.advance, 4)
    assert sql("SELECT count(*) FROM bakeoffs WHERE run_type = 'drift_confirm'") == [(1,)]
    confirmation = series.confirmation(run_id)
    assert confirmation
    series.end(confirmation, [20] * 4)
    at_once(series.advance, 4)
    assert series.verdict(run_id) == ("alert", True)
    assert len(series.alerts()) == 1


def test_the_seed_rule_stops_at_its_watch_and_says_that_nobody_confirmed_it(series: Series, sql: Sql) -> None:
    series.warm()
    run_id = series.check(20, "seed")
    assert series.verdict(run_id) == ("watch", True)
    assert [alert["kind"] for alert in series.alerts()] == ["watch"]
    ((text,),) = sql("SELECT text FROM alerts")
    assert "--rule confirm" in text


def test_a_drop_that_lasts_is_one_alert_and_the_next_one_another(series: Series) -> None:
    series.warm()
    for _ in range(2):
        series.confirm(series.check(15), [15] * 4)
    assert len(series.alerts()) == 1
    for _ in range(5):
        run_id = series.check(27)
    assert series.verdict(run_id) == ("ok", True)
    series.confirm(series.check(15), [15] * 4)
    assert len(series.alerts()) == 2


def test_a_drop_that_lasts_is_told_again_the_next_day(series: Series, sql: Sql) -> None:
    series.warm()
    series.confirm(series.check(15), [15] * 4)
    sql("UPDATE drift_checks SET decided_at = decided_at - interval '25 hours'")
    series.confirm(series.check(15), [15] * 4)
    assert len(series.alerts()) == 2


def test_a_broken_judge_is_no_drop_but_an_alert_of_its_own(series: Series) -> None:
    series.warm()
    run_id = series.check(0, errored=30)
    assert series.verdict(run_id) == ("inconclusive", True)
    assert series.numbers(run_id)["detail"] == "30/30 empty outputs"
    assert [alert["kind"] for alert in series.alerts()] == ["blocked"]
    assert series.numbers(series.check(27))["baseline_runs"][-1] == run_id - 1


def test_errored_cases_are_left_out_and_a_run_full_of_them_is_no_baseline(series: Series) -> None:
    series.warm()
    run_id = series.check(25, errored=4)
    assert series.verdict(run_id) == ("ok", True)
    assert (series.numbers(run_id)["n"], series.numbers(run_id)["n_cases"]) == (26, 30)
    mostly = series.check(10, errored=20)
    assert series.numbers(mostly)["reason"] == "errors"
    assert mostly not in series.numbers(series.check(27))["baseline_runs"]


@pytest.mark.parametrize(
    ("state", "reason", "expected", "kinds"),
    [
        ("capped", "the cap of $5", ("inconclusive", True), ["blocked"]),
        ("cancelled", None, ("inconclusive", True), []),
        ("paused", "the sandbox is missing", ("inconclusive", True), ["blocked"]),
        ("paused", "by hand", (None, False), []),
        ("paused", None, (None, False), []),
    ],
)
def test_a_bake_off_that_stopped_is_no_verdict_unless_somebody_may_go_on_with_it(
    series: Series, state: str, reason: str | None, expected: tuple[str | None, bool], kinds: list[str]
) -> None:
    bakeoff_id = series.open()
    series.sql("UPDATE bakeoffs SET state = %s, stop_reason = %s WHERE id = %s", state, reason, bakeoff_id)
    series.advance()
    ((run_id,),) = series.sql("SELECT id FROM runs WHERE bakeoff_id = %s", bakeoff_id)
    assert series.verdict(run_id) == expected
    assert [alert["kind"] for alert in series.alerts()] == kinds


def test_a_judge_whose_key_is_refused_blocks_its_own_check_only(
    series: Series, judge: Callable[..., SimulatedJudge]
) -> None:
    bakeoff_id = series.open(judges=[judge("a"), judge("b")])
    (a, b) = (row[0] for row in series.sql("SELECT id FROM runs ORDER BY id"))
    bakeoffs.pause_run(series.db, b, "401, set XAI_API_KEY")
    series.sql("UPDATE jobs SET state = 'done' WHERE run_id = %s", b)
    series.sql(FINISH, bakeoff_id, [], "[]", "m")
    series.sql("DELETE FROM outcomes WHERE run_id = %s", b)
    conclude(series.db, a)
    conclude_paused(series.db, bakeoff_id)
    series.advance()
    assert series.numbers(b)["detail"] == "paused: 401, set XAI_API_KEY"
    assert series.numbers(a)["reason"] == "baseline"
    assert [alert["judge"] for alert in series.alerts()] == ["b"]


def test_a_confirmation_that_fails_leaves_the_watch_inconclusive_and_told(series: Series) -> None:
    series.warm()
    run_id = series.check(20)
    series.confirm(run_id, [0] * 4, errored=30)
    assert series.verdict(run_id) == ("inconclusive", True)
    detail = "WATCH, but its confirmation was not made: 120/120 empty outputs"
    assert series.numbers(run_id)["detail"] == detail
    assert series.numbers(run_id)["drop_pp"] == pytest.approx(100 * 7 / 30, abs=1e-3)
    assert [alert["kind"] for alert in series.alerts()] == ["blocked"]


def test_a_confirmation_that_does_not_fit_under_the_cap_is_not_started(series: Series, sql: Sql) -> None:
    series.warm()
    (run_id,) = series.end(series.open(cap="0.0001"), 20)
    series.advance()
    assert series.verdict(run_id) == ("inconclusive", True)
    assert series.numbers(run_id)["reason"] == "cap"
    assert sql("SELECT count(*) FROM bakeoffs WHERE run_type = 'drift_confirm'") == [(0,)]


def test_a_check_and_its_confirmations_share_one_cap(
    series: Series, sql: Sql, judge: Callable[..., SimulatedJudge]
) -> None:
    pair = [judge("a"), judge("b")]
    for _ in range(4):
        series.end(series.open(judges=pair), 27)
        series.advance()
    bakeoff_id = series.open(judges=pair, cap=3)
    sql("UPDATE bakeoffs SET spent_usd = 1 WHERE id = %s", bakeoff_id)
    series.end(bakeoff_id, 10)
    series.advance()
    assert sql("SELECT cap_usd FROM bakeoffs WHERE run_type = 'drift_confirm'") == [(Decimal(1),)] * 2


def test_only_like_runs_are_a_baseline(series: Series, judge: Callable[..., SimulatedJudge]) -> None:
    final = series.end(series.open(rule=None, run_type="final-decision"), 27)
    series.end(series.open(rule=None, run_type="bake-off"), 27)
    series.end(series.open(judges=[judge("other")]), 27)
    series.end(series.open(n=20), 20)
    checks = series.warm(runs=3)
    run_id = series.check(27)
    assert series.numbers(run_id)["baseline_runs"] == [*final, *checks]
    assert series.verdict(run_id) == ("ok", True)


def test_the_sequential_rule_asks_for_an_accepted_run_first(series: Series) -> None:
    run_id = series.check(27, "sequential")
    assert series.numbers(run_id)["reason"] == "unaccepted"
    assert f"evalq drift accept {run_id}" in series.numbers(run_id)["detail"]
    assert series.alerts() == []


def test_evidence_gathers_from_the_accepted_run_to_one_alert_and_begins_anew_when_accepted_again(
    series: Series,
) -> None:
    base = series.check(27, "sequential")
    one = accept(series.db, base)
    assert (one.judge, one.n, one.accuracy) == ("sim-a", 30, Decimal("0.9000"))
    runs = [series.check(passes, "sequential") for passes in (27, 27, 27, 18, 18, 18)]
    levels = [series.numbers(run_id)["level"] for run_id in runs]
    verdicts = [series.verdict(run_id)[0] for run_id in runs]
    assert [series.numbers(run_id)["weeks"] for run_id in runs] == [1, 2, 3, 4, 5, 6]
    assert max(levels) >= 200
    assert verdicts[:3] == ["ok"] * 3
    assert verdicts[-1] == "alert"
    assert len(series.alerts()) == 1
    assert series.numbers(runs[1])["baseline_runs"] == [base, runs[0]]
    accept(series.db, runs[-1])
    run_id = series.check(18, "sequential")
    assert (series.verdict(run_id)[0], series.numbers(run_id)["weeks"]) == ("ok", 1)
    assert series.numbers(run_id)["baseline_runs"] == [runs[-1]]


def test_a_set_that_changed_since_a_run_was_accepted_needs_another(series: Series) -> None:
    base = series.check(27, "sequential")
    accept(series.db, base)
    other = series.open("sequential", n=29)
    series.sql("UPDATE bakeoffs SET eval_set_name = 'dev-30' WHERE id = %s", other)
    (run_id,) = series.end(other, 27)
    series.advance()
    assert "the set has changed" in series.numbers(run_id)["detail"]


def test_a_run_that_says_nothing_cannot_be_accepted(series: Series) -> None:
    with pytest.raises(InputError, match="no concluded run 77"):
        accept(series.db, 77)
    broken = series.check(0, errored=30)
    with pytest.raises(InputError, match="tells nothing about sim-a: 30/30 empty outputs"):
        accept(series.db, broken)


def test_the_status_shows_checks_baseline_and_evidence(series: Series) -> None:
    base = series.check(27, "sequential")
    accept(series.db, base)
    last = series.check(27, "sequential")
    schedules = [DriftSchedule(task="capitals", eval_set="dev-30"), DriftSchedule(task="x", eval_set="y")]
    now = datetime(2026, 11, 17, tzinfo=UTC)
    document = read_status(series.db, schedules, task="capitals", now=now)
    (judge,) = document["judges"]
    assert (judge["judge"], judge["baseline"]["run_id"], judge["detector"]["weeks"]) == ("sim-a", base, 1)
    assert [check["run_id"] for check in judge["checks"]] == [last, base]
    assert [one["next"] for one in document["schedules"]] == ["2026-11-21T03:00:00+00:00"]
    assert read_status(series.db, schedules, task="none", now=now)["judges"] == []


@pytest.mark.parametrize(("rule", "checks"), [("confirm", 200), ("sequential", 80)])
def test_a_steady_judge_raises_no_alert_in_two_hundred_checks(
    series: Series, sql: Sql, rule: str, checks: int
) -> None:
    """Decided from real rows whose verdicts are drawn by chance, each case with its own chance to pass."""
    chances = series.rng.beta(2.7, 0.3, N)

    def draw(samples: int) -> list[list[int]]:
        passed = series.rng.random((N, samples)) < chances[:, None]
        return [[int(case), int(sample) + 1] for case, sample in zip(*passed.nonzero(), strict=True)]

    accept(series.db, series.check(27, rule))
    watches = 0
    for _ in range(checks):
        (run_id,) = series.end_as(series.open(rule), draw(1))
        series.advance()
        if confirmation := series.confirmation(run_id):
            watches += 1
            series.end_as(confirmation, draw(4))
            series.advance()
    counts = dict(sql("SELECT verdict, count(*) FROM drift_checks WHERE decided_at IS NOT NULL GROUP BY 1"))
    assert counts.pop("inconclusive") <= 4
    assert counts == {"ok": pytest.approx(checks, abs=4)}
    assert series.alerts() == []
    assert rule == "sequential" or 10 < watches < 80
