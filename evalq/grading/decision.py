"""Marking a decision: the choice on the last line of the answer, read strictly."""

import re

from evalq.definitions.graders.decision import Decision
from evalq.errors import UngradableAnswer
from evalq.grading.checks.tools import reaches_for
from evalq.grading.subject import Mark, Subject, mark

_SHOWN_CHARACTERS = 80


def read_decision(grader: Decision, answer: str) -> tuple[str, str]:
    """The choice and its reason; UngradableAnswer for a last line of any other form."""
    last = answer.rstrip().rpartition("\n")[2].strip()
    choices = "|".join(re.escape(choice) for choice in grader.choices)
    found = re.fullmatch(rf"{grader.key}=({choices}) REASON=(.+)", last)
    if not found:
        raise UngradableAnswer(f"judge output unparseable: {last[:_SHOWN_CHARACTERS]!r}")
    return found[1], found[2].strip()


def mark_decision(grader: Decision, subject: Subject) -> Mark:
    """Passed when the choice is one that is expected."""
    wanted = grader.wanted(subject.expected)
    if not wanted:
        raise UngradableAnswer("the case has no expected.decision")
    choice, reason = _by_tools(grader, subject) or read_decision(grader, subject.answer)
    return mark(choice in wanted, f"{choice}: {reason}", decision=choice)


def _by_tools(grader: Decision, subject: Subject) -> tuple[str, str] | None:
    """What the first tool a judge called says of the skill; None without such a call or skill."""
    first = next(iter(subject.completion.tool_calls), None)
    if grader.skill is None or first is None:
        return None
    return grader.choices[0 if reaches_for(grader.skill, first) else 1], f"the first tool is {first.name}"
