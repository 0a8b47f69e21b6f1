"""What grader models may be asked about an answer, known before it is there: what grading may cost."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders.model_graders import PairwiseGrader
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.grading.judge_model import MAX_FINDINGS, verdict_prompt
from evalq.grading.marking import named_graders
from evalq.grading.model_graders import model_prompt
from evalq.grading.pairwise import pair_prompts
from evalq.grading.subject import Subject
from evalq.records import Completion, Prompt


@dataclass(frozen=True)
class Question:
    """One prompt to a grader model (None: the bake-off's own), asked so often at most."""

    model: str | None
    prompt: Prompt
    at_most: int = 1


def _to_models(grader: Any, subject: Subject) -> list[Question]:
    """One question to each model of the panel."""
    prompt = model_prompt(grader, subject)
    return [Question(model, prompt) for model in grader.asked_models]


def _in_both_orders(grader: PairwiseGrader, subject: Subject) -> list[Question]:
    """Two to each: the other answer is taken to be as long as this one, or is the reference."""
    reference = subject.expected.get("answer")
    other = subject.answer if grader.opponent or not isinstance(reference, str) else reference
    prompts = pair_prompts(grader, subject, other)
    return [Question(model, prompt) for model in grader.asked_models for prompt in prompts]


QUESTIONS: Mapping[str, Callable[[Any, Subject], list[Question]]] = {
    "boolean": _to_models,
    "categorical": _to_models,
    "criteria": _to_models,
    "pairwise": _in_both_orders,
    "rubric": _to_models,
    "verdict": _to_models,
}
"""By type of grader; a type that is not here asks no model."""


def questions(task: TaskConfig, case: EvalCase, graded_text: str) -> Iterator[Question]:
    """What grader models may be asked about an answer like this."""
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        times = MAX_FINDINGS if task.scoring.pass_rule == FINDINGS_RULE else 1
        yield Question(task.scoring.judge_model, verdict_prompt(task, case, graded_text), times)
    subject = Subject(task, case, Completion("answered", graded_text))
    for _, grader in named_graders(task, case):
        if grader.type in QUESTIONS:
            yield from QUESTIONS[grader.type](grader, subject)
