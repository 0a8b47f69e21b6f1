"""The grader that asks people: how many of them, on which scale, and how far they must agree."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition, is_unset
from evalq.definitions.graders.grader import Grader

USUAL_REVIEWERS = 5
MAX_REVIEWERS = 100
MAX_STEPS = 100
MAX_ANSWERS = 26
"""The most answers that can be ranked: each has a letter."""

_PASSING_PART = 0.75
"""The point of a likert scale that passes by default: 4 on 1 to 5, 7.5 on 0 to 10."""

_WHICH_IS_BETTER = "Which answer is better?"
_WEEK_MINUTES = 7 * 24 * 60
_IN_EVALUATORS = ("min_required", "max_allowed", "agreement_threshold")


class Evaluators(Definition):
    """How many people rate an item, and how far they must agree before their rating counts."""

    min_required: int = Field(default=1, ge=1, le=MAX_REVIEWERS)
    max_allowed: int = Field(default=USUAL_REVIEWERS, ge=1, le=MAX_REVIEWERS)
    agreement_threshold: FiniteFloat = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="before")
    @classmethod
    def _allow_as_many_as_required(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or "max_allowed" in value:
            return value
        least = value.get("min_required")
        if not isinstance(least, int):
            return value
        return {**value, "max_allowed": min(max(USUAL_REVIEWERS, least), MAX_REVIEWERS)}

    @model_validator(mode="after")
    def _no_more_required_than_allowed(self) -> Self:
        if self.min_required > self.max_allowed:
            raise ValueError(
                f"min_required {self.min_required} is more than max_allowed {self.max_allowed}; "
                "raise max_allowed"
            )
        return self


def _with_text_keys(value: Any) -> Any:
    """Labels by number as text, since JSON has no other keys."""
    if not isinstance(value, Mapping):
        return value
    return {str(key): label for key, label in value.items()}


class LikertScale(Definition):
    """Whole numbers from low to high, one for the answer or one for each criterion."""

    type: Literal["likert"]
    range: list[int] = Field(default=[1, 5], min_length=2, max_length=2)
    labels: Annotated[dict[str, str], BeforeValidator(_with_text_keys)] = Field(
        default={}, exclude_if=is_unset
    )
    criteria: list[str] = Field(default=[], exclude_if=is_unset)
    pass_threshold: FiniteFloat | None = Field(default=None, exclude_if=is_unset)

    @model_validator(mode="after")
    def _check_scale(self) -> Self:
        low, high = self.range
        if not 0 < high - low <= MAX_STEPS:
            raise ValueError(f"range [{low}, {high}] is not a scale; write the low end first, such as [1, 5]")
        for key in self.labels:
            if key not in self.steps:
                raise ValueError(f"labels names {key!r}; label whole numbers from {low} to {high}")
        if not low <= self.passes_at <= high:
            raise ValueError(f"pass_threshold {self.passes_at:g} is off the scale; write {low} to {high}")
        names = [name.strip() for name in self.criteria]
        if not all(names) or len({name.casefold() for name in names}) < len(names):
            raise ValueError("criteria has an empty or repeated entry; give each words of its own")
        return self

    @property
    def low(self) -> int:
        """The lowest rating."""
        return self.range[0]

    @property
    def high(self) -> int:
        """The highest rating."""
        return self.range[1]

    @property
    def steps(self) -> list[str]:
        """Every possible rating, as text."""
        return [str(step) for step in range(self.low, self.high + 1)]

    @property
    def passes_at(self) -> float:
        """The mean rating that passes."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        return self.low + _PASSING_PART * (self.high - self.low)


class BinaryOption(Definition):
    """One of the two sides, in the words people see."""

    value: bool
    label: str = Field(min_length=1)
    description: str = ""


class BinaryScale(Definition):
    """Pass or fail."""

    type: Literal["binary"]
    options: list[BinaryOption] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _has_one_option_per_side(self) -> Self:
        if self.options and sorted(option.value for option in self.options) != [False, True]:
            raise ValueError("options needs one with value: true and one with value: false")
        if len({option.label.strip().casefold() for option in self.options}) != len(self.options):
            raise ValueError("options has one label twice; give each its own")
        return self

    def label(self, value: bool) -> str:
        """The word for a side."""
        for option in self.options:
            if option.value == value:
                return option.label
        return "Pass" if value else "Fail"


class RankingScale(Definition):
    """The answers of all judges to one case, best first; those up to `pass_rank` pass."""

    type: Literal["ranking"]
    description: str = "Rank the answers from best to worst."
    tie_allowed: bool = False
    min_items: int = Field(default=2, ge=2, le=MAX_ANSWERS)
    max_items: int = Field(default=MAX_ANSWERS, ge=2, le=MAX_ANSWERS)
    pass_rank: int = Field(default=1, ge=1, le=MAX_ANSWERS)

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.min_items > self.max_items:
            raise ValueError(f"min_items {self.min_items} is more than max_items {self.max_items}; swap them")
        if self.pass_rank >= self.max_items:
            raise ValueError(
                f"pass_rank {self.pass_rank} of {self.max_items} items passes every answer; write a lower one"
            )
        return self


RatingScale = Annotated[LikertScale | BinaryScale | RankingScale, Field(discriminator="type")]


class Human(Grader):
    """People rate the answer; until enough of them agree, the case waits while the run goes on."""

    type: Literal["human"]
    interface: Literal["web", "cli", "api"] | None = Field(default=None, exclude_if=is_unset)
    evaluators: Evaluators = Evaluators()
    rating_scale: RatingScale = BinaryScale(type="binary")
    rubric: str = ""
    time_limit_minutes: FiniteFloat = Field(default=30, gt=0, le=_WEEK_MINUTES)
    blind_evaluation: bool = True

    @model_validator(mode="before")
    @classmethod
    def _accept_other_layouts(cls, value: Any) -> Any:
        """The keys of `config:` and `evaluators:` may be beside `type:`, and the scale a bare word."""
        if not isinstance(value, Mapping):
            return value
        written = dict(value)
        if isinstance(written.get("config"), Mapping):
            written = _join(written, written.pop("config"), "config")
        flat = {name: written.pop(name) for name in _IN_EVALUATORS if name in written}
        inside = written.get("evaluators", {})
        if flat and isinstance(inside, Mapping):
            written["evaluators"] = _join(flat, inside, "evaluators")
        if isinstance(written.get("rating_scale"), str):
            written["rating_scale"] = {"type": written["rating_scale"]}
        if "rating_scale" in written:
            written["rating_scale"] = _read_pairwise(written["rating_scale"])
        return written


def _read_pairwise(scale: Any) -> Any:
    """`pairwise` is a ranking of two answers that may tie."""
    if not isinstance(scale, Mapping) or scale.get("type") != "pairwise":
        return scale
    pair = {"min_items": 2, "max_items": 2, "tie_allowed": True, "description": _WHICH_IS_BETTER}
    return {**pair, **scale, "type": "ranking"}


def _join(outer: Mapping[str, Any], inner: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Merge both; refuse a key that is in both, since one of the two would be ignored."""
    for key in sorted(outer.keys() & inner.keys()):
        raise ValueError(f"{key} is written beside {name} and in it; keep one of them")
    return {**outer, **inner}
