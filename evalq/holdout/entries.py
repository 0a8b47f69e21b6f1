"""What a holdout log says: a set was frozen, a look at it was about to begin, a look came to this."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from evalq.holdout.chain import Link
from evalq.results import BakeOffResult

Kind = Literal["freeze", "intent", "result"]


@dataclass(frozen=True)
class Score:
    """One judge's result in the log; `n` counts the answers with a verdict."""

    judge: str
    n: int
    n_pass: int
    accuracy: float | None


@dataclass(frozen=True)
class Entry:
    """One line; what is None or empty is left out of it, but for the commit. `at` is UTC, as ISO 8601 has it.

    `set_sha256` is of the file's bytes, `content_sha256` of its cases whatever file they come from; `seq` is
    given by the log.
    """

    kind: Kind
    at: str
    task: str
    eval_set: str
    set_sha256: str
    content_sha256: str
    git_sha: str | None = None
    judges: tuple[str, ...] = ()
    run_type: str | None = None
    bakeoff_uid: str | None = None
    bakeoff_id: int | None = None
    state: str | None = None
    runs: tuple[Score, ...] = ()
    spent_usd: str | None = None
    reason: str | None = None
    seq: int = 0

    @property
    def is_look(self) -> bool:
        """Only final decisions count as looks; drift checks are listed apart."""
        return self.kind == "intent" and self.run_type == "final-decision"

    def fields(self) -> dict[str, Any]:
        """As the line has it."""
        written = asdict(self)
        return {
            name: value for name, value in written.items() if name == "git_sha" or value not in (None, ())
        }


_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def entry_of(fields: Mapping[str, Any]) -> Entry:
    """The entry of a line; what only a newer evalq knows is passed over, ValueError for what is no entry."""
    return _ENTRY.validate_python(dict(fields))


def result_entry(intent: Entry, result: BakeOffResult, *, at: str) -> Entry:
    """What the look announced by an intent came to."""
    scores = tuple(Score(run.judge, run.n_graded, run.n_pass, run.accuracy) for run in result.runs)
    return replace(
        intent,
        kind="result",
        at=at,
        bakeoff_id=result.id,
        state=result.state,
        runs=scores,
        spent_usd=f"{result.spent_usd.normalize():f}",
    )


@dataclass(frozen=True)
class History:
    """The log of a task as entries, oldest first."""

    entries: tuple[Entry, ...] = ()

    def last_hashed(self, eval_set: str) -> Entry | None:
        """The newest freeze or intent of a set: the bytes that count."""
        return _last(e for e in self.entries if e.kind != "result" and e.eval_set == eval_set)

    def looks(self, eval_set: str, content_sha256: str | None = None) -> list[Entry]:
        """The looks at a set, oldest first; those at the same cases under another name are looks too."""
        return [
            entry
            for entry in self.entries
            if entry.is_look and (entry.eval_set == eval_set or entry.content_sha256 == content_sha256)
        ]

    def intent_of(self, uid: str) -> Entry | None:
        """The intent a bake-off was started under."""
        return next((e for e in self.entries if e.kind == "intent" and e.bakeoff_uid == uid), None)

    def result_of(self, uid: str) -> Entry | None:
        """The newest result of a bake-off."""
        return _last(e for e in self.entries if e.kind == "result" and e.bakeoff_uid == uid)

    def drift_checks(self, eval_set: str) -> list[Entry]:
        """The drift checks of a set, oldest first."""
        return [
            entry
            for entry in self.entries
            if entry.kind == "intent" and entry.eval_set == eval_set and not entry.is_look
        ]

    @property
    def eval_sets(self) -> list[str]:
        """The sets it speaks of, in order of appearance."""
        return list(dict.fromkeys(entry.eval_set for entry in self.entries))


def history_of(links: Iterable[Link]) -> History:
    """The entries of a log; a line that says nothing of the kind is passed over."""
    entries = (_entry_or_none(link.fields) for link in links)
    return History(tuple(entry for entry in entries if entry is not None))


def look_warning(eval_set: str, earlier: Sequence[Entry]) -> str | None:
    """What must be said of a look that is not the first."""
    if not earlier:
        return None
    days = ", ".join(entry.at[:10] for entry in earlier[-3:])
    return (
        f"this is look {len(earlier) + 1} at {eval_set} (before: {days}): the set loses value with every "
        f"look, and a choice made on it is no longer confirmed by it"
    )


def _entry_or_none(written: Mapping[str, Any]) -> Entry | None:
    try:
        return entry_of(written)
    except ValueError:
        return None


def _last(entries: Iterable[Entry]) -> Entry | None:
    found = list(entries)
    return found[-1] if found else None
