"""The question a case puts to a judge: its task's templates, rendered."""

import re
from collections.abc import Iterable
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import DecisionGrader
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import render
from evalq.records import CaseContext, Prompt, Turn

_USUAL = "a fitting answer"
_MOST_WORDS = 10_000
_LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])+")
"""A pattern that means itself."""


def satisfying_text(graders: Iterable[Any]) -> str:
    """Everything the checks look for, one after the other; some text of our own if they look for nothing."""
    listed = [grader for grader in graders if not grader.negate]
    texts = dict.fromkeys(text for grader in listed for text in _wanted(grader))
    text = " ".join(texts) or _USUAL
    words = max((grader.value for grader in listed if grader.type in ("min_tokens", "min_words")), default=0)
    return " ".join([text, *["and"] * (min(words, _MOST_WORDS) - len(text.split()))])


def _wanted(grader: Any) -> list[str]:
    match grader.type:
        case "contains" | "icontains" | "equals" | "exact_match" | "starts_with" | "ends_with":
            return [grader.value] if grader.value else []
        case "contains_any" | "icontains_any":
            return list(grader.values or [])[:1]
        case "contains_all" | "icontains_all":
            return list(grader.values or [])
        case "matches" | "regex":
            return _literal(grader.pattern or "")
    return []


def _literal(pattern: str) -> list[str]:
    """The text a pattern without any operator is found in; nothing for other patterns."""
    bare = pattern.removeprefix("^").removesuffix("$")
    return [re.sub(r"\\(.)", r"\1", bare)] if bare and _LITERAL.fullmatch(bare) else []


def describe_case(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> CaseContext:
    """What a prompt on this case is about, for systems that are not models."""
    graders = (*task.graders, *case.graders)
    decision = next((one for one in graders if isinstance(one, DecisionGrader)), None)
    return CaseContext(
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
        about=describe_case(task, case, sample=sample, seed=seed),
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
