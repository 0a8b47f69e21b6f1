"""Pass rates corrected by what is known besides: human labels, a grader's errors, the mix of cases."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Z95 = NormalDist().inv_cdf(0.975)


class PpiMean(NamedTuple):
    """A mean with its interval, and how far (0 to 1) the grader was relied on; all NaN when undefined."""

    estimate: float
    low: float
    high: float
    lam: float


class CorrectedRate(NamedTuple):
    """A pass rate freed of the grader's errors, its standard error and its 95 % interval."""

    estimate: float
    se: float
    low: float
    high: float


class WeightedRate(NamedTuple):
    """A pass rate over strata as they occur elsewhere, and its standard error."""

    estimate: float
    se: float


def ppi_mean(
    y: Sequence[float],
    yhat: Sequence[float],
    yhat_unlabelled: Sequence[float],
    lam: float | None = None,
    alpha: float = 0.05,
) -> PpiMean:
    """The mean of human labels y, sharpened by a grader's marks: PPI++, arXiv 2311.01453.

    `yhat` are the grader's marks of the labelled cases, `yhat_unlabelled` of the others, which must come from
    the same population. `lam` 0 ignores the grader, 1 relies on it as plain PPI does (arXiv 2301.09633), None
    finds the weight with the least variance. All NaN with fewer than two cases of either kind and for NaN
    input; the interval too where nothing varies, which says nothing of how far other cases might.
    ValueError unless every label has its mark.
    """
    if len(y) != len(yhat):
        raise ValueError(f"need one mark per label, got {len(yhat)} for {len(y)}")
    if min(len(y), len(yhat_unlabelled)) < 2:
        return PpiMean(math.nan, math.nan, math.nan, math.nan)
    labels, marks, others = (np.array(v, dtype=np.float64) for v in (y, yhat, yhat_unlabelled))
    weight = _best_weight(labels, marks, others) if lam is None else float(lam)
    errors = labels - weight * marks
    estimate = float(weight * others.mean() + errors.mean())
    variance = weight**2 * float(others.var()) / len(others) + float(errors.var()) / len(errors)
    margin = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(variance) if variance else math.nan
    return PpiMean(estimate, estimate - margin, estimate + margin, weight)


def rogan_gladen(p: float, q0: float, q1: float, n: int, m0: int, m1: int) -> CorrectedRate | None:
    """The true pass rate behind a grader's rate p over n cases, given how often the grader is right.

    Rogan and Gladen 1978, doi.org/10.1093/oxfordjournals.aje.a112510, with their delta-method error; the
    interval is that of Lee 2025, arXiv 2511.21140, which does not collapse when nothing was ever missed.
    q0 is the specificity over m0 cases that people failed, q1 the sensitivity over m1 that people passed.
    Estimate and interval are clipped to [0, 1]. None when q0 + q1 <= 1, since such a grader is no better than
    chance, when the few calibration cases cannot tell it from one, and when n, m0 or m1 is 0.
    """
    if not all(0 <= rate <= 1 for rate in (p, q0, q1)) or min(n, m0, m1) < 0:
        raise ValueError(f"need rates in [0, 1] and counts >= 0, got {(p, q0, q1)} and {(n, m0, m1)}")
    z2 = _Z95**2
    adjusted = ((n * p + z2 / 2) / (n + z2), (m0 * q0 + 1) / (m0 + 2), (m1 * q1 + 1) / (m1 + 2))
    if q0 + q1 <= 1 or min(n, m0, m1) == 0 or adjusted[1] + adjusted[2] <= 1:
        return None
    truth, _, error = _corrected((p, q0, q1), (n, m0, m1))
    centre, shift, spread = _corrected(adjusted, (n + z2, m0 + 2, m1 + 2))
    ends = (centre + z2 * shift - _Z95 * spread, centre + z2 * shift + _Z95 * spread)
    return CorrectedRate(_clipped(truth), error, *map(_clipped, ends))


def poststratified(k: Sequence[int], n: Sequence[int], weights: Sequence[float]) -> WeightedRate:
    """The pass rate if strata occurred as `weights` say: Holt and Smith 1979, doi.org/10.2307/2344652.

    k passes in n cases of each stratum; weights need not sum to one, and a stratum of weight 0 is left out.
    The error is 0 where every stratum is unanimous, and NaN where one has a single case; both are NaN where a
    stratum has none, or no stratum has a weight. ValueError unless 0 <= k <= n and weights >= 0.
    """
    strata = list(zip(k, n, weights, strict=True))
    if not all(0 <= passes <= size and weight >= 0 for passes, size, weight in strata):
        raise ValueError("need 0 <= k <= n and a weight of at least 0 in every stratum")
    weighing = [stratum for stratum in strata if stratum[2]]
    if not weighing or not all(size for _, size, _ in weighing):
        return WeightedRate(math.nan, math.nan)
    passes, sizes, shares = np.array(weighing, dtype=np.float64).T
    shares, rates = shares / shares.sum(), passes / sizes
    if (sizes < 2).any():
        return WeightedRate(float(shares @ rates), math.nan)
    variance = float(shares**2 @ (rates * (1 - rates) / (sizes - 1)))
    return WeightedRate(float(shares @ rates), math.sqrt(variance))


def _best_weight(labels: _Floats, marks: _Floats, others: _Floats) -> float:
    """The weight of least variance, in [0, 1]; a grader whose marks never vary is not relied on."""
    spread = float(np.concatenate([marks, others]).var(ddof=1))
    if spread == 0:
        return 0.0
    shared = float(np.cov(labels, marks, ddof=0)[0, 1])
    return float(np.clip(shared / ((1 + len(labels) / len(others)) * spread), 0, 1))


def _corrected(rates: Sequence[float], counts: Sequence[float]) -> tuple[float, float, float]:
    """The true rate, how far its curvature shifts it (per z²), and its standard error: the delta method."""
    p, q0, q1 = rates
    noise, noise0, noise1 = (rate * (1 - rate) / count for rate, count in zip(rates, counts, strict=True))
    better_than_chance = q0 + q1 - 1
    truth = (p + q0 - 1) / better_than_chance
    error = math.sqrt(noise + (1 - truth) ** 2 * noise0 + truth**2 * noise1) / better_than_chance
    return truth, 2 * (truth * noise1 - (1 - truth) * noise0), error


def _clipped(rate: float) -> float:
    return min(1.0, max(0.0, rate))
