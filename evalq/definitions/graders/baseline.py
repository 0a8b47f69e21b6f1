"""The check of an answer's numbers against those of a baseline."""

from typing import Any, Literal

from pydantic import Field, field_validator

from evalq.definitions.graders.grader import Grader
from evalq.definitions.graders.numbers import is_number

_BOUNDS = {"min_delta", "max_delta"}


class NumericDelta(Grader):
    """No number of the baseline `value` has changed beyond its tolerance in the answer's JSON.

    `tolerance` has {min_delta, max_delta} under the keys it holds for, null meaning without bound; at its
    top it holds for every number. A number without any must be the same.
    """

    type: Literal["numeric_delta"]
    value: Any
    tolerance: dict[str, Any] = Field(default={})

    @field_validator("value")
    @classmethod
    def _has_numbers(cls, value: Any) -> Any:
        if not _numbers(value):
            raise ValueError("the baseline has no number to compare; compare it by structure, or exactly")
        return value

    @field_validator("tolerance")
    @classmethod
    def _bounds_are_numbers(cls, tolerance: dict[str, Any]) -> dict[str, Any]:
        for name, bound in tolerance.items():
            if name in _BOUNDS:
                if bound is not None and not is_number(bound):
                    raise ValueError(f"{name} is no number; write one, or null for no bound")
            elif isinstance(bound, dict):
                cls._bounds_are_numbers(bound)
            else:
                raise ValueError(f"a tolerance {name!r}; write min_delta and max_delta below it")
        return tolerance


def _numbers(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(_numbers(item) for item in (value.values() if isinstance(value, dict) else value))
    return is_number(value)
