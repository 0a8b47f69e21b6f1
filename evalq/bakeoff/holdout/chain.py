"""The hash chain of a holdout log: writes its lines, and finds every line that was changed.

A line is canonical JSON (sorted keys, no spaces, UTF-8) with its number `seq`, the hash of the line before it
in `prev`, and in `hash` the SHA-256 of its own text without that field.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from evalq.results import BakeOffResult

if TYPE_CHECKING:
    from pydantic import TypeAdapter

GENESIS = "0" * 64
"""The hash before the first line."""

BreakKind = Literal["edit", "deletion", "swap", "insertion", "truncation", "disagreement", "set"]


@dataclass(frozen=True)
class Link:
    """A sound line: its number, its hash, the hash before it, and its fields."""

    seq: int
    prev: str
    hash: str
    fields: Mapping[str, Any]

    @property
    def head(self) -> str:
        """The line as an anchor: SEQ:HASH."""
        return f"{self.seq}:{self.hash}"


@dataclass(frozen=True)
class Anchor:
    """A line that was noted elsewhere: in a report, an alert or a commit."""

    seq: int
    hash: str


@dataclass(frozen=True)
class Break:
    """What is wrong at a line, counted from 1."""

    kind: BreakKind
    line: int
    found: str


@dataclass(frozen=True)
class _NumberedLink:
    line: int
    link: Link


def canonical(fields: Mapping[str, Any]) -> bytes:
    """The canonical form of these fields: sorted keys, no spaces, UTF-8."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def next_link(fields: Mapping[str, Any], after: Link | None) -> Link:
    """Make the line that follows another one, or the first line."""
    seq, prev = (after.seq + 1, after.hash) if after else (1, GENESIS)
    whole = {**fields, "seq": seq, "prev": prev}
    digest = _hash(whole)
    return Link(seq, prev, digest, {**whole, "hash": digest})


def line_of(link: Link) -> bytes:
    """The line as written in the log, with its line break."""
    return canonical(link.fields) + b"\n"


def read_line(line: bytes) -> Link:
    """Read a sound line; raise ValueError with what is wrong with any other."""
    if not line.endswith(b"\n"):
        raise ValueError("does not end with a line break: it was cut off")
    try:
        fields = json.loads(line)
        is_canonical = isinstance(fields, dict) and canonical(fields) + b"\n" == line
    except (ValueError, RecursionError):
        raise ValueError("is not a JSON object") from None
    if not is_canonical:
        raise ValueError("is not written as evalq writes it")
    seq, prev, digest = (fields.get(name) for name in ("seq", "prev", "hash"))
    if type(seq) is not int or not isinstance(prev, str) or not isinstance(digest, str):
        raise ValueError("has no number or no hash")
    if digest != _hash({name: value for name, value in fields.items() if name != "hash"}):
        raise ValueError("was changed: its hash is not that of its text")
    return Link(seq, prev, digest, fields)


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a log, each with its line break; only the last may lack it."""
    *whole, rest = data.split(b"\n")
    return [part + b"\n" for part in whole] + ([rest] if rest else [])


def sound_links(lines: Sequence[bytes]) -> list[Link]:
    """The sound lines, in order."""
    return [placed.link for placed in _read(lines)[0]]


def parse_anchor(text: str) -> Anchor:
    """Read SEQ:HASH; ValueError for anything else."""
    found = re.fullmatch(r"([1-9]\d{0,17}):([0-9a-f]{64})", text.strip())
    if not found:
        raise ValueError(f"{text!r} is not SEQ:HASH")
    return Anchor(int(found[1]), found[2])


def find_breaks(lines: Sequence[bytes], anchor: Anchor | None = None) -> list[Break]:
    """Every edit, deletion, swap and insertion; a cut end only against an anchor."""
    sound, breaks = _read(lines)
    once, again = _once(sound)
    bad = {found.line for found in breaks}
    breaks += again
    breaks += _swaps(once)
    breaks += _gaps(once, bad)
    breaks += _loose_links(once)
    breaks += _against_anchor(once, bad, anchor) if anchor else ()
    return sorted(breaks, key=lambda found: found.line)


def find_difference(file_lines: Sequence[bytes], kept_lines: Sequence[bytes]) -> Break | None:
    """The first line at which the file and the database differ."""
    for line, (written, kept) in enumerate(zip(file_lines, kept_lines, strict=False), start=1):
        if written != kept:
            return Break("disagreement", line, "is not the line that the database holds")
    if len(file_lines) < len(kept_lines):
        lines = _numbers(len(file_lines) + 1, len(kept_lines))
        return Break("truncation", len(file_lines) + 1, f"is missing: the database also holds seq {lines}")
    if len(file_lines) > len(kept_lines):
        return Break("disagreement", len(kept_lines) + 1, "is not in the database")
    return None


def _hash(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(fields)).hexdigest()


def _read(lines: Sequence[bytes]) -> tuple[list[_NumberedLink], list[Break]]:
    sound, breaks = [], []
    for number, line in enumerate(lines, start=1):
        try:
            sound.append(_NumberedLink(number, read_line(line)))
        except ValueError as exc:
            breaks.append(Break("edit", number, str(exc)))
    return sound, breaks


def _once(sound: Sequence[_NumberedLink]) -> tuple[list[_NumberedLink], list[Break]]:
    """One line per seq: of several the one that another line follows; the others were inserted."""
    followed = {placed.link.prev for placed in sound}
    kept: dict[int, _NumberedLink] = {}
    for placed in sorted(sound, key=lambda one: (one.link.hash not in followed, one.line)):
        kept.setdefault(placed.link.seq, placed)
    extra = [placed for placed in sound if kept[placed.link.seq] is not placed]
    breaks = [
        Break("insertion", one.line, f"says seq {one.link.seq}, as line {kept[one.link.seq].line} does")
        for one in extra
    ]
    return [placed for placed in sound if kept[placed.link.seq] is placed], breaks


def _swaps(once: Sequence[_NumberedLink]) -> Iterator[Break]:
    ordered = sorted(placed.link.seq for placed in once)
    for placed, seq in zip(once, ordered, strict=True):
        if placed.link.seq != seq:
            yield Break("swap", placed.line, f"says seq {placed.link.seq}, seq {seq} belongs here")


def _gaps(once: Sequence[_NumberedLink], bad: set[int]) -> Iterator[Break]:
    """Missing numbers, beyond those that the changed lines in between may have had."""
    seq_before = line_before = 0
    for line, seq in zip((one.line for one in once), sorted(one.link.seq for one in once), strict=True):
        between = sum(line_before < number < line for number in bad)
        missing = seq - seq_before - 1 - between
        if missing > 0:
            lines = _numbers(seq - missing, seq - 1)
            yield Break("deletion", line, f"says seq {seq}, and before it seq {lines} is missing")
        seq_before, line_before = seq, line


def _loose_links(once: Sequence[_NumberedLink]) -> Iterator[Break]:
    """Sound lines that do not follow the line before them: one of the two was rewritten."""
    ordered = sorted(once, key=lambda placed: placed.link.seq)
    if ordered and ordered[0].link.seq == 1 and ordered[0].link.prev != GENESIS:
        yield Break("edit", ordered[0].line, "is not a first line: it follows another")
    for before, placed in pairwise(ordered):
        if placed.link.seq == before.link.seq + 1 and placed.link.prev != before.link.hash:
            found = f"does not follow line {before.line}: one of the two was rewritten"
            yield Break("edit", placed.line, found)


def _against_anchor(once: Sequence[_NumberedLink], bad: set[int], anchor: Anchor) -> Iterator[Break]:
    last_seq = max((placed.link.seq for placed in once), default=0)
    last_line = max((placed.line for placed in once), default=0)
    changed_after = sum(line > last_line for line in bad)
    if anchor.seq > last_seq + changed_after:
        line = max(last_line, *bad, 0) + 1 if bad else last_line + 1
        yield Break("truncation", line, f"is missing: the log ends before seq {anchor.seq} of the anchor")
    for placed in once:
        if placed.link.seq == anchor.seq and placed.link.hash != anchor.hash:
            yield Break("edit", placed.line, f"is not the line anchored as seq {anchor.seq}")


def _numbers(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


Kind = Literal["freeze", "intent", "result"]


@dataclass(frozen=True)
class Score:
    """One judge's result in the log; `n` counts the answers with a verdict."""

    judge: str
    n: int
    n_pass: int
    accuracy: float | None


@dataclass(frozen=True)
class LogEntry:
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


@cache
def _entry_reader() -> "TypeAdapter[LogEntry]":
    from pydantic import TypeAdapter  # building it takes a while, and most bake-offs log nothing

    return TypeAdapter(LogEntry)


def entry_of(fields: Mapping[str, Any]) -> LogEntry:
    """Parse the entry of a line; ignores unknown fields, raises ValueError if it is not an entry."""
    return _entry_reader().validate_python(dict(fields))


def result_entry(intent: LogEntry, result: BakeOffResult, *, at: str) -> LogEntry:
    """The result entry of the look that an intent announced."""
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

    entries: tuple[LogEntry, ...] = ()

    def last_hashed(self, eval_set: str) -> LogEntry | None:
        """The newest freeze or intent of a set: the bytes that count."""
        return _last(e for e in self.entries if e.kind != "result" and e.eval_set == eval_set)

    def looks(self, eval_set: str, content_sha256: str | None = None) -> list[LogEntry]:
        """The looks at a set, oldest first; those at the same cases under another name are looks too."""
        return [
            entry
            for entry in self.entries
            if entry.is_look and (entry.eval_set == eval_set or entry.content_sha256 == content_sha256)
        ]

    def intent_of(self, uid: str) -> LogEntry | None:
        """The intent a bake-off was started under."""
        return next((e for e in self.entries if e.kind == "intent" and e.bakeoff_uid == uid), None)

    def result_of(self, uid: str) -> LogEntry | None:
        """The newest result of a bake-off."""
        return _last(e for e in self.entries if e.kind == "result" and e.bakeoff_uid == uid)

    def drift_checks(self, eval_set: str) -> list[LogEntry]:
        """The drift checks of a set, oldest first."""
        return [
            entry
            for entry in self.entries
            if entry.kind == "intent" and entry.eval_set == eval_set and not entry.is_look
        ]

    @property
    def eval_sets(self) -> list[str]:
        """The sets in the log, in order of appearance."""
        return list(dict.fromkeys(entry.eval_set for entry in self.entries))


def history_of(links: Iterable[Link]) -> History:
    """The entries of a log; lines that are not entries are skipped."""
    entries = (_entry_or_none(link.fields) for link in links)
    return History(tuple(entry for entry in entries if entry is not None))


def look_warning(eval_set: str, earlier: Sequence[LogEntry]) -> str | None:
    """A warning for a look that is not the first."""
    if not earlier:
        return None
    days = ", ".join(entry.at[:10] for entry in earlier[-3:])
    return (
        f"this is look {len(earlier) + 1} at {eval_set} (before: {days}): the set loses value with every "
        f"look, and a choice made on it is no longer confirmed by it"
    )


def _entry_or_none(written: Mapping[str, Any]) -> LogEntry | None:
    try:
        return entry_of(written)
    except ValueError:
        return None


def _last(entries: Iterable[LogEntry]) -> LogEntry | None:
    found = list(entries)
    return found[-1] if found else None
