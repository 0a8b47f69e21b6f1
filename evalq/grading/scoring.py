"""Marks by a task's scoring block: by substrings, or VALID and INVALID from a grader model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.fences import unfence
from evalq.definitions.prompt import describe_case
from evalq.definitions.rubrics import RUBRICS
from evalq.definitions.task import FINDINGS_RULE, PassRule, TaskConfig
from evalq.definitions.template import check_template, render
from evalq.errors import InputError, Problem, UngradableAnswer
from evalq.grading.grader import GradingContext
from evalq.grading.prompts import SYSTEM, fence, nonce_of, notice, refuse_unfit
from evalq.grading.replies import verdict_form
from evalq.records import Prompt

MAX_FINDINGS = 10
"""The most findings that go to the grader; more on one case is a flood, not an audit."""

VERDICT_TOKENS = 256
"""Room for a short reason, and for models that think first: their thinking counts too."""

_VERDICT = verdict_form()

VERDICT_SCHEMA: Mapping[str, Any] = _VERDICT.schema
"""For providers that enforce a schema: the reason comes first, so the verdict follows from it."""

_DEMAND = "Reply with one word and nothing else, unless you are held to a JSON schema: VALID or INVALID"
_MAX_CHARS = 1_000_000

Decision = tuple[bool, str]
"""Passed or not, and why."""


def mark_strictly(rule: PassRule, case: EvalCase, answer: str) -> Decision:
    """Decide by substrings; raise UngradableAnswer for an answer in another form than the rule needs."""
    return _RULES[rule](case, answer)


def _match_exactly(case: EvalCase, answer: str) -> Decision:
    wanted = str((case.expected or {}).get("answer", ""))
    if answer.strip() == wanted.strip():
        return True, "equals the expected answer"
    return False, f"expected {wanted!r}"


def _match_substring(case: EvalCase, answer: str) -> Decision:
    wanted = wanted_phrases(case.expected or {})
    for phrase in wanted:
        if phrase in answer:
            return True, f"contains {phrase!r}"
    return False, f"contains none of {wanted!r}"


def _match_findings(case: EvalCase, answer: str) -> Decision:
    findings = parse_list(answer)
    if case.expected_type == "negative":
        return _decide_negative(findings)
    if not findings:
        return False, "empty on a positive case"
    texts = [finding_text(finding) for finding in findings]
    for phrase in wanted_phrases(case.expected or {}):
        if any(phrase in text for text in texts):
            return True, f"a finding contains {phrase!r}"
    return False, "no finding names the contradiction"


def _decide_negative(findings: list[Any]) -> Decision:
    """A negative case needs an empty list."""
    if findings:
        return False, f"{len(findings)} findings on a negative case"
    return True, "rightly empty"


_RULES: dict[PassRule, Callable[[EvalCase, str], Decision]] = {
    "exact_match": _match_exactly,
    "any_substring": _match_substring,
    "positive_at_least_one_valid_or_empty_on_negative": _match_findings,
}


def wanted_phrases(expected: Mapping[str, Any]) -> list[str]:
    """The phrases of which one must occur: `any_of`, or `answer` alone."""
    if expected.get("any_of"):
        return [str(phrase) for phrase in expected["any_of"]]
    if "answer" in expected:
        return [str(expected["answer"])]
    return []


async def mark_by_model(task: TaskConfig, case: EvalCase, answer: str, context: GradingContext) -> Decision:
    """Decide by the grader model's verdicts, on each finding or on the whole answer.

    Findings go to the model one after another: the first VALID one decides, and the rest cost nothing.
    """
    assert task.scoring is not None
    if task.scoring.pass_rule != FINDINGS_RULE:
        passed = await _is_valid(task, case, answer, context)
        return passed, f"grader says {'VALID' if passed else 'INVALID'}"
    findings = parse_list(answer)
    if case.expected_type == "negative":
        return _decide_negative(findings)
    if not findings:
        return False, "empty on a positive case"
    if len(findings) > MAX_FINDINGS:
        raise UngradableAnswer(f"{len(findings)} findings, at most {MAX_FINDINGS} are graded")
    for number, finding in enumerate(findings, start=1):
        if await _is_valid(task, case, finding_json(finding), context):
            return True, f"finding {number} of {len(findings)} is VALID"
    return False, f"no VALID finding among {len(findings)}"


async def _is_valid(task: TaskConfig, case: EvalCase, text: str, context: GradingContext) -> bool:
    assert task.scoring is not None
    refuse_unfit(text)
    return await context.consult(task.scoring.judge_model, verdict_prompt(task, case, text), read_verdict)


def verdict_prompt(task: TaskConfig, case: EvalCase, graded_text: str) -> Prompt:
    """The prompt to the grader model; the graded text is fenced wherever the rubric puts it."""
    rubric, expected = rubric_text(task), json.dumps(case.expected, ensure_ascii=False)
    nonce = nonce_of(task.name, case.id, case.inputs, expected, rubric, graded_text)
    shown = fence("answer", graded_text, nonce)
    values = {**case.inputs, "expected": expected, "answer": shown, "finding_json": shown}
    return Prompt(
        system=SYSTEM,
        user="\n\n".join((notice(nonce), render(rubric, values).strip(), _DEMAND)) + "\n",
        max_tokens=VERDICT_TOKENS,
        reply_schema=VERDICT_SCHEMA,
        about=replace(describe_case(task, case), graded_text=graded_text),
    )


def rubric_text(task: TaskConfig) -> str:
    """The rubric itself, or the shipped one it names."""
    assert task.scoring is not None
    assert task.scoring.rubric is not None
    return RUBRICS.get(task.scoring.rubric, task.scoring.rubric)


def check_rubric(task: TaskConfig, case: EvalCase) -> None:
    """Refuse a rubric that names an unknown field, or does not show the answer."""
    names = set(check_template(rubric_text(task)))
    unknown = sorted(names - {*case.inputs, "expected", "answer", "finding_json"})
    if unknown:
        raise InputError(Problem(f"the rubric of task {task.name!r} names {unknown[0]!r}, which no case has"))
    if not names & {"answer", "finding_json"}:
        raise InputError(
            Problem(
                f"the rubric of task {task.name!r} shows the grader no answer",
                "put {finding_json} or {answer} into it",
            )
        )


def read_verdict(reply: str) -> bool:
    """True for VALID, False for INVALID; raise UngradableAnswer for a reply in another form."""
    return _VERDICT.read(reply).value == "VALID"


def parse_list(answer: str) -> list[Any]:
    """The answer's JSON list, with or without a code fence around it."""
    text = answer[:_MAX_CHARS]
    try:
        value = json.loads(unfence(text))
        finding_json(value).encode()  # half a surrogate pair cannot be sent to a grader
    except (ValueError, RecursionError) as exc:
        raise UngradableAnswer("the answer is not a JSON list") from exc
    if not isinstance(value, list):
        raise UngradableAnswer(f"the answer is a JSON {type(value).__name__}, not a list")
    return value


def finding_text(finding: Any) -> str:
    """All values of a finding as plain text: JSON escapes must not hide a quote."""
    texts, rest = [], [finding]
    while rest:  # not by recursion: a model may nest deeper than the stack
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(reversed(value.values()))
        elif isinstance(value, list):
            rest.extend(reversed(value))
        elif isinstance(value, str):
            texts.append(value)
        else:
            texts.append(json.dumps(value))
    return "\n".join(texts)


def finding_json(finding: Any) -> str:
    """A finding in canonical form, which the grader model reads and the cache key contains."""
    return json.dumps(finding, ensure_ascii=False, sort_keys=True)
