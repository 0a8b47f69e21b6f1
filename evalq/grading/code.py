"""Marking code: find it in the answer, have its function called in the sandbox, compare what comes back.

An answer without code, code that does not load, that raises, hangs, runs out of memory or ends itself: all
that is the judge's doing and fails. A sandbox that could not be set up is our own: UngradableAnswer, no fail.
"""

import json
from collections.abc import Callable
from typing import Any

from evalq.definitions.graders.code import FunctionCase, FunctionOutput
from evalq.grading.code_text import extract_code
from evalq.grading.comparators import matches, matches_exception
from evalq.grading.subject import Bench, Mark, Subject
from evalq.sandbox.program import Call, CallResult, Program, ProgramRun

__all__ = ["extract_code", "mark_code", "mark_function_output", "mark_run", "program_of"]

_SHOWN_CHARS = 120
_DETAIL_CHARS = 500


def mark_function_output(grader: FunctionOutput, subject: Subject, bench: Bench) -> Mark:
    """Passed when every test case did; the score is their share."""
    return mark_code(grader.for_case(subject.expected), subject.answer, bench.run)


def mark_code(grader: FunctionOutput, answer: str, run: Callable[[Program], ProgramRun]) -> Mark:
    """Mark one answer; `run` is the sandbox, and raises UngradableAnswer when that could not be set up."""
    program = program_of(grader, answer)
    if program is None:
        return Mark(False, 0.0, "the answer holds no code", {"total_count": len(grader.test_cases)})
    return mark_run(grader, run(program))


def program_of(grader: FunctionOutput, answer: str) -> Program | None:
    """What is to be run for this answer: its code and the cases' arguments, never what they expect."""
    assert grader.function_name is not None, "for_case comes first"
    assert grader.test_cases, "for_case comes first"
    source = extract_code(answer, grader.function_name)
    calls = tuple(Call(tuple(case.args), case.kwargs) for case in grader.test_cases)
    return Program(source, grader.function_name, calls, grader.timeout_per_case) if source.strip() else None


def mark_run(grader: FunctionOutput, run: ProgramRun) -> Mark:
    """Each case's result held against what it expects; stamped with the isolation the code ran in."""
    pairs = list(zip(grader.test_cases, run.results, strict=True))
    marks = [_is_right(case, result) for case, result in pairs]
    first = next((at for at, passed in enumerate(marks) if not passed), None)
    reason = f"{sum(marks)} of {len(marks)} cases passed"
    if first is not None:
        reason += f"; {_label(first, pairs[first][0])}: {_why(*pairs[first])}"
    details = {
        "isolation": run.isolation,
        "python": run.python,
        "passed_count": sum(marks),
        "total_count": len(marks),
        "test_results": [
            _detail(at, case, result, passed)
            for at, ((case, result), passed) in enumerate(zip(pairs, marks, strict=True))
        ],
    }
    stamp = " (isolation: weak)" if run.isolation == "weak" else ""
    return Mark(first is None, sum(marks) / len(marks), f"{reason}{stamp}", details)


def _is_right(case: FunctionCase, result: CallResult) -> bool:
    if result.end == "returned":
        return matches(case, result.value)
    is_exception = result.end in ("raised", "out_of_memory")
    return is_exception and matches_exception(case, result.raised, result.message)


def _label(at: int, case: FunctionCase) -> str:
    return f"case {at + 1}" + (f" ({case.name})" if case.name else "")


def _why(case: FunctionCase, result: CallResult) -> str:
    wanted = case.comparator if case.comparator in ("contains", "unordered") else ""
    expected = f"expected {wanted} {_shown(case.expected)}".replace("  ", " ")
    if case.comparator == "raises":
        expected = f"expected {_shown(case.expected) if case.expected else 'an exception'}"
    got = f"got {_shown(result.value)}" if result.end == "returned" else _trouble(result)
    return f"{expected}, {got}"


def _trouble(result: CallResult) -> str:
    """How a call ended that returned nothing one can compare."""
    name = result.raised[0] if result.raised else ""
    said = ": ".join(filter(None, (name, result.message)))
    return _storable(f"{result.end.replace('_', ' ')}{said and f': {said}'}")[:_DETAIL_CHARS]


def _detail(at: int, case: FunctionCase, result: CallResult, passed: bool) -> dict[str, Any]:
    found = (
        {"output": _shown(result.value, _DETAIL_CHARS)}
        if result.end == "returned"
        else {"error": _trouble(result)}
    )
    return {
        "case": at + 1,
        "name": case.name,
        "passed": passed,
        "end": result.end,
        **found,
        "expected": _shown(case.expected, _DETAIL_CHARS),
        "wall_ms": result.wall_ms,
    }


def _shown(value: Any, chars: int = _SHOWN_CHARS) -> str:
    """A value as short JSON text: as text it can be stored, whatever is in it."""
    try:
        text = _storable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "a value nested too deep to be shown"
    return text if len(text) <= chars else f"{text[:chars]}…"


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")
