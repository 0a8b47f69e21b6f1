"""Checks of the tools a judge asked for."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, PlainValidator, TypeAdapter, ValidationError, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.graders.expectation import Text, is_text, needs
from evalq.definitions.graders.grader import Grader, Lack

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

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs expected calls or minimums."""
        if self.wanted(expected) is not None:
            return None
        return needs(self, "expected", 'tools: ["…"]', "a list of tools, or of {tool, args}")


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

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs a skill's name."""
        if self.wanted(expected):
            return None
        return needs(self, "skill", 'skill: "…", should_trigger: true', "a skill's name")
