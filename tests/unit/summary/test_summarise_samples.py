"""pass@k and pass^k: per case, then the mean; cases with too few samples are skipped and counted."""

import pytest

from evalq.stats.passk import suite_pass_at_k
from evalq.stats.score_interval import wilson
from evalq.summary.summarise import pass_ks


def test_one_sample_a_case_has_no_pass_k() -> None:
    assert pass_ks([(1, 1), (1, 0)], samples=1) == ()


def test_the_suite_of_the_reference_is_averaged_over_cases_and_never_pooled() -> None:
    found = pass_ks([(8, 8), (8, 4), (8, 0), (8, 7)], samples=8)[3]
    assert found.k == 4
    assert found.pass_hat_k_unbiased == pytest.approx(0.378571, abs=5e-5)
    assert found.pass_hat_k == pytest.approx(0.412170, abs=5e-5)
    assert found.pass_at_k == pytest.approx(suite_pass_at_k([(8, 8), (8, 4), (8, 0), (8, 7)], 4), abs=5e-5)


def test_cases_with_fewer_samples_than_k_are_skipped_and_counted() -> None:
    one, two, three = pass_ks([(3, 3), (2, 1), (0, 0)], samples=3)
    assert [(entry.n_cases, entry.skipped) for entry in (one, two, three)] == [(2, 1), (2, 1), (1, 2)]
    assert (two.pass_at_k, two.pass_hat_k_unbiased) == (1.0, 0.5)


def test_every_k_to_ten_and_all_samples_are_reported() -> None:
    assert [entry.k for entry in pass_ks([(25, 5)], samples=25)] == [*range(1, 11), 25]


def test_a_pass_k_has_an_interval_over_cases() -> None:
    last = pass_ks([(2, 2)] * 6 + [(2, 0)] * 4, samples=2)[-1]
    ends = tuple(round(end, 4) for end in wilson(6, 10))
    assert (last.pass_at_k_ci, last.pass_hat_k_ci, last.pass_hat_k_unbiased_ci) == (ends, ends, ends)
    assert last.ci_method == "wilson_by_case"


def test_nothing_graded_leaves_no_pass_k() -> None:
    first = pass_ks([(0, 0)], samples=2)[0]
    assert (first.pass_at_k, first.pass_hat_k, first.pass_at_k_ci, first.skipped) == (None, None, None, 1)
