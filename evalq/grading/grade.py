"""The way from an answer to an outcome: every grader of the task and the case, then one decision."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.graders.model import PairwiseGrader
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.checks.calls import (
    mark_cost,
    mark_latency,
    mark_max_tool_calls,
    mark_skill_triggered,
    mark_token_usage,
    mark_tool_trajectory,
)
from evalq.grading.checks.decisions import mark_decision, mark_hit_at_k, mark_mrr, mark_refusal
from evalq.grading.checks.structure import (
    mark_field_accuracy,
    mark_is_json,
    mark_json_path,
    mark_json_schema,
    mark_numeric,
    mark_numeric_delta,
    mark_structural_match,
)
from evalq.grading.checks.text import (
    mark_contains,
    mark_contains_all,
    mark_ends_with,
    mark_equals,
    mark_levenshtein,
    mark_matches,
    mark_max_words,
    mark_min_words,
    mark_not_contains,
    mark_not_matches,
    mark_semantic,
    mark_starts_with,
)
from evalq.grading.code import mark_function_output
from evalq.grading.grader import AnswerToGrade, GradingContext, Mark
from evalq.grading.model_graders import mark_by_models, model_prompt
from evalq.grading.pairwise import mark_pairwise, pair_prompts
from evalq.grading.scoring import MAX_FINDINGS, mark_by_model, mark_strictly, verdict_prompt
from evalq.records import Completion, Grade, Outcome, Prompt

AnswerCheck = Callable[[Any, AnswerToGrade], Mark]
"""Looks at nothing but the answer, the case and what the call took."""

ContextGrader = Callable[[Any, AnswerToGrade, GradingContext], Mark]
"""Needs more than the answer: a grader model, the sandbox, or another judge's answer."""

CHECKS: Mapping[str, AnswerCheck] = {
    "contains": mark_contains,
    "icontains": mark_contains,
    "not_contains": mark_not_contains,
    "contains_any": mark_contains,
    "icontains_any": mark_contains,
    "contains_all": mark_contains_all,
    "icontains_all": mark_contains_all,
    "starts_with": mark_starts_with,
    "ends_with": mark_ends_with,
    "equals": mark_equals,
    "exact_match": mark_equals,
    "matches": mark_matches,
    "regex": mark_matches,
    "not_matches": mark_not_matches,
    "min_tokens": mark_min_words,
    "min_words": mark_min_words,
    "max_tokens": mark_max_words,
    "max_words": mark_max_words,
    "is_json": mark_is_json,
    "json_schema": mark_json_schema,
    "json_path": mark_json_path,
    "numeric": mark_numeric,
    "numeric_delta": mark_numeric_delta,
    "structural_match": mark_structural_match,
    "semantic": mark_semantic,
    "field_accuracy": mark_field_accuracy,
    "levenshtein": mark_levenshtein,
    "latency": mark_latency,
    "cost": mark_cost,
    "token_usage": mark_token_usage,
    "tool_trajectory": mark_tool_trajectory,
    "max_tool_calls": mark_max_tool_calls,
    "skill_triggered": mark_skill_triggered,
    "refusal": mark_refusal,
    "decision": mark_decision,
    "hit_at_k": mark_hit_at_k,
    "mrr": mark_mrr,
}

CONTEXT_GRADERS: Mapping[str, ContextGrader] = {
    "function_output": mark_function_output,
    "boolean": mark_by_models,
    "categorical": mark_by_models,
    "criteria": mark_by_models,
    "pairwise": mark_pairwise,
    "rubric": mark_by_models,
    "verdict": mark_by_models,
}


Stage = Literal["call", "sandbox", "review"]
"""Where a grader does its work: on the worker that asked, on one without keys, or with people."""

_STAGES: dict[str, Stage] = {"function_output": "sandbox", "human": "review"}


def named_graders(task: TaskConfig, case: EvalCase) -> list[tuple[str, GraderConfig]]:
    """The graders of a task, then those of the case, each under a name of its own."""
    seen: Counter[str] = Counter()
    named = []
    for grader in (*task.graders, *case.graders):
        seen[grader.label] += 1
        count = seen[grader.label]
        named.append((grader.label if count == 1 else f"{grader.label}_{count}", grader))
    return named


def stages(task: TaskConfig, case: EvalCase) -> set[Stage]:
    """The places an answer to this case has to pass."""
    return {_STAGES.get(grader.type, "call") for _, grader in named_graders(task, case)}


def grade_answer(subject: AnswerToGrade, context: GradingContext, *, stage: Stage = "call") -> list[Grade]:
    """One grade per grader of this stage; one that cannot decide gives a grade without a verdict."""
    is_first = stage == "call" and subject.task.scoring is not None
    scored = [_scored(subject, context)] if is_first else []
    return scored + [
        _graded(name, grader, subject, context)
        for name, grader in named_graders(subject.task, subject.case)
        if _STAGES.get(grader.type, "call") == stage
    ]


def ask_people(subject: AnswerToGrade) -> list[Grade]:
    """The grades people are still to give."""
    return [
        Grade(name, None, None, "waits for review", grader.required, grader.weight, grader.type, pending=True)
        for name, grader in named_graders(subject.task, subject.case)
        if _STAGES.get(grader.type) == "review"
    ]


def decide_outcome(subject: AnswerToGrade, grades: Sequence[Grade]) -> Outcome:
    """Passed when every required grade passed and the weighted score suffices; an error is never a fail."""
    completion = subject.completion
    if not subject.is_answer:
        return Outcome("errored", completion.state, f"the answer is {completion.state}")
    return outcome_of(grades, threshold_of(subject.task, subject.case))


def threshold_of(task: TaskConfig, case: EvalCase) -> float | None:
    """The weighted score a case must reach: its own threshold, or the task's."""
    return task.pass_threshold if case.pass_threshold is None else case.pass_threshold


def outcome_of(grades: Sequence[Grade], threshold: float | None) -> Outcome:
    """The outcome that follows from the grades, as soon as no missing one could change it.

    A required grader that cannot decide makes an error, unless another one has failed the case already;
    so does one that only weighs, if the threshold is reached or not depending on it.
    """
    if any(grade.passed is False and grade.required for grade in grades):
        return Outcome("failed")
    low, high = _score_bounds(grades)
    if threshold is not None and high < threshold:
        return Outcome("failed")
    is_open = threshold is not None and low < threshold
    missing = [grade for grade in grades if grade.passed is None and (grade.required or is_open)]
    errors = [grade for grade in missing if not grade.pending]
    if errors:
        return Outcome("errored", "ungradable", errors[0].reason)
    return Outcome("pending_review" if missing else "passed")


def _score_bounds(grades: Sequence[Grade]) -> tuple[float, float]:
    """The weighted score if every missing one were 0, and if it were 1."""
    weight = sum(grade.weight for grade in grades)
    if weight <= 0:
        return 0.0, 0.0
    known = sum(grade.weight * grade.score for grade in grades if grade.score is not None)
    unknown = sum(grade.weight for grade in grades if grade.score is None)
    # As precise as people write thresholds: 0.7 must be reached by 0.3 + 0.4.
    return round(known / weight, 9), round((known + unknown) / weight, 9)


def _scored(subject: AnswerToGrade, context: GradingContext) -> Grade:
    """The mark of the task's scoring block."""
    scoring = subject.task.scoring
    assert scoring is not None
    try:
        if scoring.mode == "llm_judge":
            passed, reason = mark_by_model(subject.task, subject.case, subject.answer, context)
        else:
            passed, reason = mark_strictly(scoring.pass_rule, subject.case, subject.answer)
    except UngradableAnswer as exc:
        return Grade(scoring.mode, None, None, str(exc), kind=scoring.mode)
    return Grade(scoring.mode, passed, float(passed), reason, kind=scoring.mode)


def _graded(name: str, grader: GraderConfig, subject: AnswerToGrade, context: GradingContext) -> Grade:
    try:
        found = _look(grader, subject, context)
    except UngradableAnswer as exc:
        return Grade(name, None, None, str(exc), grader.required, grader.weight, grader.type)
    found = found.negated() if grader.negate else found
    return Grade(
        name,
        found.passed,
        found.score,
        found.reason,
        grader.required,
        grader.weight,
        grader.type,
        details=found.details,
    )


def _look(grader: GraderConfig, subject: AnswerToGrade, context: GradingContext) -> Mark:
    if grader.type in CHECKS:
        return CHECKS[grader.type](grader, subject)
    return CONTEXT_GRADERS[grader.type](grader, subject, context)


def grader_models(task: TaskConfig, case: EvalCase) -> Iterator[str | None]:
    """The grader models that may be asked about an answer to this case; None for the bake-off's own."""
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        yield task.scoring.judge_model
    for _, grader in named_graders(task, case):
        yield from getattr(grader, "asked_models", ())


@dataclass(frozen=True)
class GraderCall:
    """One prompt to a grader model (None: the bake-off's own), asked so often at most."""

    model: str | None
    prompt: Prompt
    at_most: int = 1


def _to_models(grader: Any, subject: AnswerToGrade) -> list[GraderCall]:
    """One question to each model of the panel."""
    prompt = model_prompt(grader, subject)
    return [GraderCall(model, prompt) for model in grader.asked_models]


def _in_both_orders(grader: PairwiseGrader, subject: AnswerToGrade) -> list[GraderCall]:
    """Two to each: the other answer is taken to be as long as this one, or is the reference."""
    reference = subject.expected.get("answer")
    other = subject.answer if grader.opponent or not isinstance(reference, str) else reference
    prompts = pair_prompts(grader, subject, other)
    return [GraderCall(model, prompt) for model in grader.asked_models for prompt in prompts]


_CALLS_BY_TYPE: Mapping[str, Callable[[Any, AnswerToGrade], list[GraderCall]]] = {
    "boolean": _to_models,
    "categorical": _to_models,
    "criteria": _to_models,
    "pairwise": _in_both_orders,
    "rubric": _to_models,
    "verdict": _to_models,
}
"""By type of grader; a type that is not here asks no model."""


def grader_calls(task: TaskConfig, case: EvalCase, graded_text: str) -> Iterator[GraderCall]:
    """What grader models may be asked about an answer like this."""
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        times = MAX_FINDINGS if task.scoring.pass_rule == FINDINGS_RULE else 1
        yield GraderCall(task.scoring.judge_model, verdict_prompt(task, case, graded_text), times)
    subject = AnswerToGrade(task, case, Completion("answered", graded_text))
    for _, grader in named_graders(task, case):
        if grader.type in _CALLS_BY_TYPE:
            yield from _CALLS_BY_TYPE[grader.type](grader, subject)
