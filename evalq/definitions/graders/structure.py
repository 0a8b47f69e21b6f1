"""Checks of an answer that must be JSON."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    FiniteFloat,
    PlainValidator,
    field_validator,
    model_validator,
)

from evalq.definitions.definition import ABSENT, Definition, is_absent
from evalq.definitions.graders.grader import Grader, Misfit, Text, answers_in, misfit_of, missing_parameter
from evalq.definitions.graders.text import Flags
from evalq.definitions.json_queries import Schema, check_json_path, check_json_schema, dotted_parts, value_at
from evalq.definitions.regexes import check_regex
from evalq.definitions.template import check_matchers


class IsJson(Grader):
    """The whole answer is one JSON value; with `allow_fence`, it may be in a code fence."""

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

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a valid schema."""
        schemas = self.wanted(expected)
        if not schemas:
            return missing_parameter(self, "schema", "schema: {…}", "a JSON Schema")
        try:
            check_json_schema(schemas[0])
        except ValueError as exc:
            return misfit_of(exc, "expected.schema")
        return None


class JsonPath(Grader):
    """One of the values at a path of the answer equals or matches the wanted one."""

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
    def _check_path(cls, path: str) -> str:
        check_json_path(path)
        return path

    @model_validator(mode="after")
    def _has_one_comparison(self) -> Self:
        if self.matches is None:
            return self
        if self.equals is not ABSENT:
            raise ValueError("equals and matches are two comparisons; keep one of them, or list two graders")
        for pattern in (self.matches, *self.alternatives):
            if not isinstance(pattern, str):
                raise ValueError("alternatives beside matches are patterns; put them in quotes")
            check_regex(pattern, self.flags)
        return self

    def patterns(self) -> list[str]:
        """The patterns of which one must match; empty when values are compared by equality."""
        if self.matches is None:
            return []
        return [self.matches, *self.alternatives]

    def wanted(self, expected: Mapping[str, Any]) -> list[Any]:
        """The values of which one is enough: its own, or the case's `answer` and `alternatives`."""
        own = answers_in(expected) if self.equals is ABSENT else [self.equals]
        return [*own, *self.alternatives] if own else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a value or a pattern to compare with."""
        if self.matches is not None or self.wanted(expected):
            return None
        return missing_parameter(self, "equals", "answer: …", "any JSON value")


def _check_dotted_path(path: str) -> str:
    dotted_parts(path)
    return path


DottedPath = Annotated[Text, AfterValidator(_check_dotted_path)]


def _check_date_format(form: str) -> str:
    if not all(token in form for token in ("YYYY", "MM", "DD")):
        raise ValueError("the format names no day; write it with YYYY, MM or MMM, and DD: DD.MM.YYYY")
    return form


Formats = Annotated[list[Annotated[str, AfterValidator(_check_date_format)]], Field(min_length=1)]


class StructuralMatch(Grader):
    """The answer is JSON of the wanted structure.

    ignore_values: the key must be present, with any value · ignore_fields: not compared, present or not ·
    require_keys: must be present, even if not in `value` · strict: no additional fields, the same order of
    fields, lists of exactly the wanted length, unless `allow_additional_fields` or `allow_field_reordering`
    is true.
    """

    type: Literal["structural_match"]
    value: Any = Field(
        default=ABSENT, validation_alias=AliasChoices("value", "expected"), exclude_if=is_absent
    )
    alternatives: list[Any] = Field(default=[])
    require_keys: list[DottedPath] = Field(default=[])
    ignore_values: list[DottedPath] = Field(default=[])
    ignore_fields: list[DottedPath] = Field(default=[])
    allow_additional_fields: bool | None = None
    allow_field_reordering: bool | None = None
    strict: bool = False

    @model_validator(mode="after")
    def _check_matchers(self) -> Self:
        if self.value is not ABSENT:
            check_matchers(self.value)
        check_matchers(self.alternatives)
        return self

    def wanted(self, expected: Mapping[str, Any]) -> list[Any]:
        """The structures of which one is enough; empty when only keys are required."""
        own = answers_in(expected) if self.value is ABSENT else [self.value]
        return [*own, *self.alternatives] if own else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a structure or required keys."""
        wanted = self.wanted(expected)
        if not wanted and not self.require_keys:
            return missing_parameter(self, "value", "answer: {…}", "any JSON value")
        try:
            check_matchers(wanted)
        except ValueError as exc:
            return misfit_of(exc, "expected.answer")
        return None


def _check_plain_path(path: str) -> str:
    if "*" in dotted_parts(path):
        raise ValueError(
            "a field has one place; write the path without *, a list's entries by number: items[0].price"
        )
    return path


class FieldMatch(Definition):
    """How one field is compared, and its weight.

    A field that is not `required` does not count where the answer or the case lacks it.
    """

    path: Annotated[Text, AfterValidator(_check_plain_path)]
    match: Literal["exact", "numeric_tolerance", "date"] = "exact"
    required: bool = True
    weight: FiniteFloat = Field(default=1.0, ge=0)
    tolerance: FiniteFloat = Field(default=0.0, ge=0)
    relative: bool = False
    formats: Formats | None = None


class FieldAccuracy(Grader):
    """The share of the answer's fields, by weight, that match."""

    type: Literal["field_accuracy"]
    fields: list[FieldMatch] = Field(min_length=1)
    value: dict[str, Any] | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[dict[str, Any]] = Field(default=[])
    aggregation: Literal["weighted_average", "all_or_nothing"] = "weighted_average"
    threshold: FiniteFloat = Field(default=0.8, ge=0, le=1)

    @model_validator(mode="after")
    def _has_weight(self) -> Self:
        if not any(field.weight for field in self.fields):
            raise ValueError("no field weighs anything; give one a weight over 0")
        return self

    def wanted(self, expected: Mapping[str, Any]) -> list[Any]:
        """The documents of which one is enough: its own, or the case's `answer` and `alternatives`."""
        own = answers_in(expected) if self.value is None else [self.value]
        if not own or not all(isinstance(one, dict) for one in own):
            return []
        return [*own, *self.alternatives]

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a document, with every required field in it."""
        documents = self.wanted(expected)
        if not documents:
            return missing_parameter(self, "value", "answer: {…}", "a mapping")
        for field in self.fields:
            if field.required and any(value_at(one, field.path) is ABSENT for one in documents):
                message = (
                    f"grader {self.label!r} compares {field.path}, which the expected document does not have"
                )
                return message, "add it there, or write required: false for the field"
        return None
