"""What several samples a case come to: pass@k and pass^k of a run."""

from collections import Counter
from collections.abc import Sequence

from evalq.results import PassK
from evalq.stats.intervals import wilson
from evalq.stats.passk import Estimator, pass_at_k, pass_hat_k, pass_hat_k_unbiased
from evalq.summary.rates import Tally

_EVERY_K_TO = 10

_Value = tuple[float | None, tuple[float, float] | None]


def pass_ks(cases: Sequence[Tally], samples: int) -> tuple[PassK, ...]:
    """One entry for each k up to ten, and for all samples; none when there is one sample a case.

    Each is worked out per case and then averaged. A case with fewer than k graded samples is skipped.
    """
    if samples == 1:
        return ()
    ks = sorted({*range(1, min(samples, _EVERY_K_TO) + 1), samples})
    return tuple(_pass_k(Counter(cases), k) for k in ks)


def _pass_k(kinds: Counter[Tally], k: int) -> PassK:
    enough = Counter({kind: count for kind, count in kinds.items() if kind[0] >= k})
    at, at_ci = _mean(enough, k, pass_at_k)
    hat, hat_ci = _mean(enough, k, pass_hat_k)
    unbiased, unbiased_ci = _mean(enough, k, pass_hat_k_unbiased)
    skipped = kinds.total() - enough.total()
    return PassK(k, at, hat, unbiased, enough.total(), skipped, at_ci, hat_ci, unbiased_ci)


def _mean(kinds: Counter[Tally], k: int, estimator: Estimator) -> _Value:
    """The mean over cases, counted by kind, with Wilson's interval at n cases.

    That is exact where a case is 0 or 1, as with k of k samples, and cautious between: a value that varies
    less than a verdict of the same mean is taken to vary as much.
    """
    n = kinds.total()
    if not n:
        return None, None
    mean = min(1.0, sum(estimator(*kind, k) * count for kind, count in kinds.items()) / n)
    low, high = wilson(mean * n, n)
    return round(mean, 4), (round(low, 4), round(high, 4))
