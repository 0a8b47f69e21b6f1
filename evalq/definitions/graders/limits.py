"""Checks of what the call took: time, dollars, tokens."""

from typing import Literal, Self

from pydantic import AliasChoices, Field, FiniteFloat, model_validator

from evalq.definitions.graders.grader import Grader


class Latency(Grader):
    """The answer was there within so many milliseconds."""

    type: Literal["latency"]
    threshold: FiniteFloat = Field(gt=0, validation_alias=AliasChoices("threshold", "max_ms", "value"))


class Cost(Grader):
    """The answer cost at most so many dollars, by the price table the bake-off was run with."""

    type: Literal["cost"]
    budget: FiniteFloat = Field(ge=0, validation_alias=AliasChoices("budget", "max_usd", "value"))


class TokenUsage(Grader):
    """The answer took at most so many tokens, as the provider counts them, thinking included."""

    type: Literal["token_usage"]
    max_total: int | None = Field(default=None, ge=0)
    max_input: int | None = Field(default=None, ge=0)
    max_output: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.max_total is None and self.max_input is None and self.max_output is None:
            raise ValueError("no limit is set; add max_total, max_input or max_output")
        return self
