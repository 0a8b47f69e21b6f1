"""From the judges' decisions to rates, confusion and collisions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalq.stats import wilson
from evalq.triggers.questions import Ask
from evalq.triggers.result import Collision, CollisionKind, Confusion, QueryRate, Share


@dataclass(frozen=True)
class Decided:
    """What one judge said to one question, run after run; None for an answer that cannot be read."""

    ask: Ask
    judge: str
    said: tuple[str | None, ...]

    @property
    def readable(self) -> list[str]:
        """The decisions among the answers."""
        return [word for word in self.said if word is not None]


def share(k: int, n: int) -> Share:
    """k of n with Wilson's interval."""
    if not n:
        return Share(0, 0, None, None, None)
    low, high = wilson(k, n)
    return Share(k, n, k / n, low, high)


def query_rates(decided: Iterable[Decided], threshold: float) -> list[QueryRate]:
    """The rates of the requests that the skills' own lists speak of."""
    return [_rate(one, threshold) for one in decided if one.ask.is_own and one.ask.skill is not None]


def _rate(one: Decided, threshold: float) -> QueryRate:
    assert one.ask.skill is not None
    found = share(one.readable.count("YES"), len(one.readable))
    triggers = None if found.rate is None else found.rate >= threshold
    should = one.ask.should_trigger
    return QueryRate(
        one.ask.skill,
        one.ask.query,
        should,
        one.judge,
        found,
        errors=len(one.said) - len(one.readable),
        passed=None if triggers is None else triggers == should,
    )


def confusions(rates: Sequence[QueryRate]) -> list[Confusion]:
    """Each judge over all skills, then for each of several.

    Counted by request, not by answer: runs of one request are no independent evidence on the others.
    """
    judges = dict.fromkeys(rate.judge for rate in rates)
    skills = dict.fromkeys(rate.skill for rate in rates)
    groups: list[str | None] = [None, *(skills if len(skills) > 1 else ())]
    return [_confusion(rates, judge, skill) for skill in groups for judge in judges]


def _confusion(rates: Sequence[QueryRate], judge: str, skill: str | None) -> Confusion:
    mine = [one for one in rates if one.judge == judge and skill in (None, one.skill)]
    counts = Counter((one.should_trigger, one.passed) for one in mine if one.passed is not None)
    tp, fn = counts[True, True], counts[True, False]
    tn, fp = counts[False, True], counts[False, False]
    return Confusion(
        judge,
        skill,
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        precision=share(tp, tp + fp),
        recall=share(tp, tp + fn),
        accuracy=share(tp + tn, tp + tn + fp + fn),
    )


def collisions(decided: Sequence[Decided], threshold: float) -> list[Collision]:
    """Requests that several skills claim, or that go to another skill than they should."""
    claims = _claims(decided, threshold)
    found = (
        _collision(one, claims.get((one.judge, one.ask.query), ()))
        for one in decided
        if one.ask.skill is None
    )
    return [one for one in found if one is not None]


def _claims(decided: Iterable[Decided], threshold: float) -> Mapping[tuple[str, str], tuple[str, ...]]:
    claims: dict[tuple[str, str], tuple[str, ...]] = {}
    for one in decided:
        rate = share(one.readable.count("YES"), len(one.readable)).rate
        if one.ask.skill is not None and rate is not None and rate >= threshold:
            key = (one.judge, one.ask.query)
            claims[key] = (*claims.get(key, ()), one.ask.skill)
    return claims


def _collision(one: Decided, claimed_by: tuple[str, ...]) -> Collision | None:
    """The pick most often made counts; of picks made equally often, one that is right."""
    picked = Counter(one.readable)
    most = max(picked.values(), default=0)
    goes_right = not picked or any(picked[name] == most for name in one.ask.right)
    if goes_right and len(claimed_by) < 2:
        return None
    kind: CollisionKind = "claimed twice" if goes_right else "goes elsewhere"
    return Collision(one.ask.query, one.judge, kind, one.ask.right, claimed_by, dict(picked.most_common()))
