"""Statistics of verdicts: pure functions from counts and labels to numbers with their doubt."""

from evalq.stats.agreement import Kappa, cohen_kappa, kappa_matrix
from evalq.stats.comparison import (
    PairCounts,
    PairedDifference,
    benjamini_hochberg,
    cases_needed,
    holm,
    mcnemar_exact,
    mde_paired,
    paired_counts,
    tango,
)
from evalq.stats.intervals import Interval, beta_interval, bootstrap_ci, clopper_pearson, wilson
from evalq.stats.quantiles import latency_quantile
from evalq.stats.strata import StratumRate, macro_rate, pass_rate, per_stratum

__all__ = [
    "Interval",
    "Kappa",
    "PairCounts",
    "PairedDifference",
    "StratumRate",
    "benjamini_hochberg",
    "beta_interval",
    "bootstrap_ci",
    "cases_needed",
    "clopper_pearson",
    "cohen_kappa",
    "holm",
    "kappa_matrix",
    "latency_quantile",
    "macro_rate",
    "mcnemar_exact",
    "mde_paired",
    "paired_counts",
    "pass_rate",
    "per_stratum",
    "tango",
    "wilson",
]
