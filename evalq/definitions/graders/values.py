"""Checks of numbers, rankings, tool calls and costs."""

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    Field,
    FiniteFloat,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from evalq.definitions.definition import Definition
from evalq.definitions.graders.grader import (
    Grader,
    Misfit,
    Text,
    answers_in,
    is_texts,
    missing_parameter,
)


def is_number(value: object) -> bool:
    """True for a JSON number; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_number(value: Any) -> Any:
    """Whole numbers stay whole: as a float a long one would lose digits."""
    if not is_number(value) or not isfinite(value):
        raise ValueError("not a number; write one without quotes")
    return value


Number = Annotated[float, PlainValidator(_read_number)]


class Numeric(Grader):
    """The answer's number is the wanted one, within the larger of the two tolerances.

    `rel_tol` is a share of the wanted number: 0.05 is five per cent. `extract` takes the number out of a
    sentence; by default the whole answer must be a number.
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
        if not all(is_number(number) for number in numbers):
            return []
        return [*numbers, *self.alternatives]

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a number to compare with."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "value", "answer: 42", "a number without quotes")


class Latency(Grader):
    """The answer took at most `threshold` milliseconds."""

    type: Literal["latency"]
    threshold: FiniteFloat = Field(gt=0, validation_alias=AliasChoices("threshold", "max_ms", "value"))


class Cost(Grader):
    """The answer cost at most `budget` dollars, by the bake-off's price table."""

    type: Literal["cost"]
    budget: FiniteFloat = Field(ge=0, validation_alias=AliasChoices("budget", "max_usd", "value"))


class TokenUsage(Grader):
    """The answer stayed within token limits, as the provider counts tokens, thinking included."""

    type: Literal["token_usage"]
    max_total: int | None = Field(default=None, ge=0)
    max_input: int | None = Field(default=None, ge=0)
    max_output: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.max_total is None and self.max_input is None and self.max_output is None:
            raise ValueError("no limit is set; add max_total, max_input or max_output")
        return self


_BOUNDS = {"min_delta", "max_delta"}


class NumericDelta(Grader):
    """No number of the baseline `value` changed beyond its tolerance in the answer's JSON.

    `tolerance` has {min_delta, max_delta} under the keys it applies to, null for no bound; at its top it
    applies to every number. A number without a tolerance must be equal.
    """

    type: Literal["numeric_delta"]
    value: Any
    tolerance: dict[str, Any] = Field(default={})

    @field_validator("value")
    @classmethod
    def _has_numbers(cls, value: Any) -> Any:
        if not _contains_number(value):
            raise ValueError("the baseline has no number to compare; compare it by structure, or exactly")
        return value

    @field_validator("tolerance")
    @classmethod
    def _bounds_are_numbers(cls, tolerance: dict[str, Any]) -> dict[str, Any]:
        for name, bound in tolerance.items():
            if name in _BOUNDS:
                if bound is not None and not is_number(bound):
                    raise ValueError(f"{name} is not a number; write one, or null for no bound")
            elif isinstance(bound, dict):
                cls._bounds_are_numbers(bound)
            else:
                raise ValueError(f"a tolerance {name!r}; write min_delta and max_delta below it")
        return tolerance


def _contains_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_contains_number(item) for item in value.values())
    if isinstance(value, list):
        return any(_contains_number(item) for item in value)
    return is_number(value)


class RankingGrader(Grader):
    """Compares a ranking with the relevant ids."""

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs at least one relevant id."""
        if is_texts(expected.get("relevant")):
            return None
        return "ranking graders need expected.relevant, a list of ids", 'add expected: {relevant: ["…"]}'


class HitAtK(RankingGrader):
    """One of `expected.relevant` is among the first k ids of the answered ranking."""

    type: Literal["hit_at_k"]
    k: int = Field(default=1, ge=1, le=1000)

    @property
    def label(self) -> str:
        """Its k is part of the name, since a task may have several."""
        return self.name or f"hit_at_{self.k}"


class Mrr(RankingGrader):
    """One over the rank of the first relevant id; passes when any is found."""

    type: Literal["mrr"]


ARGS_MATCHES = ("exact", "ignore", "subset", "superset")


def _read_args_match(value: Any) -> Any:
    if is_texts(value) or value in ARGS_MATCHES:
        return value
    raise ValueError(
        f"no way to compare arguments; write {', '.join(ARGS_MATCHES)}, or a list of arguments' names"
    )


ArgsMatch = Annotated[str | list[str], PlainValidator(_read_args_match)]


def _read_args(value: Any) -> Any:
    if value == "any":
        return None
    if isinstance(value, dict) or value is None:
        return value
    raise ValueError("arguments should be a mapping; write them as 'name: value' pairs, or any")


class ExpectedCall(Definition):
    """One call of a tool; without `args`, with any arguments."""

    tool: Text
    args: Annotated[dict[str, Any] | None, PlainValidator(_read_args)] = None
    args_match: ArgsMatch | None = None


class ToolTrajectory(Grader):
    """The tools the judge called are the expected ones.

    exact: these calls and no others, in this order · in_order: these, in this order, others between them ·
    any_order, superset: these, in any order, and others · subset: only these, each as often as expected.
    `minimums` counts calls by tool. `args_match` is how arguments compare: exact · ignore · superset: at
    least the expected ones · subset: only expected ones · a list: only the arguments named in it.
    """

    type: Literal["tool_trajectory"]
    mode: Literal["exact", "in_order", "any_order", "subset", "superset"]
    expected: list[ExpectedCall] | None = None
    alternatives: list[list[ExpectedCall]] = Field(default=[])
    minimums: dict[str, Annotated[int, Field(ge=0)]] = Field(default={})
    args_match: ArgsMatch = "exact"

    @model_validator(mode="after")
    def _minimums_need_any_order(self) -> Self:
        if self.minimums and self.mode != "any_order":
            raise ValueError(f"minimums do not count in mode {self.mode}; write mode: any_order")
        return self

    def wanted(self, expected: Mapping[str, Any]) -> list[list[ExpectedCall]] | None:
        """The trajectories of which one is enough: its own, or the case's `tools`; None without any."""
        own = self.expected if self.expected is not None else _calls_in(expected)
        if own is not None:
            return [own, *self.alternatives]
        return [[]] if self.minimums else None

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs expected calls or minimums."""
        if self.wanted(expected) is not None:
            return None
        return missing_parameter(self, "expected", 'tools: ["…"]', "a list of tools, or of {tool, args}")


_CALLS = TypeAdapter(list[ExpectedCall])


def _calls_in(expected: Mapping[str, Any]) -> list[ExpectedCall] | None:
    tools = expected.get("tools")
    if not isinstance(tools, list):
        return None
    try:
        return _CALLS.validate_python([{"tool": tool} if isinstance(tool, str) else tool for tool in tools])
    except ValidationError:
        return None


class MaxToolCalls(Grader):
    """The judge called at most `value` tools."""

    type: Literal["max_tool_calls"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "max"))


class SkillTriggered(Grader):
    """The judge used a skill: it called the Skill tool with the skill's name, or Read with its file.

    `first_only`: only the first call counts. `should_trigger` decides whether it should, else the case's
    `expected.should_trigger`, else it should.
    """

    type: Literal["skill_triggered"]
    skill: Text | None = None
    should_trigger: bool | None = None
    first_only: bool = True

    def wanted(self, expected: Mapping[str, Any]) -> tuple[str, bool] | None:
        """The skill, and whether it should trigger."""
        skill = self.skill or expected.get("skill")
        should = self.should_trigger
        if should is None:
            should = expected.get("should_trigger", True)
        if not isinstance(skill, str) or not skill or not isinstance(should, bool):
            return None
        return skill, should

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a skill's name."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "skill", 'skill: "…", should_trigger: true', "a skill's name")
