"""Marking by a grader model: VALID or INVALID for each finding, or for the whole answer."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.definitions.template import check_template, render
from evalq.errors import InputError, Problem, UngradableAnswer
from evalq.grading.fence import SYSTEM, fenced, nonce_of, notice, refuse_unfit
from evalq.grading.findings import finding_json, parse_list
from evalq.grading.replies import PARSER_VERSION as PARSER_VERSION
from evalq.grading.replies import verdict_form
from evalq.grading.rubrics import RUBRICS
from evalq.grading.subject import Bench
from evalq.question import about
from evalq.records import Prompt

MAX_FINDINGS = 10
"""At most so many findings are put to the grader; more on one case is a flood, not an audit."""

VERDICT_TOKENS = 256
"""Room for a short reason, and for models that think before they speak: their thinking counts too."""

_FORM = verdict_form()

VERDICT_SCHEMA: Mapping[str, Any] = _FORM.schema
"""For providers that can hold to a schema: the reason first, so that the verdict follows from it."""

_DEMAND = "Reply with one word and nothing else, unless you are held to a JSON schema: VALID or INVALID"


def mark_by_model(task: TaskConfig, case: EvalCase, answer: str, bench: Bench) -> tuple[bool, str]:
    """Passed or not, and why, by the task's pass rule over the grader's verdicts."""
    assert task.scoring is not None
    if task.scoring.pass_rule != FINDINGS_RULE:
        passed = _decide(task, case, answer, bench)
        return passed, f"grader says {'VALID' if passed else 'INVALID'}"
    return _mark_findings(task, case, parse_list(answer), bench)


def _decide(task: TaskConfig, case: EvalCase, text: str, bench: Bench) -> bool:
    assert task.scoring is not None
    refuse_unfit(text)
    return bench.consult(task.scoring.judge_model, verdict_prompt(task, case, text), read_verdict)


def _mark_findings(task: TaskConfig, case: EvalCase, findings: list[Any], bench: Bench) -> tuple[bool, str]:
    """A positive case needs one valid finding, a negative one an empty list."""
    if case.expected_type == "negative":
        return (
            (False, f"{len(findings)} findings on a negative case") if findings else (True, "rightly empty")
        )
    if len(findings) > MAX_FINDINGS:
        raise UngradableAnswer(f"{len(findings)} findings, at most {MAX_FINDINGS} are graded")
    for place, finding in enumerate(findings, start=1):
        if _decide(task, case, finding_json(finding), bench):
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
        about=replace(about(task, case), graded_text=graded_text),
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
