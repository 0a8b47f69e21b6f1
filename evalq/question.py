"""The question a case puts to a judge: its task's templates, rendered."""

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import render
from evalq.records import About, Prompt


def about(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> About:
    """What a prompt on this case is about, for systems that are not models."""
    return About(
        task=task.name,
        case_id=case.id,
        sample=sample,
        seed=seed,
        inputs=case.inputs,
        expected=case.expected or {},
        stratum=case.stratum,
        is_positive=case.expected_type == "positive",
        answer_form=task.answer_form,
    )


def answer_prompt(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> Prompt:
    """The question itself."""
    return Prompt(
        system=task.system_prompt,
        user=render(task.user_template, case.inputs),
        max_tokens=task.max_tokens,
        temperature=task.temperature,
        about=about(task, case, sample=sample, seed=seed),
    )
