"""Which skill a check wants used, and which not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evalq.errors import InputError
from evalq.transpile.eval_file import Assertion, EvalTest

TRIGGER = "skill-trigger"


@dataclass(frozen=True)
class Trigger:
    """A skill ("" when the check names none), whether it should be used, and the check that says so."""

    skill: str
    should_trigger: bool
    assertion: Assertion


def trigger_of(assertion: Assertion) -> Trigger:
    """The trigger a check of type skill-trigger stands for."""
    written = assertion.fields.get("should_trigger")
    wanted = True if written is None else written
    if not isinstance(wanted, bool):
        remedy = "write true or false, without quotes"
        raise InputError(assertion.problem("should_trigger is neither true nor false", remedy))
    return Trigger(_skill(assertion), wanted != assertion.negate, assertion)


def triggers_of(test: EvalTest) -> list[Trigger]:
    """A test's triggers, one for each skill: its own, then the suite's for skills it says nothing about."""
    own = _one_per_skill(asked_of(test))
    named = {trigger.skill for trigger in own}
    return own + [found for found in _one_per_skill(test.suite_assertions) if found.skill not in named]


def asked_of(test: EvalTest) -> tuple[Assertion, ...]:
    """The checks on the answer to the prompt: a test's own, and those of its last turn."""
    last = test.turns[-1].assertions if test.turns else ()
    return (*test.assertions, *last)


def _one_per_skill(assertions: Iterable[Assertion]) -> list[Trigger]:
    found: dict[str, Trigger] = {}
    for assertion in assertions:
        if assertion.type == TRIGGER:
            trigger = trigger_of(assertion)
            first = found.setdefault(trigger.skill, trigger)
            _refuse_contradiction(first, trigger)
    return list(found.values())


def _refuse_contradiction(first: Trigger, second: Trigger) -> None:
    if first.should_trigger != second.should_trigger:
        skill = f"skill {second.skill!r}" if second.skill else "the skill"
        message = f"{skill} should and should not be used, first said on line {first.assertion.line}"
        raise InputError(second.assertion.problem(message, "keep one of the two"))


def _skill(assertion: Assertion) -> str:
    written = assertion.fields.get("skill")
    if written is None:
        written = assertion.fields.get("value")
    name: Any = written.get("name") if isinstance(written, dict) else written
    if name is None:
        return ""
    if not isinstance(name, str):
        raise InputError(assertion.problem("the skill is not a name", "write skill: NAME"))
    return name.strip()
