"""What scrubbing did, for review: counts by kind, where each value stood, a diff; never a value itself."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evalq.scrub import RANKING
from evalq.scrub.scrubbing import ScrubbedRow, ScrubbedText
from evalq.scrub.span import Kind

_LONGEST_PIECE = 240
_KEPT = 80


@dataclass(frozen=True)
class Where:
    """One value that was replaced: on which line of the file, in which field, by what; masked."""

    line: int
    field: str
    kind: Kind
    stand_in: str
    shown: str


@dataclass(frozen=True)
class KindCount:
    """How often a kind was replaced: all of them, different values, and rows with any."""

    kind: Kind
    n: int
    distinct: int
    rows: int


@dataclass(frozen=True)
class Report:
    """Everything that was replaced in some rows, and keys that look personal and were left."""

    where: tuple[Where, ...]
    suspect_keys: tuple[tuple[int, str, Kind], ...] = ()

    def counts(self) -> list[KindCount]:
        """By kind, in the order of the table of detectors; only kinds that were found."""
        found = {kind: [one for one in self.where if one.kind == kind] for kind in RANKING}
        return [
            KindCount(kind, len(ones), len({one.stand_in for one in ones}), len({one.line for one in ones}))
            for kind, ones in found.items()
            if ones
        ]

    def warnings(self) -> list[str]:
        """What a person must look at, since scrubbing left it."""
        return [
            f"line {line}: the key {field} looks like {kind}; keys are left as they are"
            for line, field, kind in self.suspect_keys
        ]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        counts = {one.kind: {"n": one.n, "distinct": one.distinct, "rows": one.rows} for one in self.counts()}
        return {"replaced": counts, "where": [asdict(one) for one in self.where]}


def make_report(rows: Sequence[ScrubbedRow]) -> Report:
    """The report on some rows."""
    where = [
        Where(row.line, text.field, one.kind, one.stand_in, one.shown)
        for row in rows
        for text in row.texts
        for one in text.replaced
    ]
    keys = [(row.line, field, kind) for row in rows for field, kind in row.suspect_keys]
    return Report(tuple(where), tuple(keys))


def render_diff(rows: Sequence[ScrubbedRow], *, before: str, after: str) -> str:
    """A unified diff of the lines that changed, from file `before` to file `after`; "" when none did.

    Every value is masked on the minus side; of long texts only what is near a change is shown.
    """
    changes = [line for row in rows for text in row.texts for line in _hunk(row.line, text)]
    return "\n".join([f"--- {before}", f"+++ {after}", *changes]) + "\n" if changes else ""


def _hunk(line: int, text: ScrubbedText) -> Iterator[str]:
    short = ScrubbedText(text.field, tuple(_shortened(text.pieces)), text.replaced)
    # Neither a mask nor a stand-in holds a line break, so the lines of both sides are the same ones.
    pairs = zip(short.before.split("\n"), short.after.split("\n"), strict=True)
    yield f"@@ -{line} +{line} @@ {text.field}"
    for old, new in pairs:
        if old != new:
            yield f"-{old}"
            yield f"+{new}"


def _shortened(pieces: Sequence[str]) -> Iterator[str]:
    """Long pieces without their middle; line breaks inside it go with it."""
    for place, piece in enumerate(pieces):
        if len(piece) <= _LONGEST_PIECE:
            yield piece
            continue
        head = piece[:_KEPT] if place else ""
        tail = piece[-_KEPT:] if place < len(pieces) - 1 else ""
        yield f"{head} … {tail}"
