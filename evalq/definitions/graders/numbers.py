"""Checks of a number in the answer."""

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, FiniteFloat, PlainValidator

from evalq.definitions.graders.expectation import answers_in, needs
from evalq.definitions.graders.grader import Grader, Lack


def is_number(value: object) -> bool:
    """True for JSON's numbers; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_number(value: Any) -> Any:
    """Whole numbers stay whole: a long one is not the same as a fraction."""
    if not is_number(value) or not isfinite(value):
        raise ValueError("not a number; write one without quotes")
    return value


Number = Annotated[float, PlainValidator(_read_number)]


class Numeric(Grader):
    """The answer's number is the wanted one, give or take the larger of the two tolerances.

    `rel_tol` is a share of the wanted number: 0.05 is five per cent. `extract` takes the number out of a
    sentence; without it the whole answer is to be one.
    """

    type: Literal["numeric"]
    value: Number | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[Number] = Field(default=[])
    abs_tol: FiniteFloat = Field(default=0.0, ge=0, validation_alias=AliasChoices("abs_tol", "tolerance"))
    rel_tol: FiniteFloat = Field(default=0.0, ge=0)
    extract: Literal["whole", "first", "last"] = "whole"
    decimal: Literal[".", ","] = "."

    def wanted(self, expected: Mapping[str, Any]) -> list[float]:
        """The numbers of which one is enough; empty when neither grader nor case has any."""
        if self.value is not None:
            return [self.value, *self.alternatives]
        numbers = answers_in(expected)
        return [*numbers, *self.alternatives] if all(is_number(number) for number in numbers) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs a number to compare with."""
        return (
            None if self.wanted(expected) else needs(self, "value", "answer: 42", "a number without quotes")
        )
