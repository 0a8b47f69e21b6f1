"""A scale of whole numbers, and the score on it that passes."""

from typing import Annotated, Self

from pydantic import AfterValidator, AliasChoices, Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition

_USUAL = [1, 5]
_WIDEST = 1_000_000


def _is_range(ends: list[int]) -> list[int]:
    if ends[0] >= ends[1] or max(map(abs, ends)) > _WIDEST:
        raise ValueError("not a range; write the lowest and the highest score, such as [1, 5]")
    return ends


class Scale(Definition):
    """Scores from the first to the second number of `range`, both included."""

    range: Annotated[list[int], Field(min_length=2, max_length=2), AfterValidator(_is_range)] = _USUAL
    pass_threshold: FiniteFloat = Field(
        default=4.0, validation_alias=AliasChoices("pass_threshold", "threshold")
    )

    @model_validator(mode="after")
    def _the_threshold_is_on_the_scale(self) -> Self:
        if self.range != _USUAL and "pass_threshold" not in self.model_fields_set:
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
        """Where a score is on the scale: 0 at the lowest, 1 at the highest."""
        return (score - self.low) / (self.high - self.low)

    def passes(self, score: float) -> bool:
        """Whether a score, or a mean of scores, suffices; as precise as people write thresholds."""
        return round(score, 9) >= self.pass_threshold

    def refuse_off_scale(self, score: int, place: str) -> None:
        """A score that an example or a level has must be one the grader could give."""
        if not self.low <= score <= self.high:
            raise ValueError(
                f"{place} is {score}, which is outside the range; write a whole number "
                f"from {self.low} to {self.high}"
            )
