"""The package's promise as a whole: its names, their documentation, and no hidden source of chance."""

import inspect
import re

import numpy as np
import pytest

from evalq import stats

PROMISED = {
    *("wilson", "clopper_pearson", "beta_interval", "bootstrap_ci", "bca_ci"),
    *("cohen_kappa", "kappa_matrix", "fleiss_kappa", "krippendorff_alpha"),
    *("pass_at_k", "pass_hat_k", "pass_hat_k_unbiased", "suite_pass_at_k"),
    *("mcnemar_exact", "tango", "holm", "benjamini_hochberg", "clustered_se", "mde_paired", "cases_needed"),
    *("ppi_mean", "rogan_gladen", "poststratified"),
    *("drift_seed_rule", "drift_exact_paired", "confirm_test", "e_detector"),
    *("sign_evalue", "bernoulli_cs", "hit_at_k", "mrr"),
}
HOUSE_RULES = {"pass_hat_k", "drift_seed_rule"}  # defined by the documents the product is made from
REFERENCE = re.compile(r"doi\.org/10\.|arXiv \d{4}\.\d{5}|jstor\.org|upenn\.edu|TREC|\b(1979|1998)\b")


def test_every_promised_name_is_exported() -> None:
    assert set(stats.__all__) >= PROMISED
    assert all(callable(getattr(stats, name)) for name in stats.__all__)


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_every_function_says_what_it_promises_and_where_it_comes_from(name: str) -> None:
    doc = inspect.getdoc(getattr(stats, name)) or ""
    promise, _, rest = doc.partition("\n\n")

    assert "\n" not in promise
    assert rest
    assert name in HOUSE_RULES or REFERENCE.search(doc)


def test_chance_comes_only_from_the_generator_given() -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()
    stats.bootstrap_ci([True, False] * 10)
    stats.bca_ci([1.0, 2.0, 3.0])
    stats.drift_exact_paired([3, 4], [True, False], rng=np.random.default_rng(0))

    assert np.random.get_state()[1].tolist() == before
