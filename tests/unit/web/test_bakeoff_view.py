"""What a bake-off will have cost, when it will end, and how its judges do so far."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from evalq.results import JudgeProgress, Progress
from evalq.web.bakeoff_view import eta_s, interim_rate, projected_usd

START = datetime(2030, 1, 1, tzinfo=UTC)


def judge(done: int, total: int = 10, cost: str = "1", broken: str | None = None) -> JudgeProgress:
    n_pass = done // 2
    return JudgeProgress(
        "a", total, done, n_pass, done - n_pass, 0, Decimal(cost), 900, 0, 60.0, broken=broken
    )


def progress(*judges: JudgeProgress) -> Progress:
    now, money = START + timedelta(seconds=60), Decimal(0)
    return Progress(7, "task", "set", "running", START, now, Decimal(5), money, money, judges)


def test_the_rest_costs_what_the_jobs_so_far_did() -> None:
    assert projected_usd(progress(judge(5), judge(10, cost="3"))) == Decimal(5)


def test_a_broken_judge_costs_no_more_than_it_has() -> None:
    assert projected_usd(progress(judge(5, broken="5/5 empty outputs"))) == Decimal(1)


def test_nothing_is_projected_before_every_judge_has_begun() -> None:
    assert projected_usd(progress(judge(5), judge(0))) is None
    assert eta_s(progress(judge(5), judge(0))) is None


def test_the_slowest_judge_decides_when_it_ends() -> None:
    assert eta_s(progress(judge(10), judge(5), judge(2), judge(1, broken="paused"))) == pytest.approx(240)
    assert eta_s(progress(judge(10))) == 0


def test_an_interim_rate_has_its_interval() -> None:
    found = interim_rate(judge(10))
    assert found is not None
    rate, low, high = found
    assert low < rate == 0.5 < high
    assert interim_rate(judge(0)) is None
