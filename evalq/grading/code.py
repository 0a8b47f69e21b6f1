"""Marks code: extracts it from the answer, has its function called in the sandbox, compares the results.

An answer without code fails, and so does code that does not load, raises, hangs, runs out of memory or
exits: that is the judge's fault. A sandbox that cannot start is ours: UngradableAnswer, not a fail.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from evalq.definitions.graders.code import FunctionCase, FunctionOutput
from evalq.grading.compare_json import matches, matches_exception
from evalq.grading.fenced_code import MAX_ANSWER_CHARS, MAX_LINE_CHARS, extract_script, fenced_blocks
from evalq.grading.grader import AnswerToGrade, GradingContext, Mark
from evalq.grading.sandbox.program import CallResult, FunctionCall, Program, ProgramRun
from evalq.records import Executor

_QUOTED_CHARS = 120
_DETAIL_CHARS = 500

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


async def mark_function_output(
    grader: FunctionOutput, answer: AnswerToGrade, context: GradingContext
) -> Mark:
    """Passed when every test case passed; the score is their share."""
    wanted = grader.for_case(answer.expected)
    program = await context.apart(lambda: program_of(wanted, answer.text))
    if program is None:
        return Mark(False, 0.0, "the answer holds no code", {"total_count": len(wanted.test_cases)})
    run = await context.run(program)
    return await context.apart(lambda: mark_run(wanted, run))


def program_of(grader: FunctionOutput, answer: str) -> Program | None:
    """The program for this answer: its code and the cases' arguments, never what they expect."""
    assert grader.test_cases, "for_case comes first"
    function = grader.function_name or ""
    if grader.executor == "python":
        source = extract_code(answer, function)
    else:
        source = extract_script(answer, function, grader.executor)
    if not source.strip():
        return None
    calls = tuple(FunctionCall(tuple(case.args), case.kwargs) for case in grader.test_cases)
    return Program(source, function, calls, grader.timeout_per_case, executor=grader.executor)


def mark_run(grader: FunctionOutput, run: ProgramRun) -> Mark:
    """Compare each call's result with what its case expects; the mark names the isolation the code ran in."""
    n_passed, first_failure, details = 0, "", []
    for number, (case, result) in enumerate(zip(grader.test_cases, run.results, strict=True), start=1):
        passed = _is_right(case, result, grader.executor)
        n_passed += passed
        details.append(_describe_case(number, case, result, passed))
        if not passed and not first_failure:
            name = f" ({case.name})" if case.name else ""
            first_failure = f"; case {number}{name}: {_explain(case, result)}"
    total = len(run.results)
    stamp = " (isolation: weak)" if run.isolation == "weak" else ""
    return Mark(
        n_passed == total,
        n_passed / total,
        f"{n_passed} of {total} cases passed{first_failure}{stamp}",
        {
            "isolation": run.isolation,
            "executor": grader.executor,
            "python": run.python,
            "passed_count": n_passed,
            "total_count": total,
            "test_results": details,
        },
    )


def _is_right(case: FunctionCase, result: CallResult, executor: Executor) -> bool:
    if result.end == "returned":
        value = _read_printed(case, result.value) if executor == "shell" else result.value
        return matches(case, value)
    is_exception = result.end in ("raised", "out_of_memory")
    return is_exception and matches_exception(case, result.raised, result.message)


def _read_printed(case: FunctionCase, printed: Any) -> Any:
    """What a shell function printed: as JSON if the case expects anything but text, else as it is."""
    if isinstance(case.expected, str) or not isinstance(printed, str):
        return printed
    try:
        return json.loads(printed)
    except (ValueError, RecursionError):
        return printed


def _explain(case: FunctionCase, result: CallResult) -> str:
    """What a case expected, and what it got instead."""
    expected = _as_json(case.expected)
    if case.comparator in ("contains", "unordered"):
        expected = f"{case.comparator} {expected}"
    elif case.comparator == "raises" and not case.expected:
        expected = "an exception"
    got = f"got {_as_json(result.value)}" if result.end == "returned" else _describe_end(result)
    return f"expected {expected}, {got}"


def _describe_end(result: CallResult) -> str:
    """How a call ended that did not return."""
    parts = [result.end.replace("_", " "), *result.raised[:1], result.message]
    return _storable(": ".join(part for part in parts if part))[:_DETAIL_CHARS]


def _describe_case(number: int, case: FunctionCase, result: CallResult, passed: bool) -> dict[str, Any]:
    detail = {"case": number, "name": case.name, "passed": passed, "end": result.end}
    if result.end == "returned":
        detail["output"] = _as_json(result.value, _DETAIL_CHARS)
    else:
        detail["error"] = _describe_end(result)
    detail["expected"] = _as_json(case.expected, _DETAIL_CHARS)
    detail["wall_ms"] = result.wall_ms
    return detail


def _as_json(value: Any, chars: int = _QUOTED_CHARS) -> str:
    """A value as short JSON that the database can store."""
    try:
        text = _storable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "a value nested too deep to be shown"
    return text if len(text) <= chars else f"{text[:chars]}…"


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def extract_code(answer: str, function_name: str) -> str:
    """The code to run for `function_name`; empty if the answer has none.

    Fences marked as Python come first, then unmarked ones, then plain text. Of several blocks, the last that
    defines the function counts, together with blocks that define what it needs; blocks that only show how
    to use it do not count.
    """
    text = answer[:MAX_ANSWER_CHARS].replace("\r\n", "\n")
    blocks = list(fenced_blocks(text))
    if not blocks:
        return _code_in_prose(text)
    marked = [block.text for block in blocks if block.tag in _PYTHON_TAGS]
    if any(_defines(block, function_name) for block in marked):
        return _join_blocks(marked, function_name)
    likely = [block.text for block in blocks if not block.tag or block.tag in _PYTHON_TAGS]
    if likely:
        return _join_blocks(likely, function_name)
    defining = [block.text for block in blocks if _defines(block.text, function_name)]
    return _join_blocks(defining, function_name)


def _join_blocks(blocks: Sequence[str], name: str) -> str:
    """The last block that defines the function, with the blocks that define what it may need."""
    defining = [at for at, block in enumerate(blocks) if _defines(block, name)]
    if not defining:
        return "\n\n".join(blocks)
    main = defining[-1]
    words = set(re.findall(r"\w+", blocks[main]))
    before = [block for block in blocks[:main] if _is_support(block) and not _defines(block, name)]
    after = [block for block in blocks[main + 1 :] if _is_needed(block, words)]
    return "\n\n".join([*before, blocks[main], *after])


def _defines(block: str, name: str) -> bool:
    is_bound = rf"^{re.escape(name)}[ \t]*(?::[^=\n]{{1,200}})?=(?!=)"
    is_defined = rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b"
    return re.search(f"{is_defined}|{is_bound}", block, re.MULTILINE) is not None


def _is_support(block: str) -> bool:
    """True for a block that defines something and calls nothing."""
    defines = False
    for line in block.split("\n"):
        head = line[:MAX_LINE_CHARS]
        if _USES.match(head):
            return False
        if _STARTS.match(head) or _ASSIGNS.match(head):
            defines = True
    return defines


def _is_needed(block: str, words: set[str]) -> bool:
    """True for a later block that defines a name among the words of the main one."""
    names = re.findall(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", block, re.MULTILINE)
    return _is_support(block) and not words.isdisjoint(names)


def _code_in_prose(text: str) -> str:
    """Plain code, or the first stretch of code in a text: from its first line to the next line of prose."""
    kept: list[str] = []
    in_text = False  # a string over several lines may hold anything
    for line in text.split("\n"):
        head = line[:MAX_LINE_CHARS]
        is_start = _STARTS.match(head) or _ASSIGNS.match(head)
        if not kept and not is_start:
            continue
        if kept and not in_text and not is_start and not _GOES_ON.match(head):
            break
        in_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
        kept.append(line)
    return "\n".join(kept) if any(map(_STARTS.match, kept)) else ""
