"""The interval of Krippendorff's alpha: around it, wider with fewer cases, the same for the same seed."""

import math
import random

import pytest

from evalq.stats.agreement import alpha_interval, krippendorff_alpha


def ratings(n_cases: int, seed: int = 1) -> list[list[int | None]]:
    """Three raters who mostly say what is true, and miss some cases."""
    rng = random.Random(seed)
    truth = [rng.randint(1, 5) for _ in range(n_cases)]
    return [
        [None if rng.random() < 0.2 else t if rng.random() < 0.7 else rng.randint(1, 5) for t in truth]
        for _ in range(3)
    ]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_interval_holds_alpha(level: str) -> None:
    table = ratings(60)
    low, high = alpha_interval(table, level)  # type: ignore[arg-type]
    assert low < krippendorff_alpha(table, level) < high  # type: ignore[arg-type]
    assert (low, high) == alpha_interval(table, level)  # type: ignore[arg-type]


def test_more_cases_make_it_narrower() -> None:
    few, many = alpha_interval(ratings(20)), alpha_interval(ratings(320))
    assert many[1] - many[0] < (few[1] - few[0]) / 2


@pytest.mark.parametrize("table", [[[1], [2]], [[1, 1], [1, 1]], [[1, None], [None, 2]]])
def test_where_nothing_can_be_said_there_is_no_interval(table: list[list[int | None]]) -> None:
    assert all(math.isnan(end) for end in alpha_interval(table))
