"""A panel of grader models: each has its say, then one mark, with how far they agree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from evalq.definitions.graders.model_grader import Panel
from evalq.errors import UngradableAnswer
from evalq.grading.subject import Mark

DEFAULT = "default"
"""What the bake-off's own grader model is called where others have names."""


@dataclass(frozen=True)
class Opinion:
    """One grader model's mark: passed or not, a score from 0 to 1, what it said in one word, and why.

    `in_full` is what it said where there is room for it.
    """

    passed: bool
    score: float
    said: str
    reason: str = ""
    in_full: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """A grader model of the panel, with its opinion or why it has none."""

    model: str | None
    opinion: Opinion | None
    error: str = ""

    @property
    def name(self) -> str:
        """The model's name in the task."""
        return self.model or DEFAULT

    def to_dict(self) -> dict[str, Any]:
        """As details have it."""
        if self.opinion is None:
            return {"model": self.name, "error": self.error}
        one = self.opinion
        known = {"model": self.name, "passed": one.passed, "score": one.score, "said": one.said}
        return {**known, "reason": one.reason, **one.details}


def hear(models: Sequence[str | None], ask: Callable[[str | None], Opinion]) -> list[Member]:
    """Every model's opinion; one that cannot be had is an error of that member alone."""
    members = []
    for model in models:
        try:
            members.append(Member(model, ask(model)))
        except UngradableAnswer as exc:
            members.append(Member(model, None, str(exc)))
    return members


def decide(members: Sequence[Member], panel: Panel, passes: Callable[[float], bool] | None) -> Mark:
    """The mark of a grader model, or of a panel.

    `passes` says of a mean score whether it suffices; None for graders that know yes and no only, whose
    votes can be tied for good. A panel of which no majority answered decides nothing.
    """
    opinions = [member.opinion for member in members if member.opinion is not None]
    if len(members) == 1 and opinions:
        [one] = opinions
        said = one.in_full or one.said
        reason = f"{said}: {one.reason}" if one.reason else said
        return Mark(one.passed, one.score, reason, {"members": [members[0].to_dict()]})
    if 2 * len(opinions) <= len(members):
        raise UngradableAnswer("; ".join(_in_words(member) for member in members if member.error))
    score = sum(one.score for one in opinions) / len(opinions)
    passed = _passed(opinions, score, panel, passes)
    details = {"members": [member.to_dict() for member in members], "agreement": agreement(opinions)}
    return Mark(passed, score, _panel_reason(members, opinions, score, panel), details)


def agreement(opinions: Sequence[Opinion]) -> float | None:
    """The share of pairs that agree on passed or not; None without a pair."""
    pairs = [a.passed == b.passed for a, b in combinations(opinions, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _passed(
    opinions: Sequence[Opinion], score: float, panel: Panel, passes: Callable[[float], bool] | None
) -> bool:
    ayes = sum(one.passed for one in opinions)
    is_tied = 2 * ayes == len(opinions)
    if passes is not None and (panel == "mean" or is_tied):
        return passes(score)
    if is_tied:
        raise UngradableAnswer(f"the panel is evenly split: {ayes} of {len(opinions)} pass")
    return 2 * ayes > len(opinions)


def _panel_reason(members: Sequence[Member], opinions: Sequence[Opinion], score: float, panel: Panel) -> str:
    each = ", ".join(_in_words(member) for member in members)
    ayes = sum(one.passed for one in opinions)
    mean = f"mean score {score:.2f}, " if panel == "mean" else ""
    return f"{mean}{ayes} of {len(opinions)} pass ({each})"


def _in_words(member: Member) -> str:
    if member.opinion is None:
        return f"{member.name}: {member.error}"
    return f"{member.name} {member.opinion.said}"
