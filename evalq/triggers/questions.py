"""The questions that measure triggering: every request to every skill it concerns, then which of all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.validation import NAME_REMEDY, is_name
from evalq.errors import InputError, Problem
from evalq.importers.imported import Imported
from evalq.importers.skills import Query
from evalq.importers.triggering import (
    NONE,
    Skill,
    choice_case,
    short_id,
    trigger_case,
    trigger_id,
    trigger_task,
)

WORKSPACE, SET = "skills", "triggering"
"""The task of several skills, and the evalset of requests."""


@dataclass(frozen=True)
class Ask:
    """One question: does this skill match, or, without one, which does; `right` are the answers that will do.

    `is_own` marks those that the skill's own lists speak of.
    """

    query: str
    skill: str | None
    right: tuple[str, ...]
    is_own: bool
    case: EvalCase

    @property
    def should_trigger(self) -> bool:
        """Whether the one skill should match."""
        return self.right == ("YES",)


def asks_of(skills: Sequence[Skill], queries: Sequence[Query]) -> list[Ask]:
    """All questions. A request that another skill should get is put to a skill too: both may claim it."""
    is_alone = len(skills) == 1
    own = {(query.skill, query.text): query.should_trigger for query in queries}
    wanted = dict.fromkeys(query.text for query in queries if query.should_trigger)
    asks = []
    for skill in skills:
        texts = dict.fromkeys(
            [text for name, text in own if name == skill.name] + ([] if is_alone else [*wanted])
        )
        asks += [_ask_one(skill, text, own.get((skill.name, text)), is_alone=is_alone) for text in texts]
    return asks if is_alone else asks + list(_ask_which(skills, queries))


def as_imported(asks: Sequence[Ask], skills: Sequence[Skill], *, judge: str | None) -> Imported:
    """The questions as a task and its cases."""
    name = skills[0].name if len(skills) == 1 else WORKSPACE
    if not is_name(name):
        raise InputError(Problem(f"the skill's name {name!r} names no task", NAME_REMEDY))
    evalset = EvalSet(name=SET, cases=[ask.case for ask in asks])
    return Imported(trigger_task(name), LoadedEvalSet(evalset), judges=(judge,) if judge else ())


def _ask_one(skill: Skill, text: str, should: bool | None, *, is_alone: bool) -> Ask:
    case_id = trigger_id(text) if is_alone else short_id(f"{skill.name}:{text}")
    case = trigger_case(skill, text, should_trigger=should is True, case_id=case_id)
    return Ask(text, skill.name, ("YES",) if should else ("NO",), should is not None, case)


def _ask_which(skills: Sequence[Skill], queries: Sequence[Query]) -> Iterator[Ask]:
    for text in dict.fromkeys(query.text for query in queries):
        right = right_skills(text, [skill.name for skill in skills], queries)
        yield Ask(text, None, right, True, choice_case(skills, text, right=right))


def right_skills(text: str, names: Sequence[str], queries: Sequence[Query]) -> tuple[str, ...]:
    """The skills a request may load: those that want it; if none does, any but those that do not want it."""
    said = {query.skill: query.should_trigger for query in queries if query.text == text}
    wanting = tuple(name for name in names if said.get(name))
    return wanting or tuple(name for name in (*names, NONE) if said.get(name) is not False)
