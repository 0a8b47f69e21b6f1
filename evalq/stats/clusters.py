"""How sure a mean is when its values come in groups, as the samples of one case do."""

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

ErrorKind = Literal["CR0", "CR1", "miller"]


def clustered_se(y: Sequence[float | None], cluster: Sequence[Hashable], kind: ErrorKind = "CR1") -> float:
    """Standard error of the mean of y whose values within a cluster are not independent.

    CR0 is the sandwich of Liang and Zeger 1986, doi.org/10.1093/biomet/73.1.13; CR1 widens it by G / (G - 1)
    for G clusters; `miller` is the form of Miller 2024, arXiv 2411.00640. Below 30 clusters, multiply by a
    quantile of t with G - 1 degrees of freedom, not of the normal.
    A missing value (None or NaN) is left out. NaN with fewer than two clusters, where residuals add to 0.
    """
    values, groups = _present(y, cluster)
    n_clusters = len(set(groups))
    if n_clusters < 2:
        return math.nan
    residuals = values - values.mean()
    sums = np.bincount(groups, weights=residuals)
    sandwich = float((sums**2).sum()) / len(values) ** 2
    return math.sqrt(_variance(sandwich, residuals, n_clusters, kind))


def _present(
    y: Sequence[float | None], cluster: Sequence[Hashable]
) -> tuple[npt.NDArray[np.float64], list[int]]:
    """The values that are there, and the number of each one's cluster."""
    if len(y) != len(cluster):
        raise ValueError(f"need one cluster label per value, got {len(cluster)} for {len(y)}")
    values = np.array(y, dtype=np.float64)
    is_present = ~np.isnan(values)
    numbers: dict[Hashable, int] = {}
    labels = (label for label, present in zip(cluster, is_present, strict=True) if present)
    return values[is_present], [numbers.setdefault(label, len(numbers)) for label in labels]


def _variance(sandwich: float, residuals: npt.NDArray[np.float64], n_clusters: int, kind: ErrorKind) -> float:
    n = len(residuals)
    match kind:
        case "CR0":
            return sandwich
        case "CR1":
            return sandwich * n_clusters / (n_clusters - 1)
        case "miller":
            # The usual variance divides by n - 1; the products across a cluster are the sandwich's own.
            return sandwich + float((residuals**2).sum()) / (n**2 * (n - 1))
        case _:
            raise ValueError(f"unknown kind {kind!r}; write CR0, CR1 or miller")
