"""What a check of an EVAL.yaml needs to know beyond itself, and the graders it is made into."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalq.definitions.graders import GraderConfig
from evalq.importers.attachments import Attachments
from evalq.importers.grader_entries import as_name, made_grader
from evalq.importers.imported import TriggerMode
from evalq.importers.losses import Losses
from evalq.transpile.eval_file import Assertion

PASSES_AT = 0.8
"""The score from which agentv calls a check passed, and a test, unless the file says otherwise."""


@dataclass(frozen=True)
class Scene:
    """The test a check belongs to: its criteria, what it expects, and what its file may refer to."""

    criteria: tuple[str, ...]
    expected: Any
    attachments: Attachments
    losses: Losses
    trigger_mode: TriggerMode = "tool_calls"

    def lose(self, assertion: Assertion, message: str, remedy: str = "") -> None:
        """Note what of a check is not carried over."""
        kind = assertion.written or assertion.type
        self.losses.note(assertion.problem(f"{kind}: {message}", remedy))


@dataclass(frozen=True)
class Entry:
    """A grader's own parameters, and its share of the weight of the check it comes from.

    `required` and `negate` stand instead of the check's own where they are not None.
    """

    fields: Mapping[str, Any]
    share: float = 1.0
    required: bool | None = None
    negate: bool | None = None


@dataclass(frozen=True)
class Standing:
    """What a check counts: agentv's only weigh unless they are required."""

    weight: float = 1.0
    required: bool = False
    negate: bool = False
    name: str | None = None

    def graders(self, entries: Iterable[Entry]) -> list[GraderConfig]:
        """The graders of these entries; ValueError for one that is none."""
        return [made_grader({**entry.fields, **self._fields(entry)}) for entry in entries]

    def _fields(self, entry: Entry) -> dict[str, Any]:
        weight = self.weight * entry.share
        return {
            "name": as_name(self.name),
            "weight": None if weight == 1 else float(weight),
            "required": self.required if entry.required is None else entry.required,
            "negate": (self.negate if entry.negate is None else entry.negate) or None,
        }


def standing_of(assertion: Assertion) -> Standing:
    """What a check counts, as its own fields say."""
    return Standing(
        weight=1.0 if assertion.weight is None else float(assertion.weight),
        required=bool(assertion.required),
        negate=assertion.negate,
        name=assertion.name,
    )


def least_score(assertion: Assertion) -> float:
    """The score, from 0 to 1, from which a check is passed."""
    required = assertion.required
    if required is not None and not isinstance(required, bool):
        return min(1.0, float(required))
    return min(1.0, PASSES_AT if assertion.min_score is None else float(assertion.min_score))
