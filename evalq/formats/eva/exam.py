"""The exam of an eva prompt, its eval.yml: cases to answer, and requests that should trigger it or not."""

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import AliasChoices, Field, FiniteFloat, field_validator, model_validator

from evalq.definitions.definition import Definition, validate
from evalq.definitions.located import Loc, Located
from evalq.definitions.regexes import check_regex
from evalq.errors import Problem
from evalq.formats.eva.prompt import Text, without_nulls

Seconds = Annotated[FiniteFloat, Field(gt=0, le=3600)]

DEFAULT_THRESHOLD = 4.0
"""The lowest passing score of a rubric, from 1 to 5."""


class JudgeSpec(Definition):
    """The model that marks, and the score at which a rubric passes."""

    model: Text | None = None
    pass_threshold: FiniteFloat | None = Field(default=None, ge=1, le=5)


class Defaults(Definition):
    """Settings of all cases that do not set their own."""

    model: Text | None = None
    timeout_s: Seconds | None = None
    judge: JudgeSpec = JudgeSpec()


class ExamAssertion(Definition):
    """One line of a case's `assert`: a check and what it looks for."""

    contains: Text | None = None
    not_contains: Text | None = None
    contains_any: Annotated[list[Text], Field(min_length=1)] | None = None
    contains_all: Annotated[list[Text], Field(min_length=1)] | None = None
    matches: Text | None = None
    not_matches: Text | None = None
    min_tokens: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    json_schema: Any = None

    @field_validator("matches", "not_matches")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            check_regex(pattern, [])
        return pattern

    @field_validator("json_schema")
    @classmethod
    def _is_a_schema_or_its_file(cls, schema: Any) -> Any:
        if isinstance(schema, dict | str) and schema:
            return schema
        raise ValueError("neither a JSON Schema nor the path of one; write {type: object, …} or schema.json")

    @model_validator(mode="after")
    def _is_one_check(self) -> Self:
        written = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(written) != 1 or len(self.model_fields_set) != 1:
            raise ValueError("an assertion is one check with its value; write each on a '- ' of its own")
        return self

    @property
    def op(self) -> str:
        """The name of its check."""
        (op,) = self.model_fields_set
        return op

    @property
    def value(self) -> Any:
        """The value of its check."""
        return getattr(self, self.op)


class ExamCase(Definition):
    """One question of the exam."""

    name: Annotated[Text, Field(max_length=200)]
    inputs: dict[str, Any] | None = None
    inputs_from: Text | None = None
    asserts: list[ExamAssertion] = Field(default=[], validation_alias=AliasChoices("assert"))
    rubric: Text | None = None
    judge: JudgeSpec = JudgeSpec()
    model: Text | None = None
    timeout_s: Seconds | None = None

    @model_validator(mode="after")
    def _has_inputs_and_something_to_mark_by(self) -> Self:
        if self.inputs is None and self.inputs_from is None:
            raise ValueError("neither inputs nor inputs_from; add inputs: {…} or inputs_from: examples/NAME")
        if not self.asserts and self.rubric is None:
            raise ValueError("neither assert nor rubric; add one of them, or nothing is marked")
        return self


class Triggering(Definition):
    """Requests that the prompt's description should match, and requests that it should not."""

    judge: JudgeSpec = JudgeSpec()
    should_match: list[Text] = Field(default=[])
    should_not_match: list[Text] = Field(default=[])

    @model_validator(mode="after")
    def _has_a_list(self) -> Self:
        if not self.model_fields_set & {"should_match", "should_not_match"}:
            raise ValueError("neither should_match nor should_not_match; add a list of requests")
        return self

    @property
    def queries(self) -> list[tuple[str, bool]]:
        """Every request with whether it should match, in the order written."""
        matching = [(query, True) for query in self.should_match]
        return matching + [(query, False) for query in self.should_not_match]


class Exam(Definition):
    """The whole file."""

    defaults: Defaults = Defaults()
    cases: list[ExamCase] = Field(default=[])
    triggering: Triggering | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.cases and self.triggering is None:
            raise ValueError("neither cases nor triggering; add one of them")
        return self

    @property
    def total(self) -> int:
        """The number of cases and requests together."""
        return len(self.cases) + len(self.triggering.queries if self.triggering else ())

    def model_of(self, case: ExamCase) -> str | None:
        """Return the model that answers a case."""
        return case.model or self.defaults.model

    def timeout_of(self, case: ExamCase) -> float | None:
        """Return how long the answer may take."""
        return case.timeout_s or self.defaults.timeout_s

    def grader_of(self, case: ExamCase) -> str | None:
        """Return the model that scores a case's rubric."""
        return case.judge.model or self.defaults.judge.model or self.defaults.model

    def threshold_of(self, case: ExamCase) -> float:
        """Return the lowest passing score of a case's rubric."""
        own = case.judge.pass_threshold
        return own or self.defaults.judge.pass_threshold or DEFAULT_THRESHOLD

    @property
    def trigger_model(self) -> str | None:
        """The model that decides the requests."""
        own = self.triggering.judge.model if self.triggering else None
        return own or self.defaults.model


def read_exam(located: Located) -> Exam:
    """Validate an eval.yml; raise InputError with everything that is wrong with it."""
    return validate(Exam, without_nulls(located), *_find_duplicates(located))


def _find_duplicates(located: Located) -> Iterator[Problem]:
    """Yield a problem for each repeated name or request: a result could not tell which is meant."""
    first: dict[tuple[str, str], int] = {}
    for loc, kind, text in _find_names(located.value):
        line = located.line_of(loc)
        if (kind, text) in first:
            message = f"{kind} {text!r} is there twice, first on line {first[kind, text]}"
            yield Problem(message, "rename or remove one", located.file, line)
        first.setdefault((kind, text), line)


_LISTS: dict[Loc, str] = {
    ("cases",): "case",
    ("triggering", "should_match"): "request",
    ("triggering", "should_not_match"): "request",
}


def _find_names(value: Any) -> Iterator[tuple[Loc, str, str]]:
    """Yield the names that can be read; the model reports what is wrong with the rest."""
    for loc, kind in _LISTS.items():
        entries = value
        for part in loc:
            entries = entries.get(part) if isinstance(entries, dict) else None
        for place, entry in enumerate(entries if isinstance(entries, list) else []):
            name = entry.get("name") if isinstance(entry, dict) else entry
            if isinstance(name, str):
                yield (*loc, place), kind, name
