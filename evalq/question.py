"""The question a case puts to a judge: its task's templates, rendered."""

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Decision
from evalq.definitions.graders.satisfying import satisfying_text
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import render
from evalq.records import About, Prompt, Turn


def about(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> About:
    """What a prompt on this case is about, for systems that are not models."""
    graders = (*task.graders, *case.graders)
    decision = next((one for one in graders if isinstance(one, Decision)), None)
    return About(
        task=task.name,
        case_id=case.id,
        sample=sample,
        seed=seed,
        inputs=case.inputs,
        expected=case.expected or ({"answer": satisfying_text(graders)} if case.graders else {}),
        stratum=case.stratum,
        is_positive=case.expected_type == "positive",
        answer_form="decision" if decision else task.answer_form(case.graders),
        choices=tuple(f"{decision.key}={choice}" for choice in decision.choices) if decision else (),
    )


def answer_prompt(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> Prompt:
    """The question itself: the task's template, or the case's own conversation."""
    system, turns, user = _conversation(task, case)
    return Prompt(
        system=system,
        user=user,
        max_tokens=task.max_tokens,
        temperature=task.temperature,
        about=about(task, case, sample=sample, seed=seed),
        turns=turns,
    )


def _conversation(task: TaskConfig, case: EvalCase) -> tuple[str, tuple[Turn, ...], str]:
    """System text, earlier turns and the last word; a case's system messages follow the task's."""
    if not case.messages:
        return task.system_prompt, (), render(task.user_template, case.inputs)
    own = [message.content for message in case.messages if message.role == "system"]
    said = [Turn(message.role, message.content) for message in case.messages if message.role != "system"]
    system = "\n\n".join(text for text in (task.system_prompt, *own) if text)
    return system, tuple(said[:-1]), said[-1].text if said else ""
