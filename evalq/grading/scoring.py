"""Marking by a grader model: VALID or INVALID for each finding, or for the whole answer."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.prompt import describe_case
from evalq.definitions.rubrics import RUBRICS
from evalq.definitions.task import FINDINGS_RULE, PassRule, TaskConfig
from evalq.definitions.template import check_template, render
from evalq.errors import InputError, Problem, UngradableAnswer
from evalq.grading.grader import GradingContext
from evalq.grading.prompts import SYSTEM, fenced, nonce_of, notice, refuse_unfit
from evalq.grading.replies import verdict_form
from evalq.records import Prompt

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_MAX_CHARS = 1_000_000


def parse_list(answer: str) -> list[Any]:
    """The answer's JSON list, with or without a code fence around it."""
    text = answer[:_MAX_CHARS]
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced.group(1) if fenced else text)
        finding_json(value).encode()  # half a surrogate pair could not be sent on to a grader
    except (ValueError, RecursionError) as exc:
        raise UngradableAnswer("the answer is not a JSON list") from exc
    if not isinstance(value, list):
        raise UngradableAnswer(f"the answer is a JSON {type(value).__name__}, not a list")
    return value


def finding_text(finding: Any) -> str:
    """Everything a finding says, as plain text: JSON escapes must not hide a quote."""
    texts, rest = [], [finding]
    while rest:  # not by recursion: a model may nest deeper than the stack
        value = rest.pop()
        if isinstance(value, dict | list):
            rest += reversed(list(value.values()) if isinstance(value, dict) else value)
        else:
            texts.append(value if isinstance(value, str) else json.dumps(value))
    return "\n".join(texts)


def finding_json(finding: Any) -> str:
    """A finding in one canonical form: what the grader model reads and the cache is keyed by."""
    return json.dumps(finding, ensure_ascii=False, sort_keys=True)


MAX_FINDINGS = 10
"""At most so many findings are put to the grader; more on one case is a flood, not an audit."""

VERDICT_TOKENS = 256
"""Room for a short reason, and for models that think before they speak: their thinking counts too."""

_FORM = verdict_form()

VERDICT_SCHEMA: Mapping[str, Any] = _FORM.schema
"""For providers that can hold to a schema: the reason first, so that the verdict follows from it."""

_DEMAND = "Reply with one word and nothing else, unless you are held to a JSON schema: VALID or INVALID"


def mark_by_model(task: TaskConfig, case: EvalCase, answer: str, context: GradingContext) -> tuple[bool, str]:
    """Passed or not, and why, by the task's pass rule over the grader's verdicts."""
    assert task.scoring is not None
    if task.scoring.pass_rule != FINDINGS_RULE:
        passed = _decide(task, case, answer, context)
        return passed, f"grader says {'VALID' if passed else 'INVALID'}"
    return _mark_findings(task, case, parse_list(answer), context)


def _decide(task: TaskConfig, case: EvalCase, text: str, context: GradingContext) -> bool:
    assert task.scoring is not None
    refuse_unfit(text)
    return context.consult(task.scoring.judge_model, verdict_prompt(task, case, text), read_verdict)


def _mark_findings(
    task: TaskConfig, case: EvalCase, findings: list[Any], context: GradingContext
) -> tuple[bool, str]:
    """A positive case needs one valid finding, a negative one an empty list."""
    if case.expected_type == "negative":
        return (
            (False, f"{len(findings)} findings on a negative case") if findings else (True, "rightly empty")
        )
    if len(findings) > MAX_FINDINGS:
        raise UngradableAnswer(f"{len(findings)} findings, at most {MAX_FINDINGS} are graded")
    for place, finding in enumerate(findings, start=1):
        if _decide(task, case, finding_json(finding), context):
            return True, f"finding {place} of {len(findings)} is VALID"
    return False, f"no VALID finding among {len(findings)}" if findings else "empty on a positive case"


def verdict_prompt(task: TaskConfig, case: EvalCase, graded_text: str) -> Prompt:
    """The question to the grader model; what is graded stands behind a fence, wherever the rubric has it."""
    rubric, expected = rubric_text(task), json.dumps(case.expected, ensure_ascii=False)
    nonce = nonce_of(task.name, case.id, case.inputs, expected, rubric, graded_text)
    shown = fenced("answer", graded_text, nonce)
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
    """Refuse a rubric that names what no case has, or asks about nothing."""
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
    """True for VALID, False for INVALID, alone on the last line or as JSON; anything else is no verdict."""
    return _FORM.read(reply).value == "VALID"


Mark = tuple[bool, str]


def mark_strictly(rule: PassRule, case: EvalCase, answer: str) -> Mark:
    """Passed or not, and why. Raises UngradableAnswer for an answer that is not in the agreed form."""
    return _RULES[rule](case, answer)


def wanted_phrases(expected: Mapping[str, Any]) -> list[str]:
    """The phrases of which one must occur: `any_of`, or `answer` alone."""
    any_of = expected.get("any_of")
    return (
        [str(phrase) for phrase in any_of]
        if any_of
        else [str(expected["answer"])]
        if "answer" in expected
        else []
    )


def _exact_match(case: EvalCase, answer: str) -> Mark:
    wanted = str((case.expected or {}).get("answer", ""))
    passed = answer.strip() == wanted.strip()
    return passed, "equals the expected answer" if passed else f"expected {wanted!r}"


def _any_substring(case: EvalCase, answer: str) -> Mark:
    wanted = wanted_phrases(case.expected or {})
    found = next((phrase for phrase in wanted if phrase in answer), None)
    return (True, f"contains {found!r}") if found is not None else (False, f"contains none of {wanted!r}")


def _findings(case: EvalCase, answer: str) -> Mark:
    findings = parse_list(answer)
    if case.expected_type == "negative":
        return (
            (False, f"{len(findings)} findings on a negative case") if findings else (True, "rightly empty")
        )
    if not findings:
        return False, "empty on a positive case"
    wanted = wanted_phrases(case.expected or {})
    found = next((phrase for phrase in wanted for f in findings if phrase in finding_text(f)), None)
    return (
        (True, f"a finding contains {found!r}")
        if found is not None
        else (False, "no finding names the contradiction")
    )


_RULES: dict[PassRule, Callable[[EvalCase, str], Mark]] = {
    "exact_match": _exact_match,
    "any_substring": _any_substring,
    "positive_at_least_one_valid_or_empty_on_negative": _findings,
}
