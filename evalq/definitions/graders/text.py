"""Checks of an answer's text: what it contains, equals or matches, how long it is, what it decides."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    FiniteFloat,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from evalq.definitions.definition import is_unset
from evalq.definitions.graders.grader import (
    Grader,
    Misfit,
    Text,
    TextGrader,
    Texts,
    answers_in,
    is_texts,
    misfit_of,
    missing_parameter,
)
from evalq.definitions.regexes import Flag, check_regex, read_flags


class Contains(TextGrader):
    """The answer contains the text or one of its alternatives."""

    type: Literal["contains", "icontains"]


class NotContains(Grader):
    """The answer contains neither the text nor one of its alternatives."""

    type: Literal["not_contains"]
    value: Text | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The texts that must not occur: its own, or the case's `must_not_include`."""
        texts = self.value or expected.get("must_not_include")
        if isinstance(texts, str):
            texts = [texts]
        return [*texts, *self.alternatives] if is_texts(texts) else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs at least one text."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "value", 'must_not_include: ["…"]', "a list of texts")


class StartsEnds(TextGrader):
    """The answer begins or ends with the text; blanks around both do not count."""

    type: Literal["starts_with", "ends_with"]
    case_sensitive: bool = True


class Equals(TextGrader):
    """The answer is the text; `ignore_punctuation` reads every run of signs and blanks as one blank."""

    type: Literal["equals", "exact_match"]
    value: str | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    case_sensitive: bool = True
    trim_whitespace: bool = True
    normalize_newlines: bool = True
    ignore_punctuation: bool = Field(default=False, exclude_if=is_unset)


class ContainsAny(Grader):
    """The answer contains at least one of the texts."""

    type: Literal["contains_any", "icontains_any"]
    values: Texts | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("values", "value", "expected")
    )
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """Its own texts, or the case's `any_of`, or its `answer` and `alternatives`."""
        texts = self.values or expected.get("any_of") or answers_in(expected)
        return [*texts, *self.alternatives] if is_texts(texts) else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs at least one text."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "values", 'any_of: ["…"]', "a list of texts")


class ContainsAll(Grader):
    """The answer contains all of the texts, or all of one of the alternative lists."""

    type: Literal["contains_all", "icontains_all"]
    values: Texts | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("values", "value", "expected")
    )
    alternatives: list[Texts] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[list[str]]:
        """The lists of which one must be in the answer completely."""
        texts = self.values or expected.get("all_of")
        return [texts, *self.alternatives] if is_texts(texts) else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs at least one list."""
        if self.wanted(expected):
            return None
        return missing_parameter(self, "values", 'all_of: ["…"]', "a list of texts")


def _read_demands(value: Any) -> Any:
    """Each demand as the list of texts that fulfil it."""
    if isinstance(value, str):
        return [[value]]
    if not isinstance(value, list):
        return value
    return [[item] if isinstance(item, str) else item for item in value]


Demands = Annotated[list[Annotated[list[Text], Field(min_length=1)]], BeforeValidator(_read_demands)]


class Semantic(Grader):
    """What the answer must and must not include, letter case and line breaks aside.

    An entry that is itself a list names alternatives: any of them fulfils, or violates, the demand.
    """

    type: Literal["semantic"]
    must_include: Demands | None = None
    must_not_include: Demands | None = None
    case_sensitive: bool = False

    def demands(self, expected: Mapping[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
        """What to include and what not: the grader's own lists, or else the case's."""
        wanted, banned = self.must_include, self.must_not_include
        if wanted is None:
            wanted = _read_demands(expected.get("must_include", []))
        if banned is None:
            banned = _read_demands(expected.get("must_not_include", []))
        return wanted, banned

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs at least one demand, and texts in every demand."""
        wanted, banned = self.demands(expected)
        if (wanted or banned) and _are_demands(wanted) and _are_demands(banned):
            return None
        return missing_parameter(self, "must_include", 'must_include: ["…"]', "a list of texts")


def _are_demands(value: object) -> bool:
    return isinstance(value, list) and all(is_texts(choices) for choices in value)


class Levenshtein(TextGrader):
    """The answer is similar to the text: by a similarity from 0 to 1, or by single-letter edits."""

    type: Literal["levenshtein"]
    threshold: FiniteFloat | None = Field(default=None, ge=0, le=1)
    max_distance: int | None = Field(default=None, ge=0)
    case_sensitive: bool = True

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        if self.threshold is not None and self.max_distance is not None:
            raise ValueError("threshold and max_distance are two measures; keep one of them")
        return self


class MinWords(Grader):
    """The answer has at least `value` words, counted by the blanks between them."""

    type: Literal["min_tokens", "min_words"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "min"))


class MaxWords(Grader):
    """The answer has at most `value` words, counted by the blanks between them."""

    type: Literal["max_tokens", "max_words"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "max"))


Written = TypeVar("Written", str | None, list[str])
Flags = Annotated[list[Flag], BeforeValidator(read_flags)]


class PatternGrader(Grader):
    """Searches for `pattern` or one of its `alternatives`; without one, for the case's."""

    case_key: ClassVar[str] = "pattern"

    flags: Flags = Field(default=[])
    pattern: Text | None = Field(default=None, validation_alias=AliasChoices("pattern", "value", "expected"))
    alternatives: list[Text] = Field(default=[])

    @field_validator("pattern", "alternatives")
    @classmethod
    def _it_compiles(cls, written: Written, info: ValidationInfo) -> Written:
        patterns = [written] if isinstance(written, str) else written
        for pattern in patterns or ():
            check_regex(pattern, info.data.get("flags", ()))
        return written

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The patterns of which one is enough; empty when neither grader nor case has any."""
        pattern = self.pattern or expected.get(self.case_key)
        return [pattern, *self.alternatives] if isinstance(pattern, str) and pattern else []

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a pattern that compiles."""
        patterns = self.wanted(expected)
        if not patterns:
            return missing_parameter(self, "pattern", f'{self.case_key}: "…"', "a regular expression")
        try:
            check_regex(patterns[0], self.flags)
        except ValueError as exc:
            return misfit_of(exc, f"expected.{self.case_key}")
        return None


class Matches(PatternGrader):
    """The answer matches the pattern; with `must_match: false`, it does not.

    `capture_groups` are reported with the mark: groups by name, or names for the groups by position.
    """

    type: Literal["matches", "regex"]
    must_match: bool = True
    capture_groups: list[Text] = Field(default=[])


class NotMatches(PatternGrader):
    """The answer matches neither the pattern nor one of its alternatives."""

    case_key: ClassVar[str] = "must_not_match"

    type: Literal["not_matches"]


class RefusalGrader(Grader):
    """The answer declines to help, by the phrases refusals begin with in English, German and Vietnamese.

    `should_refuse` decides whether it should, else the case's `expected.should_refuse`, else it should.
    `phrases` are further ones that count.
    """

    type: Literal["refusal"]
    should_refuse: bool | None = None
    phrases: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> bool:
        """Whether a refusal is right."""
        if self.should_refuse is not None:
            return self.should_refuse
        return bool(expected.get("should_refuse", True))

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """The case's `should_refuse` must be true or false."""
        if self.should_refuse is not None or isinstance(expected.get("should_refuse", True), bool):
            return None
        return "expected.should_refuse is neither true nor false", "write true or false, without quotes"


Choice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]


class DecisionGrader(Grader):
    """The last line is `KEY=<choice> REASON=<sentence>`; passes when the choice is `expected.decision`.

    That may be a list of right choices. An answer in any other form is an error. With a `skill`, a judge
    that calls tools decides by its first call: the first choice means using the skill.
    """

    type: Literal["decision"]
    key: str = Field(default="DECISION", pattern=r"^[A-Z]+$")
    choices: list[Choice] = Field(default=["YES", "NO"], min_length=2, max_length=200)

    skill: Text | None = Field(default=None, exclude_if=is_unset)

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The choices that pass; none when the case has no decision."""
        decision = expected.get("decision", [])
        if isinstance(decision, str):
            return [decision]
        return [str(one) for one in decision]

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs the right decision, which must be among the choices."""
        wanted = self.wanted(expected)
        if wanted and set(wanted) <= set(self.choices):
            return None
        message = f"grader {self.label!r} needs expected.decision, one of {', '.join(self.choices)}"
        return message, f"add expected: {{decision: {self.choices[0]}}}"
