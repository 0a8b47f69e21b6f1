"""The grader that runs the code in an answer: which function, its arguments, the expected results."""

import keyword
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, FiniteFloat, ValidationError, ValidationInfo, field_validator, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.graders.grader import Grader, Misfit, misfit_of
from evalq.records import Executor

Comparator = Literal["equals", "approx", "unordered", "contains", "raises"]

_ALIASES = {"input": "args", "output": "expected"}
_EXECUTOR_ALIASES = {
    "js": "javascript",
    "node": "javascript",
    "nodejs": "javascript",
    "bash": "shell",
    "sh": "shell",
}
_FUNCTION_NAMES: dict[str, re.Pattern[str]] = {
    "javascript": re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,199}"),
    "shell": re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,199}"),
}
_LANGUAGES: dict[str, str] = {"python": "Python", "javascript": "JavaScript", "shell": "shell"}


class FunctionCase(Definition):
    """One call and its expected result. `input` means `args`, `output` means `expected`.

    With `raises`, expected is an exception's name ("ValueError", "ValueError: part of the message", or a
    mapping of `type` and `message`), or nothing for any exception. `tolerance` is the largest difference
    that `approx` allows.
    """

    args: list[Any] = Field(default=[])
    kwargs: dict[str, Any] = Field(default={})
    expected: Any = None
    comparator: Comparator = "equals"
    tolerance: FiniteFloat | None = Field(default=None, ge=0)
    name: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="before")
    @classmethod
    def _resolve_aliases(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for alias, name in _ALIASES.items():
            if alias in value and name in value:
                raise ValueError(f"{alias} and {name} are the same; keep one of them")
        return {_ALIASES.get(key, key): content for key, content in value.items()}

    @model_validator(mode="after")
    def _has_expected(self) -> Self:
        if self.comparator == "raises":
            self.raises()
        elif "expected" not in self.model_fields_set:
            raise ValueError("nothing is expected; add expected: …, or comparator: raises")
        if self.tolerance is not None and self.comparator != "approx":
            raise ValueError("tolerance is for comparator: approx; remove it, or compare with approx")
        return self

    def raises(self) -> tuple[str, str]:
        """The expected exception's name and a part of its message, either empty for any."""
        match self.expected:
            case None:
                return "", ""
            case str() as text:
                name, _, part = text.partition(":")
                return name.strip(), part.strip()
            case {"type": str() as name, **rest} if set(rest) <= {"message"}:
                return name, str(rest.get("message", ""))
        raise ValueError("expected names no exception; write expected: ValueError, or {type: …, message: …}")


class FunctionOutput(Grader):
    """Runs the function the judge wrote, in a sandbox, and compares its results.

    A case's `expected` may supply `function_name` and `test_cases` under the same names.
    `timeout_per_case` is in seconds. With `executor: shell` the result is what the function prints; without a
    `function_name` the answer is a script that is run with the arguments.
    """

    type: Literal["function_output"]
    executor: Executor = "python"
    function_name: str | None = None
    test_cases: list[FunctionCase] = Field(default=[], max_length=1000)
    timeout_per_case: FiniteFloat = Field(default=5, gt=0, le=60)
    sandbox: bool = True

    @field_validator("executor", mode="before")
    @classmethod
    def _resolve_executor(cls, value: Any) -> Any:
        return _EXECUTOR_ALIASES.get(value, value) if isinstance(value, str) else value

    @field_validator("function_name")
    @classmethod
    def _is_a_name_of_its_language(cls, name: str | None, info: ValidationInfo) -> str | None:
        executor = info.data.get("executor", "python")
        if name is not None and not _is_function_name(name, executor):
            raise ValueError(
                f"cannot name a {_LANGUAGES[executor]} function; write the function's name alone, without "
                "brackets"
            )
        return name

    @field_validator("test_cases")
    @classmethod
    def _have_arguments_of_their_language(
        cls, cases: list[FunctionCase], info: ValidationInfo
    ) -> list[FunctionCase]:
        executor = info.data.get("executor", "python")
        if executor != "python" and any(case.kwargs for case in cases):
            raise ValueError(f"{_LANGUAGES[executor]} has no keyword arguments; put the values into args")
        return cases

    @field_validator("sandbox")
    @classmethod
    def _is_sandboxed(cls, sandbox: bool) -> bool:
        if not sandbox:
            raise ValueError(
                "a task cannot do without the sandbox; remove this: a weaker mode is set in evalq.yaml, as "
                "sandbox: unsafe"
            )
        return sandbox

    def for_case(self, expected: Mapping[str, Any] | None) -> "FunctionOutput":
        """The grader with the additions of the case's `expected`; ValueError if nothing can be called."""
        found = expected or {}
        try:
            added = FunctionOutput(
                type=self.type,
                executor=self.executor,
                function_name=found.get("function_name"),
                test_cases=found.get("test_cases", []),
            )
        except ValidationError as exc:
            first = exc.errors()[0]
            message = first["msg"].removeprefix("Value error, ")
            raise ValueError(f"expected.{'.'.join(map(str, first['loc']))}: {message}") from exc
        function_name = self.function_name or added.function_name
        test_cases = [*self.test_cases, *added.test_cases]
        if function_name is None and self.executor != "shell":
            raise ValueError(
                "no function to call; add function_name to the grader, or to the case's expected"
            )
        if not test_cases:
            raise ValueError(
                "nothing to call it with; add test_cases to the grader, or to the case's expected"
            )
        return self.model_copy(update={"function_name": function_name, "test_cases": test_cases})

    def find_misfit(self, expected: Mapping[str, Any]) -> Misfit | None:
        """It needs a function's name and calls of it."""
        try:
            self.for_case(expected)
        except ValueError as exc:
            return misfit_of(exc, f"grader {self.label!r}")
        return None


def _is_function_name(name: str, executor: Executor) -> bool:
    if executor == "python":
        return name.isidentifier() and not keyword.iskeyword(name)
    return _FUNCTION_NAMES[executor].fullmatch(name) is not None
