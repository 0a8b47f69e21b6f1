"""The way from an answer to an outcome: every grader of the task, then the pass rule over their grades."""

from collections.abc import Sequence
from typing import assert_never

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import GraderConfig, HitAtK, Mrr, TaskConfig
from evalq.errors import UngradableAnswer
from evalq.grading.judge_model import Decide, mark_by_model
from evalq.grading.retrieval import grade_hit_at_k, grade_mrr
from evalq.grading.strict import mark_strictly
from evalq.records import Completion, Grade, Outcome


def grade_answer(task: TaskConfig, case: EvalCase, answer: str, decide: Decide) -> list[Grade]:
    """One grade per grader of the task; a grader that cannot decide gives a grade without a verdict."""
    grades = [_scored(task, case, answer, decide)] if task.scoring else []
    return grades + [_graded(grader, case, answer) for grader in task.graders]


def decide_outcome(task: TaskConfig, completion: Completion, grades: Sequence[Grade]) -> Outcome:
    """Passed when every required grade passed and the weighted score suffices; an error is never a fail."""
    if not completion.is_answer:
        return Outcome("errored", completion.state, f"the answer is {completion.state}")
    undecided = next((g for g in grades if g.passed is None and g.required), None)
    if undecided:
        return Outcome("errored", "ungradable", undecided.reason)
    passed = all(g.passed for g in grades if g.required) and _score_suffices(task, grades)
    return Outcome("passed" if passed else "failed")


def _scored(task: TaskConfig, case: EvalCase, answer: str, decide: Decide) -> Grade:
    assert task.scoring is not None
    mode = task.scoring.mode
    try:
        if mode == "llm_judge":
            passed, reason = mark_by_model(task, case, answer, decide)
        else:
            passed, reason = mark_strictly(task.scoring.pass_rule, case, answer)
    except UngradableAnswer as exc:
        return Grade(mode, None, None, str(exc))
    return Grade(mode, passed, float(passed), reason)


def _graded(grader: GraderConfig, case: EvalCase, answer: str) -> Grade:
    try:
        match grader:
            case HitAtK():
                return grade_hit_at_k(grader, case, answer)
            case Mrr():
                return grade_mrr(grader, case, answer)
            case _:
                assert_never(grader)
    except UngradableAnswer as exc:
        return Grade(_name(grader), None, None, str(exc), grader.required, grader.weight)


def _name(grader: GraderConfig) -> str:
    return f"hit_at_{grader.k}" if isinstance(grader, HitAtK) else grader.type


def _score_suffices(task: TaskConfig, grades: Sequence[Grade]) -> bool:
    if task.pass_threshold is None:
        return True
    weight = sum(g.weight for g in grades)
    score = sum(g.weight * (g.score or 0.0) for g in grades)
    return weight > 0 and score / weight >= task.pass_threshold
