"""Checks of a number in the answer."""

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
    is_text,
    is_texts,
    missing_parameter,
)


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

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a number to compare with."""
        return (
            None
            if self.wanted(expected)
            else missing_parameter(self, "value", "answer: 42", "a number without quotes")
        )


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


class RankingGrader(Grader):
    """Holds a ranking against the ids that are relevant."""

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
        """Its k is part of what it is called: a task may have several."""
        return self.name or f"hit_at_{self.k}"


class Mrr(RankingGrader):
    """One over the rank of the first relevant id; passes when it is found at all."""

    type: Literal["mrr"]


ARGS_MATCHES = ("exact", "ignore", "subset", "superset")


def _read_args_match(value: Any) -> Any:
    is_names = isinstance(value, list) and bool(value) and all(is_text(name) for name in value)
    if is_names or value in ARGS_MATCHES:
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
    """One call of a tool; without `args`, whatever its arguments are."""

    tool: Text
    args: Annotated[dict[str, Any] | None, PlainValidator(_read_args)] = None
    args_match: ArgsMatch | None = None


class ToolTrajectory(Grader):
    """The tools the judge asked for are the expected ones.

    exact: these calls and no others, in this order · in_order: these, in this order, others between them ·
    any_order, superset: these, in any order, and others · subset: none but these, each as often as wanted.
    `minimums` counts calls by tool. `args_match` says how arguments compare: exact · ignore · superset: at
    least the expected ones · subset: none but the expected ones · a list: only the arguments named in it.
    """

    type: Literal["tool_trajectory"]
    mode: Literal["exact", "in_order", "any_order", "subset", "superset"]
    expected: list[ExpectedCall] | None = None
    alternatives: list[list[ExpectedCall]] = Field(default=[])
    minimums: dict[str, Annotated[int, Field(ge=0)]] = Field(default={})
    args_match: ArgsMatch = "exact"

    @model_validator(mode="after")
    def _minimums_are_of_any_order(self) -> Self:
        if self.minimums and self.mode != "any_order":
            raise ValueError(f"minimums do not count in mode {self.mode}; write mode: any_order")
        return self

    def wanted(self, expected: Mapping[str, Any]) -> list[list[ExpectedCall]] | None:
        """The trajectories of which one is enough: its own, or the case's `tools`; None without any."""
        own = self.expected if self.expected is not None else _calls_in(expected)
        if own is None:
            return [[]] if self.minimums else None
        return [own, *self.alternatives]

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
    """The judge asked for at most so many tools."""

    type: Literal["max_tool_calls"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "max"))


class SkillTriggered(Grader):
    """The judge reached for a skill: its Skill tool with the skill's name, or Read with its file.

    `first_only`: only the first tool counts; any other one before it means not triggered. Whether it should
    is said here, else by the case's `expected.should_trigger`, else it should.
    """

    type: Literal["skill_triggered"]
    skill: Text | None = None
    should_trigger: bool | None = None
    first_only: bool = True

    def wanted(self, expected: Mapping[str, Any]) -> tuple[str, bool] | None:
        """The skill, and whether it should trigger."""
        skill = self.skill or expected.get("skill")
        should = expected.get("should_trigger", True) if self.should_trigger is None else self.should_trigger
        return (skill, should) if isinstance(skill, str) and skill and isinstance(should, bool) else None

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a skill's name."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "skill", 'skill: "…", should_trigger: true', "a skill's name")
