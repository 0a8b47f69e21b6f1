"""Checks of an answer that is to be JSON."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, PlainValidator, field_validator, model_validator

from evalq.definitions.definition import ABSENT, is_absent
from evalq.definitions.graders.expectation import Text, answers_in, needs
from evalq.definitions.graders.grader import Grader, Lack, lack_of
from evalq.definitions.graders.patterns import Flags
from evalq.definitions.json_paths import check_json_path
from evalq.definitions.json_schemas import Schema, check_json_schema
from evalq.definitions.regexes import check_regex


class IsJson(Grader):
    """The whole answer is one JSON value; with `allow_fence`, a code fence may stand around it."""

    type: Literal["is_json"]
    allow_fence: bool = False


def _read_schema(value: Any) -> Any:
    if isinstance(value, dict | bool):
        check_json_schema(value)
    elif value is not None:
        raise ValueError("a JSON Schema is a mapping; write it as 'keyword: value' pairs")
    return value


class JsonSchema(Grader):
    """The answer is JSON that fits a JSON Schema of draft 2020-12."""

    type: Literal["json_schema"]
    value: Annotated[Schema | None, PlainValidator(_read_schema)] = Field(
        default=None, validation_alias=AliasChoices("schema", "value")
    )
    alternatives: list[Annotated[Schema, PlainValidator(_read_schema)]] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[Schema]:
        """The schemas of which one is enough: its own, or the case's `schema`."""
        schema = self.value if self.value is not None else expected.get("schema")
        return [schema, *self.alternatives] if isinstance(schema, dict | bool) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs a schema, and one that is valid."""
        schemas = self.wanted(expected)
        if not schemas:
            return needs(self, "schema", "schema: {…}", "a JSON Schema")
        try:
            check_json_schema(schemas[0])
        except ValueError as exc:
            return lack_of(exc, "expected.schema")
        return None


class JsonPath(Grader):
    """One of the values at a path of the answer equals, or matches, what is wanted."""

    type: Literal["json_path"]
    path: Text
    equals: Any = Field(
        default=ABSENT, validation_alias=AliasChoices("equals", "value", "expected"), exclude_if=is_absent
    )
    matches: Text | None = None
    flags: Flags = Field(default=[])
    alternatives: list[Any] = Field(default=[])

    @field_validator("path")
    @classmethod
    def _it_is_a_path(cls, path: str) -> str:
        check_json_path(path)
        return path

    @model_validator(mode="after")
    def _one_comparison(self) -> Self:
        if self.matches is not None:
            if self.equals is not ABSENT:
                raise ValueError(
                    "equals and matches are two comparisons; keep one of them, or list two graders"
                )
            for pattern in (self.matches, *self.alternatives):
                check_regex(_as_pattern(pattern), self.flags)
        return self

    def patterns(self) -> list[str]:
        """What a value may match; empty when values are compared by equality."""
        return [] if self.matches is None else [self.matches, *self.alternatives]

    def wanted(self, expected: Mapping[str, Any]) -> list[Any]:
        """What a value may equal: its own, or the case's `answer` and `alternatives`."""
        own = answers_in(expected) if self.equals is ABSENT else [self.equals]
        return [*own, *self.alternatives] if own else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs a value or a pattern to compare with."""
        if self.matches is not None or self.wanted(expected):
            return None
        return needs(self, "equals", "answer: …", "any JSON value")


def _as_pattern(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("alternatives beside matches are patterns; put them in quotes")
    return value
