"""Checks by regular expression."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AliasChoices, BeforeValidator, Field, ValidationInfo, field_validator

from evalq.definitions.graders.expectation import Text, needs
from evalq.definitions.graders.grader import Grader, Lack, lack_of
from evalq.definitions.regexes import Flag, check_regex, read_flags

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
        for pattern in [written] if isinstance(written, str) else written or ():
            check_regex(pattern, info.data.get("flags", ()))
        return written

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The patterns of which one is enough; empty when neither grader nor case has any."""
        pattern = self.pattern or expected.get(self.case_key)
        return [pattern, *self.alternatives] if isinstance(pattern, str) and pattern else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs a pattern, and one that compiles."""
        patterns = self.wanted(expected)
        if not patterns:
            return needs(self, "pattern", f'{self.case_key}: "…"', "a regular expression")
        try:
            check_regex(patterns[0], self.flags)
        except ValueError as exc:
            return lack_of(exc, f"expected.{self.case_key}")
        return None


class Matches(PatternGrader):
    """The pattern is found in the answer; with `must_match: false`, it is not.

    `capture_groups` are reported with the mark: groups by their names, or names for the groups by position.
    """

    type: Literal["matches", "regex"]
    must_match: bool = True
    capture_groups: list[Text] = Field(default=[])


class NotMatches(PatternGrader):
    """The pattern, and each of its alternatives, is nowhere in the answer."""

    case_key: ClassVar[str] = "must_not_match"

    type: Literal["not_matches"]
