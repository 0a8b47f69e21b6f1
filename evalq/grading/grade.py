"""From an answer to its outcome: run every grader of the task and the case, then decide once."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.graders.model import ModelGrader, PairwiseGrader
from evalq.definitions.task import FINDINGS_RULE, ScoringConfig, TaskConfig
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

Result = TypeVar("Result")

AnswerCheck = Callable[[Any, AnswerToGrade], Mark]
"""Marks by the answer, the case and what the call took; needs nothing else."""

ContextGrader = Callable[[Any, AnswerToGrade, GradingContext], Awaitable[Mark]]
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

CHEAP_CHECKS = frozenset(
    {
        "contains",
        "icontains",
        "not_contains",
        "contains_any",
        "icontains_any",
        "contains_all",
        "icontains_all",
        "starts_with",
        "ends_with",
        "equals",
        "exact_match",
        "min_tokens",
        "min_words",
        "max_tokens",
        "max_words",
        "is_json",
        "latency",
        "cost",
        "token_usage",
        "max_tool_calls",
        "decision",
        "hit_at_k",
        "mrr",
        "strict_substring",
    }
)
"""Checks that take about 0.1 ms on an answer of `CHEAP_CHARS`, and 10 ms on the most hostile one."""

CHEAP_CHARS = 20_000

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
"""Where a grader works: on the worker that asked the judge, on one without keys, or with people."""

_STAGES: Mapping[str, Stage] = {"function_output": "sandbox", "human": "review"}


def named_graders(task: TaskConfig, case: EvalCase) -> list[tuple[str, GraderConfig]]:
    """The graders of a task, then those of the case, each under a unique name."""
    seen: Counter[str] = Counter()
    named = []
    for grader in (*task.graders, *case.graders):
        name = grader.label
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name}_{seen[name]}"
        named.append((name, grader))
    return named


def stages(task: TaskConfig, case: EvalCase) -> set[Stage]:
    """The stages that an answer to this case passes through."""
    return {_stage_of(grader) for _, grader in named_graders(task, case)}


def _stage_of(grader: GraderConfig) -> Stage:
    return _STAGES.get(grader.type, "call")


async def grade_answer(
    answer: AnswerToGrade, context: GradingContext, *, stage: Stage = "call"
) -> list[Grade]:
    """One grade per grader of this stage; a grader that cannot decide gives a grade without a verdict.

    The graders work one after another: two may put the same question to a model, and the second must find
    the reply to the first; and when one stops the job, those after it cost nothing.
    """
    grades = []
    if stage == "call" and answer.task.scoring is not None:
        grades.append(await _grade_by_scoring(answer.task.scoring, answer, context))
    for name, grader in named_graders(answer.task, answer.case):
        if _stage_of(grader) == stage:
            grades.append(await _grade_by(name, grader, answer, context))
    return grades


async def _grade_by_scoring(scoring: ScoringConfig, answer: AnswerToGrade, context: GradingContext) -> Grade:
    """The grade by the task's scoring block."""
    try:
        if scoring.mode == "llm_judge":
            passed, reason = await mark_by_model(answer.task, answer.case, answer.text, context)
        else:
            passed, reason = await _run_check(
                scoring.mode,
                answer,
                context,
                lambda: mark_strictly(scoring.pass_rule, answer.case, answer.text),
            )
    except UngradableAnswer as exc:
        return Grade(scoring.mode, None, None, str(exc), kind=scoring.mode)
    return Grade(scoring.mode, passed, float(passed), reason, kind=scoring.mode)


async def _grade_by(name: str, grader: GraderConfig, answer: AnswerToGrade, context: GradingContext) -> Grade:
    try:
        if grader.type in CHECKS:
            check = CHECKS[grader.type]
            found = await _run_check(grader.type, answer, context, lambda: check(grader, answer))
        else:
            found = await CONTEXT_GRADERS[grader.type](grader, answer, context)
    except UngradableAnswer as exc:
        return Grade(name, None, None, str(exc), grader.required, grader.weight, grader.type)
    if grader.negate:
        found = found.negated()
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


async def _run_check(
    kind: str, answer: AnswerToGrade, context: GradingContext, check: Callable[[], Result]
) -> Result:
    """Run a check: at once if it is sure to be cheap, otherwise apart, so that other answers do not wait."""
    if kind in CHEAP_CHECKS and len(answer.text) <= CHEAP_CHARS:
        return check()
    return await context.apart(check)


def ask_people(answer: AnswerToGrade) -> list[Grade]:
    """Pending grades, one for each grader that waits for people."""
    return [
        Grade(name, None, None, "waits for review", grader.required, grader.weight, grader.type, pending=True)
        for name, grader in named_graders(answer.task, answer.case)
        if _stage_of(grader) == "review"
    ]


def decide_outcome(answer: AnswerToGrade, grades: Sequence[Grade]) -> Outcome:
    """Passed when every required grade passed and the weighted score suffices; an error is never a fail."""
    if not answer.is_gradable:
        state = answer.completion.state
        return Outcome("errored", state, f"the answer is {state}")
    return outcome_of(grades, threshold_of(answer.task, answer.case))


def threshold_of(task: TaskConfig, case: EvalCase) -> float | None:
    """The weighted score a case must reach: its own threshold, or the task's."""
    return task.pass_threshold if case.pass_threshold is None else case.pass_threshold


def outcome_of(grades: Sequence[Grade], threshold: float | None) -> Outcome:
    """The outcome that follows from the grades, as soon as no missing grade could change it.

    A required grader that cannot decide makes the outcome an error, unless another grader already failed
    the case. A grader that is not required does so only if the threshold is reached or missed by its score.
    """
    if any(grade.required and grade.passed is False for grade in grades):
        return Outcome("failed")
    missing = [grade for grade in grades if grade.required and grade.passed is None]
    if threshold is not None:
        low, high = _score_bounds(grades)
        if high < threshold:
            return Outcome("failed")
        if low < threshold:  # every missing score counts
            missing = [grade for grade in grades if grade.passed is None]
    for grade in missing:
        if not grade.pending:
            return Outcome("errored", "ungradable", grade.reason)
    return Outcome("pending_review") if missing else Outcome("passed")


def _score_bounds(grades: Sequence[Grade]) -> tuple[float, float]:
    """The weighted score with 0 for every missing score, and with 1."""
    total = sum(grade.weight for grade in grades)
    if total <= 0:
        return 0.0, 0.0
    known = unknown = 0.0
    for grade in grades:
        if grade.score is None:
            unknown += grade.weight
        else:
            known += grade.weight * grade.score
    # Rounded to the precision people write thresholds in: 0.3 + 0.4 must reach 0.7.
    return round(known / total, 9), round((known + unknown) / total, 9)


def grader_models(task: TaskConfig, case: EvalCase) -> Iterator[str | None]:
    """The grader models that an answer to this case may be sent to; None for the bake-off's own."""
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        yield task.scoring.judge_model
    for _, grader in named_graders(task, case):
        if isinstance(grader, ModelGrader):
            yield from grader.asked_models


@dataclass(frozen=True)
class GraderCall:
    """One prompt to a grader model (None: the bake-off's own), sent at most `at_most` times."""

    model: str | None
    prompt: Prompt
    at_most: int = 1


def grader_calls(task: TaskConfig, case: EvalCase, graded_text: str) -> Iterator[GraderCall]:
    """The calls that grading an answer like this may take: they bound what grading costs."""
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        times = MAX_FINDINGS if task.scoring.pass_rule == FINDINGS_RULE else 1
        yield GraderCall(task.scoring.judge_model, verdict_prompt(task, case, graded_text), times)
    answer = AnswerToGrade(task, case, Completion("answered", graded_text))
    for _, grader in named_graders(task, case):
        if isinstance(grader, ModelGrader):
            prompts = _grader_prompts(grader, answer)
            for model in grader.asked_models:
                for prompt in prompts:
                    yield GraderCall(model, prompt)


def _grader_prompts(grader: ModelGrader, answer: AnswerToGrade) -> Sequence[Prompt]:
    """The prompts that each model of the grader gets."""
    if not isinstance(grader, PairwiseGrader):
        return [model_prompt(grader, answer)]
    reference = answer.expected.get("answer")
    if grader.opponent is None and isinstance(reference, str):
        return pair_prompts(grader, answer, reference)
    # The opponent's answer is not known yet: assume it is as long as this one.
    return pair_prompts(grader, answer, answer.text)
