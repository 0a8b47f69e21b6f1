"""Checks of an answer's words: what it contains, how it begins and ends, what it equals or comes near to."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, FiniteFloat, model_validator

from evalq.definitions.graders.expectation import Text, TextGrader, Texts, answers_in, is_texts, needs
from evalq.definitions.graders.grader import Grader, Lack


class Contains(TextGrader):
    """The text, or one of its alternatives, occurs in the answer."""

    type: Literal["contains", "icontains"]


class NotContains(Grader):
    """Neither the text nor one of its alternatives occurs in the answer."""

    type: Literal["not_contains"]
    value: Text | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The texts that must not occur: its own, or the case's `must_not_include`."""
        banned = self.value or expected.get("must_not_include")
        texts = [banned] if isinstance(banned, str) else banned
        return [*texts, *self.alternatives] if texts and is_texts(texts) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs one text at least."""
        if self.wanted(expected):
            return None
        return needs(self, "value", 'must_not_include: ["…"]', "a list of texts")


class StartsEnds(TextGrader):
    """The answer begins or ends with the text; blanks around both do not count."""

    type: Literal["starts_with", "ends_with"]
    case_sensitive: bool = True


class Equals(TextGrader):
    """The answer is the text."""

    type: Literal["equals", "exact_match"]
    value: str | None = Field(default=None, validation_alias=AliasChoices("value", "expected"))
    case_sensitive: bool = True
    trim_whitespace: bool = True
    normalize_newlines: bool = True


class ContainsAny(Grader):
    """At least one of the texts occurs in the answer."""

    type: Literal["contains_any", "icontains_any"]
    values: Texts | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("values", "value", "expected")
    )
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """Its own texts, or the case's `any_of`, or its `answer` and `alternatives`."""
        texts = self.values or expected.get("any_of") or answers_in(expected)
        return [*texts, *self.alternatives] if is_texts(texts) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs one text at least."""
        return None if self.wanted(expected) else needs(self, "values", 'any_of: ["…"]', "a list of texts")


class ContainsAll(Grader):
    """Every one of the texts occurs in the answer; or every one of one of the alternative lists."""

    type: Literal["contains_all", "icontains_all"]
    values: Texts | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("values", "value", "expected")
    )
    alternatives: list[Texts] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[list[str]]:
        """The lists of which one must be there completely."""
        texts = self.values or expected.get("all_of")
        return [texts, *self.alternatives] if texts and is_texts(texts) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs one list at least."""
        return None if self.wanted(expected) else needs(self, "values", 'all_of: ["…"]', "a list of texts")


def _choices(value: Any) -> Any:
    """Each demand as the list of texts that fulfil it."""
    if isinstance(value, str):
        return [[value]]
    return [[item] if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


Demands = Annotated[list[Annotated[list[Text], Field(min_length=1)]], BeforeValidator(_choices)]


class Semantic(Grader):
    """What must and what must not be said, letter case and line breaks aside.

    An entry that is itself a list names alternatives: one of them is enough, or too much.
    """

    type: Literal["semantic"]
    must_include: Demands | None = None
    must_not_include: Demands | None = None
    case_sensitive: bool = False

    def demands(self, expected: Mapping[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
        """What to include and what not: the grader's own lists, or else the case's."""
        wanted = (
            _choices(expected.get("must_include", [])) if self.must_include is None else self.must_include
        )
        banned = (
            _choices(expected.get("must_not_include", []))
            if self.must_not_include is None
            else self.must_not_include
        )
        return wanted, banned

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs one demand at least, and every demand a text."""
        wanted, banned = self.demands(expected)
        if (wanted or banned) and all(_are_demands(demands) for demands in (wanted, banned)):
            return None
        return needs(self, "must_include", 'must_include: ["…"]', "a list of texts")


def _are_demands(value: object) -> bool:
    return isinstance(value, list) and all(is_texts(choices) for choices in value)


class Levenshtein(TextGrader):
    """The answer is near enough to the text: by likeness from 0 to 1, or by single-letter edits."""

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
    """The answer has at least so many words: what blanks separate."""

    type: Literal["min_tokens", "min_words"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "min"))


class MaxWords(Grader):
    """The answer has at most so many words: what blanks separate."""

    type: Literal["max_tokens", "max_words"]
    value: int = Field(ge=0, validation_alias=AliasChoices("value", "max"))
