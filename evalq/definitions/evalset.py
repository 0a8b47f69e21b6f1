"""An evalset: the cases of a task, each with its inputs, what is expected, and its stratum."""

from typing import Any, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.definition import NAME_PATTERN, Definition, is_unset
from evalq.definitions.graders import GraderConfig


class CaseMessage(Definition):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class EvalCase(Definition):
    """One entry of an evalset.

    `messages` are a conversation sent instead of the task's rendered template; the last is the user's.
    `graders` mark this case's answers beside the task's own; `pass_threshold` overrides the task's.
    """

    id: str = Field(min_length=1, max_length=200)
    inputs: dict[str, Any]
    expected: dict[str, Any] | None = None
    stratum: dict[str, str] = Field(default={})
    expected_type: Literal["positive", "negative"] = "positive"
    messages: list[CaseMessage] = Field(default=[], exclude_if=is_unset)
    graders: list[GraderConfig] = Field(default=[], exclude_if=is_unset)
    pass_threshold: FiniteFloat | None = Field(default=None, ge=0, le=1, exclude_if=is_unset)
    metadata: dict[str, Any] = Field(default={}, exclude_if=is_unset)
    draft: bool = Field(default=False, exclude_if=is_unset)
    """Drafted and not yet accepted by a person: left out of every bake-off."""

    @model_validator(mode="after")
    def _conversation_ends_with_the_user(self) -> Self:
        if self.messages and self.messages[-1].role != "user":
            raise ValueError("the last message is not the user's; end with role: user")
        return self

    @property
    def stratum_name(self) -> str:
        """The stratum's values joined in the order written: `positive_subtle_VN`; "" without strata."""
        return "_".join(self.stratum.values())


class EvalSet(Definition):
    """One file under `evalsets/TASK/`."""

    name: str = Field(pattern=NAME_PATTERN)
    task: str | None = None
    description: str = ""
    cases: list[EvalCase] = Field(min_length=1)
