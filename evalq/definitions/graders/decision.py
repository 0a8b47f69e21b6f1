"""A grader of answers that are a choice on the last line: `DECISION=YES REASON=…`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from evalq.definitions.definition import is_unset
from evalq.definitions.graders.expectation import Text
from evalq.definitions.graders.grader import Grader, Lack

Choice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]


class Decision(Grader):
    """The last line is `KEY=<choice> REASON=<sentence>`; passes when the choice is `expected.decision`.

    That may be a list of choices of which each is right. An answer in any other form is an error. With a
    `skill`, a judge that calls tools has decided by the first of them: the first choice is to use the skill.
    """

    type: Literal["decision"]
    key: str = Field(default="DECISION", pattern=r"^[A-Z]+$")
    choices: list[Choice] = Field(default=["YES", "NO"], min_length=2, max_length=200)

    skill: Text | None = Field(default=None, exclude_if=is_unset)

    def wanted(self, expected: Mapping[str, Any]) -> list[str]:
        """The choices that pass; none when the case does not say."""
        decision = expected.get("decision", [])
        return [decision] if isinstance(decision, str) else [str(one) for one in decision]

    def lack(self, expected: Mapping[str, Any]) -> Lack | None:
        """It needs to know what is right, and that must be one of the choices."""
        wanted = self.wanted(expected)
        if wanted and set(wanted) <= set(self.choices):
            return None
        message = f"grader {self.label!r} needs expected.decision, one of {', '.join(self.choices)}"
        return message, f"add expected: {{decision: {self.choices[0]}}}"
