"""Whether a request should load a skill, decided by what the skill says of itself: a case for each skill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Decision
from evalq.errors import Problem
from evalq.importers.losses import Losses
from evalq.importers.skill_descriptions import SKILL_FILE, described_skill
from evalq.importers.triggering import Skill, short_id, trigger_case

PART = "part"
ANSWER, TRIGGER = {PART: "answer"}, {PART: "trigger"}
"""The strata of a set in which some cases are answered and others decided."""


@dataclass(frozen=True)
class Wanted:
    """A skill that a request should load or not, and where that is said."""

    skill: str
    should_trigger: bool
    file: str = ""
    line: int = 0
    description: str = ""


@dataclass
class Skills:
    """The skills a file names, described as it says or as their own files do."""

    folder: Path
    losses: Losses
    own: Mapping[str, str] = field(default_factory=dict)
    _undescribed: set[str] = field(default_factory=set)

    def described(self, wanted: Wanted) -> Skill:
        """The skill; without a description anywhere it has nothing but its name to be decided by."""
        written = wanted.description or self.own.get(wanted.skill, "")
        description = written.strip() or described_skill(wanted.skill, self.folder)
        if not description and wanted.skill not in self._undescribed:
            self._undescribed.add(wanted.skill)
            message = f"skill {wanted.skill!r} has no description: it is decided by its name alone"
            remedy = f"add description: to the check, or skills/{wanted.skill}/{SKILL_FILE} near the file"
            self.losses.note(Problem(message, remedy, wanted.file, wanted.line))
        return Skill(wanted.skill, description or f"The skill {wanted.skill}.")


def decided_cases(
    case_id: str, query: str, wanted: Sequence[Wanted], skills: Skills, *, is_all: bool
) -> list[EvalCase]:
    """One case for each skill of a request, to be decided by description.

    `is_all`: nothing else is asked of the request, so that a single case may have its id.
    """
    return [
        trigger_case(
            skills.described(one),
            query,
            should_trigger=one.should_trigger,
            case_id=case_id if is_all and len(wanted) == 1 else short_id(f"{case_id}:trigger:{one.skill}"),
        ).model_copy(update={"stratum": dict(TRIGGER), "graders": [_decision(one.skill)]})
        for one in wanted
    ]


def _decision(skill: str) -> Decision:
    """A judge that reaches for a tool instead of an answer has decided, too."""
    return Decision(type="decision", skill=skill)
