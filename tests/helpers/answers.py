"""Answers to grade in tests: texts, or what a call took."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders.code import FunctionOutput
from evalq.definitions.task import TaskConfig
from evalq.grading.code import mark_function_output
from evalq.grading.grade import Stage, grade_answer
from evalq.grading.grader import AnswerToGrade, Mark
from evalq.grading.sandbox.program import Program, ProgramRun
from evalq.records import Completion, Grade, ToolCall, Usage

Result = TypeVar("Result")


class NoContext:
    """A check asks nobody; the test waits for it."""

    async def apart(self, work: Callable[[], Result]) -> Result:
        return work()

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a check must do without {name}")


class SandboxContext(NoContext):
    """A context whose sandbox is a plain function."""

    def __init__(self, run: Callable[[Program], ProgramRun]) -> None:
        self._run = run

    async def run(self, program: Program) -> ProgramRun:
        return self._run(program)


def mark_code(grader: FunctionOutput, answer: str, run: Callable[[Program], ProgramRun]) -> Mark:
    """The mark of the code in an answer; `run` is the sandbox."""
    subject = AnswerToGrade(task_of(), EvalCase(id="c", inputs={}), completion(answer))
    return asyncio.run(mark_function_output(grader, subject, SandboxContext(run)))


def grade_now(answer: AnswerToGrade, context: Any, *, stage: Stage = "call") -> list[Grade]:
    """The grades of an answer, in a loop of their own."""
    return asyncio.run(grade_answer(answer, context, stage=stage))


def completion(answer: str | dict[str, Any]) -> Completion:
    """A text, or {text, latency_ms, cost_usd, input_tokens, output_tokens, tool_calls}."""
    if isinstance(answer, str):
        return Completion("answered", answer)
    calls = tuple(ToolCall(call["name"], call.get("arguments", {})) for call in answer.get("tool_calls", ()))
    return Completion(
        "answered",
        answer.get("text", ""),
        Usage(answer.get("input_tokens", 0), answer.get("output_tokens", 0)),
        answer.get("latency_ms", 0),
        Decimal(answer.get("cost_usd", 0)),
        tool_calls=calls,
    )


def task_of(*graders: dict[str, Any]) -> TaskConfig:
    return TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "", "graders": list(graders)}
    )


def grade(
    grader: dict[str, Any], answer: str | dict[str, Any], expected: dict[str, Any] | None = None
) -> Grade:
    """What a grader of a task makes of an answer."""
    case = EvalCase(id="c", inputs={}, expected=expected)
    [found] = grade_now(AnswerToGrade(task_of(grader), case, completion(answer)), NoContext())
    return found


def passed(
    grader: dict[str, Any], answer: str | dict[str, Any], expected: dict[str, Any] | None = None
) -> bool | None:
    """True, False, or None for an error."""
    return grade(grader, answer, expected).passed
