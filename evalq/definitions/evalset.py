"""An evalset: the cases a task is asked on, each with what is expected and its stratum."""

from typing import Any, Literal

from pydantic import Field

from evalq.definitions.task import NAME_PATTERN, Definition


class EvalCase(Definition):
    """One entry of an evalset."""

    id: str = Field(min_length=1, max_length=200)
    inputs: dict[str, Any]
    expected: dict[str, Any] | None = None
    stratum: dict[str, str] = Field(default={})
    expected_type: Literal["positive", "negative"] = "positive"
    draft: bool = Field(default=False, exclude_if=lambda value: not value)
    """Drafted, and not yet looked at by a person: no bake-off asks it."""

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
