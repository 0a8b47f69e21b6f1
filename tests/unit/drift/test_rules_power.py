"""The smallest drop a check sees: near the published power, never from too few cases, never certain."""

import numpy as np
import pytest

from evalq.drift.rules import (
    CaseHistory,
    smallest_confirmed_drop,
    smallest_seed_drop,
    smallest_sequential_drop,
)
from evalq.stats import DriftEvidence


def habit(n: int, answers: int) -> CaseHistory:
    rng = np.random.default_rng(7)
    return CaseHistory([int(k) for k in rng.binomial(answers, rng.beta(2.7, 0.3, n))], answers)


def test_the_seed_rule_at_ninety_percent_sees_a_little_over_ten_points_on_thirty_cases() -> None:
    """Published, exact: ten points are found with .773 at n = 30, p = .9."""
    drop = smallest_seed_drop(CaseHistory([4] * 18 + [3] * 12, 4))
    assert drop is not None
    assert 0.10 < drop < 0.14


@pytest.mark.parametrize(("n", "low", "high"), [(30, 0.15, 0.20), (99, 0.08, 0.12)])
def test_the_confirm_rule_sees_what_its_published_power_says(n: int, low: float, high: float) -> None:
    """Published: 10 points .385 and 20 points .937 at n = 30; 5 points .287 and 10 points .887 at n = 99."""
    drop = smallest_confirmed_drop(habit(n, 8))
    assert drop is not None
    assert low < drop < high


def test_the_detector_sees_the_smaller_drops_the_more_evidence_it_has() -> None:
    fresh = smallest_sequential_drop(habit(99, 8), DriftEvidence())
    warm = smallest_sequential_drop(habit(99, 8), DriftEvidence(level=100.0))
    at_alert = smallest_sequential_drop(habit(99, 8), DriftEvidence(level=1e6))
    assert fresh is not None
    assert warm is not None
    assert at_alert is not None
    assert fresh > warm > at_alert


def test_more_cases_see_smaller_drops() -> None:
    few, many = smallest_confirmed_drop(habit(40, 8)), smallest_confirmed_drop(habit(400, 8))
    assert few is not None
    assert many is not None
    assert few > many > 0.05


def test_a_handful_of_cases_sees_nothing_at_all() -> None:
    assert smallest_confirmed_drop(CaseHistory([1], 4)) is None
    assert smallest_seed_drop(CaseHistory([0], 4)) is None
    assert smallest_sequential_drop(CaseHistory([1, 1], 8), DriftEvidence()) is None


def test_cases_that_always_passed_are_not_certain_to_pass() -> None:
    assert CaseHistory([4] * 30, 4).variance() > 0
    assert CaseHistory([4] * 30, 4).rate == pytest.approx(0.9)
