"""Builds the prompt a judge gets for a case: its task's templates, rendered."""

import re
from collections.abc import Iterable
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import DecisionGrader
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import render
from evalq.records import AnswerForm, CaseContext, Prompt, Turn

_USUAL_ANSWER = "a fitting answer"
_MOST_WORDS = 10_000
_LITERAL_PATTERN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])+")
"""A pattern without operators."""


def answer_prompt(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> Prompt:
    """The prompt of a case: the task's template, or the case's own conversation."""
    system, turns, user = _build_conversation(task, case)
    return Prompt(
        system=system,
        user=user,
        max_tokens=task.max_tokens,
        temperature=task.temperature,
        about=describe_case(task, case, sample=sample, seed=seed),
        turns=turns,
    )


def _build_conversation(task: TaskConfig, case: EvalCase) -> tuple[str, tuple[Turn, ...], str]:
    """System text, earlier turns and the last message; a case's system messages follow the task's."""
    if not case.messages:
        return task.system_prompt, (), render(task.user_template, case.inputs)
    system = [task.system_prompt]
    turns = []
    for message in case.messages:
        if message.role == "system":
            system.append(message.content)
        else:
            turns.append(Turn(message.role, message.content))
    last = turns[-1].text if turns else ""
    return "\n\n".join(text for text in system if text), tuple(turns[:-1]), last


def describe_case(task: TaskConfig, case: EvalCase, *, sample: int = 1, seed: int = 0) -> CaseContext:
    """The case as local and simulated systems see it."""
    graders = (*task.graders, *case.graders)
    expected = case.expected
    if not expected:
        expected = {"answer": satisfying_text(graders)} if case.graders else {}
    answer_form: AnswerForm = task.answer_form(case.graders)
    choices: tuple[str, ...] = ()
    for grader in graders:
        if isinstance(grader, DecisionGrader):
            answer_form = "decision"
            choices = tuple(f"{grader.key}={choice}" for choice in grader.choices)
            break
    return CaseContext(
        task=task.name,
        case_id=case.id,
        sample=sample,
        seed=seed,
        inputs=case.inputs,
        expected=expected,
        stratum=case.stratum,
        is_positive=case.expected_type == "positive",
        answer_form=answer_form,
        choices=choices,
    )


def satisfying_text(graders: Iterable[Any]) -> str:
    """All the texts the checks look for, joined; a text of our own if they look for none."""
    texts: dict[str, None] = {}
    n_words = 0
    for grader in graders:
        if grader.negate:
            continue
        texts |= dict.fromkeys(_wanted_texts(grader))
        if grader.type in ("min_tokens", "min_words"):
            n_words = max(n_words, min(grader.value, _MOST_WORDS))
    text = " ".join(texts) or _USUAL_ANSWER
    return " ".join([text, *["and"] * (n_words - len(text.split()))])


def _wanted_texts(grader: Any) -> list[str]:
    match grader.type:
        case "contains" | "icontains" | "equals" | "exact_match" | "starts_with" | "ends_with":
            return [grader.value] if grader.value else []
        case "contains_any" | "icontains_any":
            return list(grader.values or [])[:1]
        case "contains_all" | "icontains_all":
            return list(grader.values or [])
        case "matches" | "regex":
            bare = (grader.pattern or "").removeprefix("^").removesuffix("$")
            if _LITERAL_PATTERN.fullmatch(bare):
                return [re.sub(r"\\(.)", r"\1", bare)]
    return []
