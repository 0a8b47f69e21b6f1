"""Fleiss' kappa and Krippendorff's alpha against published tables, statsmodels and a count of all pairs."""

import math
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as oracle

from evalq.stats.agreement import Level, fleiss_kappa, krippendorff_alpha

quick = settings(deadline=None, max_examples=30)
LABEL = st.integers(1, 4)
LEVELS: list[Level] = ["nominal", "ordinal", "interval"]
# Fourteen raters, ten cases, five labels: the worked example of Fleiss' kappa, as counts of each label.
FOURTEEN = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
# Krippendorff 2011, section C and following: four observers, twelve units, some not observed.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def table(n_judges: int) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(LABEL, min_size=n_judges, max_size=n_judges), min_size=1, max_size=12)


def disagreement(a: float, b: float, values: list[float], level: Level) -> float:
    """The squared distance as the paper words it, from the list of all pairable values."""
    if level == "nominal":
        return float(a != b)
    if level == "interval":
        return (a - b) ** 2
    low, high = min(a, b), max(a, b)
    between = sum(low <= value <= high for value in values)
    return (between - (values.count(low) + values.count(high)) / 2) ** 2 if low != high else 0.0


def alpha_by_pairs(ratings: list[list[float | None]], level: Level) -> float:
    """Alpha from every ordered pair of ratings, within cases and overall."""
    cases = [[value for value in case if value is not None] for case in zip(*ratings, strict=True)]
    cases = [case for case in cases if len(case) > 1]
    values = [value for case in cases for value in case]
    observed = sum(
        disagreement(a, b, values, level) / (len(case) - 1)
        for case in cases
        for a, b in permutations(case, 2)
    )
    expected = sum(disagreement(a, b, values, level) for a, b in permutations(values, 2))
    return 1 - observed * (len(values) - 1) / expected if expected else math.nan


def test_the_worked_example_of_fourteen_raters_has_its_published_kappa() -> None:
    ratings = [[label for label, count in enumerate(row) for _ in range(count)] for row in FOURTEEN]

    assert fleiss_kappa(ratings) == pytest.approx(0.210, abs=5e-4)


@quick
@given(st.integers(2, 5).flatmap(table))
def test_fleiss_agrees_with_statsmodels(ratings: list[list[int]]) -> None:
    found = fleiss_kappa(ratings)

    if len({label for row in ratings for label in row}) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(oracle(aggregate_raters(np.array(ratings))[0]), abs=1e-12)
        assert -1 <= found <= 1


@quick
@given(table(3), st.randoms(use_true_random=False))
def test_fleiss_ignores_the_order_of_cases_and_of_judges(
    ratings: list[list[int]], shuffler: random.Random
) -> None:
    mixed = [shuffler.sample(row, len(row)) for row in shuffler.sample(ratings, len(ratings))]

    assert fleiss_kappa(mixed) == pytest.approx(fleiss_kappa(ratings), nan_ok=True, abs=1e-12)


def test_fleiss_leaves_out_a_case_that_a_judge_has_not_rated() -> None:
    complete = [[1, 1, 0], [0, 0, 0], [1, 0, 1]]

    assert fleiss_kappa([*complete, [1, None, 0]]) == fleiss_kappa(complete)


@pytest.mark.parametrize(
    "ratings", [[], [[]], [[1], [0]], [[None, 1]], [[1, 1], [1, 1]], [[1, 1], [0, None]]]
)
def test_fleiss_is_undefined_without_two_judges_a_whole_case_and_two_labels(
    ratings: list[list[int | None]],
) -> None:
    assert math.isnan(fleiss_kappa(ratings))


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        fleiss_kappa([[1, 0], [1]])


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_four_observers_is_the_published_one(level: Level, alpha: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_of_two_observers_and_two_labels_is_the_published_one() -> None:
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]

    assert krippendorff_alpha([meg, owen]) == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("level", LEVELS)
@quick
@given(ratings=st.lists(st.tuples(*[st.none() | LABEL] * 3), min_size=1, max_size=7))
def test_alpha_is_what_comparing_every_pair_gives(
    level: Level, ratings: list[tuple[int | None, ...]]
) -> None:
    by_rater = [list(row) for row in zip(*ratings, strict=True)]

    assert krippendorff_alpha(by_rater, level) == pytest.approx(
        alpha_by_pairs(by_rater, level), nan_ok=True, abs=1e-9
    )


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_one_for_raters_who_always_agree_and_ignores_their_order(level: Level) -> None:
    assert krippendorff_alpha([[1, 2, 5, None], [1, 2, 5, 3]], level) == 1.0
    assert krippendorff_alpha(OBSERVERS[::-1], level) == pytest.approx(krippendorff_alpha(OBSERVERS, level))


@pytest.mark.parametrize(
    "ratings", [[], [[1, 2]], [[1, None], [None, 2]], [[4, 4], [4, 4]], [[math.nan, None]]]
)
def test_alpha_is_undefined_where_nothing_could_be_disagreed_about(ratings: list[list[float | None]]) -> None:
    assert math.isnan(krippendorff_alpha(ratings))


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="nominal, ordinal or interval"):
        krippendorff_alpha([[1, 2], [1, 1]], "ratio")  # type: ignore[arg-type]
