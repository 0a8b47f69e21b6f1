"""Statistics of verdicts: pure functions from counts and labels to numbers with intervals.

The exported names are public API: some of them no command uses, and they stay for users of the library.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalq.stats.agreement import Kappa, cohen_kappa, fleiss_kappa, kappa_matrix, krippendorff_alpha
    from evalq.stats.calibration import (
        CorrectedRate,
        PpiMean,
        WeightedRate,
        poststratified,
        ppi_mean,
        rogan_gladen,
    )
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
    from evalq.stats.drift import (
        DriftEvidence,
        bernoulli_cs,
        confirm_test,
        drift_exact_paired,
        drift_seed_rule,
        e_detector,
        sign_evalue,
    )
    from evalq.stats.intervals import (
        bca_ci,
        beta_interval,
        bootstrap_ci,
        clopper_pearson,
        clustered_se,
        latency_quantile,
        mean_ci,
    )
    from evalq.stats.passk import (
        StratumRate,
        SuiteMean,
        macro_rate,
        pass_at_k,
        pass_hat_k,
        pass_hat_k_unbiased,
        pass_rate,
        per_stratum,
        suite_mean,
        suite_pass_at_k,
    )
    from evalq.stats.ranking import hit_at_k, mrr
    from evalq.stats.score_interval import Interval, wilson

__all__ = [
    "CorrectedRate",
    "DriftEvidence",
    "Interval",
    "Kappa",
    "PairCounts",
    "PairedDifference",
    "PpiMean",
    "StratumRate",
    "SuiteMean",
    "WeightedRate",
    "bca_ci",
    "benjamini_hochberg",
    "bernoulli_cs",
    "beta_interval",
    "bootstrap_ci",
    "cases_needed",
    "clopper_pearson",
    "clustered_se",
    "cohen_kappa",
    "confirm_test",
    "drift_exact_paired",
    "drift_seed_rule",
    "e_detector",
    "fleiss_kappa",
    "hit_at_k",
    "holm",
    "kappa_matrix",
    "krippendorff_alpha",
    "latency_quantile",
    "macro_rate",
    "mcnemar_exact",
    "mde_paired",
    "mean_ci",
    "mrr",
    "paired_counts",
    "pass_at_k",
    "pass_hat_k",
    "pass_hat_k_unbiased",
    "pass_rate",
    "per_stratum",
    "poststratified",
    "ppi_mean",
    "rogan_gladen",
    "sign_evalue",
    "suite_mean",
    "suite_pass_at_k",
    "tango",
    "wilson",
]


def __getattr__(name: str) -> Any:
    """Found in its module when first used: most need numpy, which takes longer to load than the rest."""
    if name in __all__:
        for module in iter_modules(__path__):
            found = vars(import_module(f"{__name__}.{module.name}")).get(name)
            if found is not None and found.__module__ == f"{__name__}.{module.name}":
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
