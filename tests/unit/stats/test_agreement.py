"""Kappa and AC1 against published tables, scikit-learn and statsmodels, and at the degenerate edges."""

import dataclasses
import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from evalq.stats.agreement import Kappa, Weights, cohen_kappa, kappa_matrix

quick = settings(deadline=None, max_examples=40)
VERDICT_PAIRS = st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), max_size=30)
SCORE_PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


def raters(cells: dict[tuple[int, int], int]) -> tuple[list[int], list[int]]:
    pairs = [pair for pair, count in cells.items() for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def same(x: Kappa, y: Kappa) -> bool:
    pairs = zip(dataclasses.astuple(x), dataclasses.astuple(y), strict=True)
    return all(p == q or p == pytest.approx(q, abs=1e-12, nan_ok=True) for p, q in pairs)


def test_the_textbook_table_has_kappa_two_fifths() -> None:
    found = cohen_kappa(*raters({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}))

    assert (found.kappa, found.raw, found.n) == (pytest.approx(0.4), found.kappa, 50)
    assert not found.degenerate


def test_ac1_stays_high_where_kappa_is_paradoxically_negative() -> None:
    found = cohen_kappa(*raters({(1, 1): 118, (1, 0): 5, (0, 1): 2}))

    assert found.kappa == pytest.approx(-0.023392, abs=5e-7)
    assert found.ac1 == pytest.approx(0.940776, abs=5e-7)


def test_pass_rates_of_4_and_25_in_30_cannot_disagree_further_than_minus_three_tenths() -> None:
    found = cohen_kappa(*raters({(1, 0): 4, (0, 1): 25, (0, 0): 1}))

    assert found.kappa == pytest.approx(-20 / 67)


def test_ac1_of_three_labels_and_its_weighted_form_match_a_calculation_by_hand() -> None:
    a, b = raters({(1, 1): 2, (2, 2): 1, (2, 3): 1, (3, 3): 1})

    assert cohen_kappa(a, b).ac1 == pytest.approx((0.8 - 0.33) / 0.67)
    assert cohen_kappa(a, b, "linear").ac1 == pytest.approx((0.9 - 0.55) / 0.45)


@quick
@given(SCORE_PAIRS, st.sampled_from([None, "linear", "quadratic"]))
def test_kappa_agrees_with_scikit_learn_and_its_interval_with_statsmodels(
    pairs: list[tuple[int, int]], weights: Weights | None
) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = cohen_kappa(a, b, weights)
    if found.degenerate:
        return
    table = np.zeros((5, 5))
    np.add.at(table, (np.array(a) - 1, np.array(b) - 1), 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # the oracle's other statistics, not compared here
        oracle = cohens_kappa(table, wt=weights)
    error = math.sqrt(max(oracle.var_kappa, 0.0))

    assert found.kappa == pytest.approx(
        cohen_kappa_score(a, b, labels=range(1, 6), weights=weights), abs=1e-9
    )
    assert found.ci_low == pytest.approx(max(-1, found.kappa - 1.959963984540054 * error), abs=1e-6)
    assert found.ci_high == pytest.approx(min(1, found.kappa + 1.959963984540054 * error), abs=1e-6)


def test_weights_go_by_distance_even_over_labels_nobody_used() -> None:
    a, b = [1, 1, 2, 5, 5, 2], [1, 2, 2, 5, 1, 5]

    with_all = cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic")

    assert cohen_kappa(a, b, "quadratic").kappa == pytest.approx(with_all)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("label", [True, False, 4])
def test_two_constant_raters_who_agree_show_one_but_are_marked(label: int, weights: Weights | None) -> None:
    found = cohen_kappa([label] * 99, [label] * 99, weights)

    assert (found.kappa, found.raw, found.degenerate, found.ac1, found.n) == (1.0, None, True, 1.0, 99)
    assert math.isnan(found.ci_low)
    assert math.isnan(found.ci_high)


def test_two_constant_raters_who_disagree_have_kappa_zero_and_are_marked() -> None:
    found = cohen_kappa([True] * 9, [False] * 9)

    assert (found.kappa, found.raw, found.degenerate, found.ac1) == (0.0, 0.0, True, -1.0)


def test_one_constant_rater_has_kappa_zero_and_is_marked() -> None:
    found = cohen_kappa([True, True, True, True], [True, True, False, True])

    assert (found.kappa, found.raw, found.degenerate) == (0.0, 0.0, True)
    assert math.isnan(found.ci_low)


@pytest.mark.parametrize("weights", [None, "linear"])
@pytest.mark.parametrize(("a", "b"), [([], []), ([True, None], [None, False])])
def test_without_a_shared_case_nothing_is_defined(
    a: list[bool | None], b: list[bool | None], weights: Weights | None
) -> None:
    found = cohen_kappa(a, b, weights)

    assert (found.raw, found.degenerate, found.n) == (None, True, 0)
    assert all(math.isnan(value) for value in (found.kappa, found.ac1, found.ci_low, found.ci_high))


def test_perfect_agreement_of_varying_raters_is_exactly_one_and_not_degenerate() -> None:
    found = cohen_kappa([1, 2, 3, 1], [1, 2, 3, 1], "quadratic")

    assert found == Kappa(1.0, 1.0, False, 1.0, 4, 1.0, 1.0)


def test_missing_labels_are_left_out() -> None:
    sparse = cohen_kappa([1, None, 0, 1, 0], [1, 1, None, 0, 0])

    assert same(sparse, cohen_kappa([1, 1, 0], [1, 0, 0]))


def test_raters_of_different_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="same cases"):
        cohen_kappa([1, 0], [1])


@quick
@given(VERDICT_PAIRS, st.randoms(use_true_random=False))
def test_kappa_is_symmetric_bounded_and_blind_to_order(
    pairs: list[tuple[bool | None, bool | None]], shuffler: random.Random
) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = cohen_kappa(a, b)
    shuffled = shuffler.sample(pairs, len(pairs))

    assert same(found, cohen_kappa(b, a))
    assert same(found, cohen_kappa([x for x, _ in shuffled], [y for _, y in shuffled]))
    assert found.n == 0 or -1 <= found.kappa <= 1
    assert found.degenerate or -1 <= found.ci_low <= found.kappa <= found.ci_high <= 1


@quick
@given(VERDICT_PAIRS)
def test_the_matrix_gives_every_pair_the_number_of_the_pair_alone(
    pairs: list[tuple[bool | None, bool | None]],
) -> None:
    vectors = {"one": [x for x, _ in pairs], "two": [y for _, y in pairs], "three": [True for _ in pairs]}

    matrix = kappa_matrix(vectors)

    assert list(matrix) == [("one", "two"), ("one", "three"), ("two", "three")]
    assert all(same(found, cohen_kappa(vectors[a], vectors[b])) for (a, b), found in matrix.items())


def test_a_matrix_of_many_judges_and_cases_agrees_with_scikit_learn() -> None:
    verdicts = np.random.default_rng(3).random((12, 5000)) < np.linspace(0.1, 0.9, 12)[:, np.newaxis]
    vectors = {f"judge-{i}": row.tolist() for i, row in enumerate(verdicts)}

    matrix = kappa_matrix(vectors)

    assert len(matrix) == 66
    assert matrix["judge-2", "judge-7"].kappa == pytest.approx(
        cohen_kappa_score(verdicts[2], verdicts[7]), abs=1e-12
    )
    assert matrix["judge-0", "judge-11"].kappa == pytest.approx(
        cohen_kappa_score(verdicts[0], verdicts[11]), abs=1e-12
    )


@pytest.mark.parametrize("vectors", [{}, {"alone": [True, False]}])
def test_fewer_than_two_judges_have_no_pairs(vectors: dict[str, list[bool | None]]) -> None:
    assert kappa_matrix(vectors) == {}


def test_importing_the_package_loads_neither_scikit_learn_nor_scipy() -> None:
    check = "import sys, evalq.stats; print({'sklearn', 'scipy'} & set(sys.modules))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    shown = subprocess.run(
        [sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True
    )

    assert shown.stdout.strip() == "set()"
