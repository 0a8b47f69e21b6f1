"""The parts all graders share: weight, name, texts to compare with, and score scales."""

from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeGuard

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    FiniteFloat,
    StringConstraints,
    model_validator,
)

from evalq.definitions.definition import NAME_PATTERN, Definition, is_unset, split_remedy

Misfit = tuple[str, str]
"""What a grader needs and a case does not have, and the remedy."""

Text = Annotated[str, StringConstraints(min_length=1)]
"""Never empty: an empty text occurs in every answer."""

_USUAL_RANGE = [1, 5]
_WIDEST = 1_000_000


class Grader(Definition):
    """A grader's part in the outcome: its weight in the score, and whether the case fails without it.

    `negate` reverses its mark: passed becomes failed, a score s becomes 1 - s; an error stays an error.
    `name` tells several of one type apart; without names they are numbered.
    """

    name: str | None = Field(default=None, pattern=NAME_PATTERN, exclude_if=is_unset)
    weight: FiniteFloat = Field(default=1.0, ge=0)
    required: bool = True
    negate: bool = Field(default=False, exclude_if=is_unset)

    @property
    def label(self) -> str:
        """The name of its grades: its own name, or its type."""
        return self.name or str(self.type)  # type: ignore[attr-defined]

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """What it needs of a case's `expected` and does not find there; None when nothing is missing."""
        del expected
        return None


def misfit_of(error: ValueError, place: str) -> Misfit:
    """The misfit for an error in a value at a place of the case."""
    message, remedy = split_remedy(str(error))
    return f"{place}: {message}", remedy


def missing_parameter(grader: Grader, parameter: str, key: str, kind: str) -> Misfit:
    """The misfit for a parameter that neither the grader nor the case's `expected` has."""
    name = key.partition(":")[0]
    message = f"grader {grader.label!r} has no {parameter}, and the case no expected.{name}, {kind}"
    return message, f"add {parameter}: to the grader, or expected: {{{key}}} to the case"


def _to_list(value: Any) -> Any:
    """A single text means a list of one."""
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[Text], BeforeValidator(_to_list)]


def is_text(value: object) -> bool:
    """True for a text that is not blank: a blank one would occur in every answer."""
    return isinstance(value, str) and bool(value.strip())


def is_texts(value: object) -> TypeGuard[list[str]]:
    """True for a list of at least one such text."""
    return isinstance(value, list) and bool(value) and all(is_text(entry) for entry in value)


def answers_in(expected: Mapping[str, Any]) -> list[Any]:
    """`answer` and its `alternatives`, of any type; nothing without an answer."""
    if "answer" not in expected:
        return []
    others = expected.get("alternatives", [])
    if not isinstance(others, list):
        others = [others]
    return [expected["answer"], *others]


class TextGrader(Grader):
    """Compares with `value` or one of `alternatives`; without a value, with the case's own."""

    value: str | None = Field(default=None, min_length=1, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The texts of which one is enough; empty when neither grader nor case has any."""
        if self.value is not None:
            return [self.value, *self.alternatives]
        texts = answers_in(expected)
        return [*texts, *self.alternatives] if is_texts(texts) else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a text to compare with."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "value", 'answer: "…"', "a text")


def _check_range(ends: list[int]) -> list[int]:
    if ends[0] >= ends[1] or max(map(abs, ends)) > _WIDEST:
        raise ValueError("not a range; write the lowest and the highest score, such as [1, 5]")
    return ends


class Scale(Definition):
    """Scores from the first to the second number of `range`, both included."""

    range: Annotated[list[int], Field(min_length=2, max_length=2), AfterValidator(_check_range)] = (
        _USUAL_RANGE
    )
    pass_threshold: FiniteFloat = Field(
        default=4.0, validation_alias=AliasChoices("pass_threshold", "threshold")
    )

    @model_validator(mode="after")
    def _the_threshold_is_on_the_scale(self) -> Self:
        if self.range != _USUAL_RANGE and "pass_threshold" not in self.model_fields_set:
            raise ValueError(f"pass_threshold is missing; say what passes on a range of {self.range}")
        if not self.low <= self.pass_threshold <= self.high:
            raise ValueError(
                f"pass_threshold {self.pass_threshold:g} is outside the range; "
                f"write a number from {self.low} to {self.high}"
            )
        return self

    @property
    def low(self) -> int:
        """The lowest score."""
        return self.range[0]

    @property
    def high(self) -> int:
        """The highest score."""
        return self.range[1]

    def share(self, score: float) -> float:
        """The score's position on the scale: 0 at the lowest, 1 at the highest."""
        return (score - self.low) / (self.high - self.low)

    def passes(self, score: float) -> bool:
        """True when a score, or a mean of scores, reaches the threshold; rounding errors do not count."""
        return round(score, 9) >= self.pass_threshold

    def refuse_off_scale(self, score: int, place: str) -> None:
        """Refuse the score of an example or a level that the grader could not give."""
        if not self.low <= score <= self.high:
            raise ValueError(
                f"{place} is {score}, which is outside the range; write a whole number "
                f"from {self.low} to {self.high}"
            )
