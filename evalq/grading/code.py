"""Marking code: find it in the answer, have its function called in the sandbox, compare what comes back.

An answer without code, code that does not load, that raises, hangs, runs out of memory or ends itself: all
that is the judge's doing and fails. A sandbox that could not be set up is our own: UngradableAnswer, no fail.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from textwrap import dedent
from typing import Any

from evalq.definitions.graders.code import FunctionCase, FunctionOutput
from evalq.grading.compare_json import matches, matches_exception
from evalq.grading.grader import AnswerToGrade, GradingContext, Mark
from evalq.grading.sandbox.program import CallResult, FunctionCall, Program, ProgramRun

_MAX_CHARS = 1_000_000
_LINE_CHARS = 2000

_OPENS = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[\w+#.-]*)(?P<rest>[^\n]*)"
)
_PYTHON_TAGS = {"python", "py", "python3", "py3"}

_STARTS = re.compile(
    r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]|from[ \t]+[\w.]+[ \t]+import[ \t]|"
    r"import[ \t]+[\w.]+[ \t]*(?:as[ \t]|,|$|#)|@\w|\w+[ \t]*=[ \t]*lambda\b"
)
_ASSIGNS = re.compile(r"[A-Za-z_]\w*(?:[ \t]*,[ \t]*\w+)*[ \t]*(?::[^=]{1,200})?=(?!=)")
_USES = re.compile(r">>>|(?:print|assert|input)\b|[A-Za-z_][\w.]*\(")
_GOES_ON = re.compile(
    r"[ \t#)\]}\"'@]|$|(?:if|elif|else|for|while|with|try|except|finally|match)\b.*:[ \t]*(?:#.*)?$|"
    r"(?:>>>|assert\b)|[A-Za-z_][\w.]*\(.*[)\],({][ \t]*(?:#.*)?$"
)


@dataclass(frozen=True)
class _Block:
    """One fenced block: what its fence says it is, and its text."""

    tag: str
    text: str


def extract_code(answer: str, function_name: str) -> str:
    """The code to run for `function_name`; empty when the answer holds none.

    Fences marked as Python come first, then those without a mark, then plain text. Of several, the last one
    that defines the function counts, with what the others define for it; those that only show its use do not.
    """
    text = answer[:_MAX_CHARS].replace("\r\n", "\n")
    blocks = list(_fenced(text))
    marked = [block.text for block in blocks if block.tag in _PYTHON_TAGS]
    likely = [block.text for block in blocks if block.tag in {"", *_PYTHON_TAGS}]
    if any(_defines(block, function_name) for block in marked):
        return _joined(marked, function_name)
    if likely:
        return _joined(likely, function_name)
    return _joined(
        [block.text for block in blocks if _defines(block.text, function_name)], function_name
    ) or ("" if blocks else _without_words(text))


def _fenced(text: str) -> Iterator[_Block]:
    """The fenced blocks in order; one that is never closed goes to the end."""
    lines = iter(text.split("\n"))
    for line in lines:
        opened = _OPENS.match(line[:_LINE_CHARS])
        if opened is None or "`" in opened["rest"]:
            continue
        closes = re.compile(rf"[ \t]*{re.escape(opened['fence'][0])}{{{len(opened['fence'])},}}[ \t]*$")
        body = takewhile(lambda one, closes=closes: not closes.match(one[:_LINE_CHARS]), lines)  # type: ignore[misc]
        yield _Block(opened["tag"].lower(), dedent("\n".join(body)))


def _joined(blocks: Sequence[str], name: str) -> str:
    """The last block that defines the function, among those that define what it may need."""
    main = next((at for at in reversed(range(len(blocks))) if _defines(blocks[at], name)), None)
    if main is None:
        return "\n\n".join(blocks)
    words = set(re.findall(r"\w+", blocks[main]))
    kept = [
        block
        for at, block in enumerate(blocks)
        if at == main
        or (at < main and _is_support(block) and not _defines(block, name))
        or (at > main and _is_needed(block, words))
    ]
    return "\n\n".join(kept)


def _defines(block: str, name: str) -> bool:
    is_bound = rf"^{re.escape(name)}[ \t]*(?::[^=\n]{{1,200}})?=(?!=)"
    is_defined = rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b"
    return re.search(f"{is_defined}|{is_bound}", block, re.MULTILINE) is not None


def _is_support(block: str) -> bool:
    """True for a block that defines something and calls nothing."""
    lines = [line[:_LINE_CHARS] for line in block.split("\n")]
    return any(_STARTS.match(line) or _ASSIGNS.match(line) for line in lines) and not any(
        map(_USES.match, lines)
    )


def _is_needed(block: str, words: set[str]) -> bool:
    """True for a later block that defines what the main one, in these words, uses."""
    names = re.findall(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", block, re.MULTILINE)
    return _is_support(block) and not words.isdisjoint(names)


def _without_words(text: str) -> str:
    """Plain code, or the first stretch of it in a text: from its first line to the next line of words."""
    kept: list[str] = []
    in_text = False  # a string over several lines may hold anything
    for line in text.split("\n"):
        head = line[:_LINE_CHARS]
        if not kept and not (_STARTS.match(head) or _ASSIGNS.match(head)):
            continue
        if not in_text and kept and not any(one.match(head) for one in (_GOES_ON, _STARTS, _ASSIGNS)):
            break
        in_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
        kept.append(line)
    return "\n".join(kept) if any(map(_STARTS.match, kept)) else ""


__all__ = ["extract_code", "mark_code", "mark_function_output", "mark_run", "program_of"]

_SHOWN_CHARS = 120
_DETAIL_CHARS = 500


def mark_function_output(grader: FunctionOutput, answer: AnswerToGrade, context: GradingContext) -> Mark:
    """Passed when every test case did; the score is their share."""
    return mark_code(grader.for_case(answer.expected), answer.text, context.run)


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
    calls = tuple(FunctionCall(tuple(case.args), case.kwargs) for case in grader.test_cases)
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
