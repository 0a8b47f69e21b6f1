"""What a check compares with: its own value, or else the case's `expected`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, StringConstraints

from evalq.definitions.graders.grader import Grader, Lack

Text = Annotated[str, StringConstraints(min_length=1)]
"""Never empty: an empty text occurs in every answer."""


def _listed(value: Any) -> Any:
    """One text stands for a list of one."""
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[Text], BeforeValidator(_listed)]


def is_text(value: object) -> bool:
    """An empty text would occur in every answer."""
    return isinstance(value, str) and bool(value.strip())


def is_texts(value: object) -> bool:
    """A list of such texts, at least one."""
    return isinstance(value, list) and bool(value) and all(is_text(entry) for entry in value)


def answers_in(expected: Mapping[str, Any]) -> list[Any]:
    """`answer` and its `alternatives`, whatever they are; nothing without an answer."""
    if "answer" not in expected:
        return []
    others = expected.get("alternatives", [])
    return [expected["answer"], *(others if isinstance(others, list) else [others])]


class TextGrader(Grader):
    """Compares with `value` or one of `alternatives`; without a value, with the case's `answer` and its."""

    value: str | None = Field(default=None, min_length=1, validation_alias=AliasChoices("value", "expected"))
    alternatives: list[Text] = Field(default=[])

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The texts of which one is enough; empty when neither grader nor case names any."""
        if self.value is not None:
            return [self.value, *self.alternatives]
        texts = answers_in(expected)
        return [*texts, *self.alternatives] if is_texts(texts) else []

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """Without a text to compare with there is nothing to check."""
        if self.wanted(expected):
            return None
        return needs(self, "value", 'answer: "…"', "a text")


def needs(grader: Grader, parameter: str, key: str, kind: str) -> Lack:
    """The lack of a parameter that the case does not make good either."""
    name = key.partition(":")[0]
    message = f"grader {grader.label!r} has no {parameter}, and the case no expected.{name}, {kind}"
    return message, f"add {parameter}: to the grader, or expected: {{{key}}} to the case"
