"""Clustered errors against statsmodels, the formula of Miller 2024, and their own promises."""

import math
import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS

from evalq.stats.intervals import ErrorKind, clustered_se

quick = settings(deadline=None, max_examples=25)
KINDS: list[ErrorKind] = ["CR0", "CR1", "miller"]
ROWS = st.lists(st.tuples(st.floats(-5, 5), st.sampled_from("abcd")), min_size=2, max_size=30).filter(
    lambda rows: len({label for _, label in rows}) > 1
)


def columns(rows: list[tuple[float, str]]) -> tuple[list[float], list[str]]:
    return [value for value, _ in rows], [label for _, label in rows]


@quick
@given(ROWS)
def test_the_sandwiches_agree_with_statsmodels(rows: list[tuple[float, str]]) -> None:
    y, labels = columns(rows)
    groups = np.unique(labels, return_inverse=True)[1]
    model = OLS(np.array(y), np.ones(len(y)))

    for kind, is_corrected in (("CR0", False), ("CR1", True)):
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": is_corrected})
        assert clustered_se(y, labels, kind) == pytest.approx(math.sqrt(fit.cov_params()[0, 0]), abs=1e-9)


@quick
@given(ROWS)
def test_millers_error_is_the_usual_one_plus_the_products_within_clusters(
    rows: list[tuple[float, str]],
) -> None:
    y, labels = columns(rows)
    n, mean = len(y), math.fsum(y) / len(y)
    within = sum((a - mean) * (b - mean) for (a, g), (b, h) in permutations(rows, 2) if g == h)
    variance = float(np.var(y, ddof=1)) / n + within / n**2

    assert clustered_se(y, labels, "miller") == pytest.approx(math.sqrt(max(variance, 0.0)), abs=1e-6)


def test_clusters_of_one_give_the_ordinary_standard_error() -> None:
    y = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    ordinary = float(np.std(y, ddof=1)) / math.sqrt(7)

    assert clustered_se(y, range(7)) == pytest.approx(ordinary, rel=1e-12)
    assert clustered_se(y, range(7), "miller") == pytest.approx(ordinary, rel=1e-12)
    assert clustered_se(y, range(7), "CR0") == pytest.approx(ordinary * math.sqrt(6 / 7), rel=1e-12)


def test_repeating_every_case_does_not_make_the_mean_surer() -> None:
    y = [1.0, 0.0, 0.0, 1.0, 1.0]

    assert clustered_se(y * 4, [*range(5)] * 4) == pytest.approx(clustered_se(y, range(5)), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(rows=ROWS, shuffler=st.randoms(use_true_random=False))
def test_the_error_ignores_order_and_missing_values_and_scales_with_the_values(
    kind: ErrorKind, rows: list[tuple[float, str]], shuffler: random.Random
) -> None:
    y, labels = columns(rows)
    mixed, mixed_labels = columns(shuffler.sample(rows, len(rows)))
    error = clustered_se(y, labels, kind)

    assert clustered_se([*mixed, None, math.nan], [*mixed_labels, "a", "z"], kind) == pytest.approx(
        error, abs=1e-7
    )
    assert clustered_se([3 - 2 * value for value in y], labels, kind) == pytest.approx(2 * error, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("y", "labels"), [([], []), ([1.0], "a"), ([1.0, 0.0, 0.5], "aaa"), ([1.0, None], "ab")]
)
def test_fewer_than_two_clusters_leave_it_undefined(kind: ErrorKind, y: list[float], labels: str) -> None:
    assert math.isnan(clustered_se(y, labels, kind))


def test_labels_of_any_kind_may_name_clusters() -> None:
    assert clustered_se([1, 0, 1], [("a", 1), 2, ("a", 1)]) == clustered_se([1, 0, 1], ["x", "y", "x"])


def test_labels_that_do_not_match_the_values_are_refused() -> None:
    with pytest.raises(ValueError, match="one cluster label per value"):
        clustered_se([1.0, 0.0], ["a"])


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="CR0, CR1 or miller"):
        clustered_se([1.0, 0.0], ["a", "b"], "CR2")  # type: ignore[arg-type]
