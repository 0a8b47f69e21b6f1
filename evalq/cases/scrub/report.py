"""Reports what scrubbing replaced, without the values, and measures the detectors on a marked test set."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalq.cases.scrub import DETECTORS, RANKING
from evalq.cases.scrub.scrub import ScrubbedRow, ScrubbedText, find_spans
from evalq.cases.scrub.span import Kind, Span
from evalq.definitions.yaml_text import load_yaml
from evalq.results import Share
from evalq.summary.rates import share_of

RECALL_SET = Path(__file__).with_name("recall_set.yaml")

_LONGEST_PIECE = 240
_KEPT = 80

_MARKED = re.compile(r"⟦(?P<kind>[a-z-]+)\|(?P<value>.*?)⟧", re.DOTALL)
_JOINT = "~~"


@dataclass(frozen=True)
class ReplacedValue:
    """One value that was replaced: its line and field, its stand-in, and its mask."""

    line: int
    field: str
    kind: Kind
    stand_in: str
    shown: str


@dataclass(frozen=True)
class KindCount:
    """How often a kind was replaced: values, different values, and rows with any."""

    kind: Kind
    n: int
    distinct: int
    rows: int


@dataclass(frozen=True)
class ScrubReport:
    """Everything that was replaced in some rows, and keys that look personal but are kept."""

    where: tuple[ReplacedValue, ...]
    suspect_keys: tuple[tuple[int, str, Kind], ...] = ()

    def counts(self) -> list[KindCount]:
        """The counts of the kinds found, in the order of the detectors."""
        counts = []
        for kind in RANKING:
            values = [value for value in self.where if value.kind == kind]
            if values:
                stand_ins = {value.stand_in for value in values}
                lines = {value.line for value in values}
                counts.append(KindCount(kind, len(values), len(stand_ins), len(lines)))
        return counts

    def warnings(self) -> list[str]:
        """What a person must check, since scrubbing keeps it."""
        return [
            f"line {line}: the key {field} looks like {kind}; keys are left as they are"
            for line, field, kind in self.suspect_keys
        ]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        counts = {one.kind: {"n": one.n, "distinct": one.distinct, "rows": one.rows} for one in self.counts()}
        return {"replaced": counts, "where": [asdict(one) for one in self.where]}


def make_report(rows: Sequence[ScrubbedRow]) -> ScrubReport:
    """Report on some rows."""
    where: list[ReplacedValue] = []
    keys: list[tuple[int, str, Kind]] = []
    for row in rows:
        for text in row.texts:
            for one in text.replaced:
                where.append(ReplacedValue(row.line, text.field, one.kind, one.stand_in, one.shown))
        for field, kind in row.suspect_keys:
            keys.append((row.line, field, kind))
    return ScrubReport(tuple(where), tuple(keys))


def render_diff(rows: Sequence[ScrubbedRow], *, before: str, after: str) -> str:
    """A unified diff of the lines that changed, from file `before` to file `after`; "" when none did.

    Every value is masked on the minus side; long texts are shortened to the surroundings of a change.
    """
    lines = [f"--- {before}", f"+++ {after}"]
    for row in rows:
        for text in row.texts:
            lines += _render_hunk(row.line, text)
    if len(lines) == 2:
        return ""
    return "\n".join(lines) + "\n"


def _render_hunk(line: int, text: ScrubbedText) -> Iterator[str]:
    short = ScrubbedText(text.field, tuple(_shorten(text.pieces)), text.replaced)
    # Neither a mask nor a stand-in contains a line break, so the lines of both sides correspond.
    pairs = zip(short.before.split("\n"), short.after.split("\n"), strict=True)
    yield f"@@ -{line} +{line} @@ {text.field}"
    for old, new in pairs:
        if old != new:
            yield f"-{old}"
            yield f"+{new}"


def _shorten(pieces: Sequence[str]) -> Iterator[str]:
    """The pieces, long ones without their middle."""
    for place, piece in enumerate(pieces):
        if len(piece) <= _LONGEST_PIECE:
            yield piece
            continue
        head = piece[:_KEPT] if place else ""
        tail = piece[-_KEPT:] if place < len(pieces) - 1 else ""
        yield f"{head} … {tail}"


@dataclass(frozen=True)
class MarkedText:
    """An invented text and the spans to find in it; a harmless one has none."""

    lang: str
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Recall:
    """By kind: the share of marked values that were found, and of found values that are marked."""

    recall: Mapping[Kind, Share]
    precision: Mapping[Kind, Share]
    texts: int
    harmless: int
    false_alarms: int
    missed: tuple[tuple[Kind, str], ...] = ()

    @property
    def overall_recall(self) -> Share:
        """Over all kinds."""
        return _sum(self.recall)

    @property
    def overall_precision(self) -> Share:
        """Over all kinds."""
        return _sum(self.precision)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "texts": self.texts,
            "harmless": self.harmless,
            "false_alarms": self.false_alarms,
            "recall": _share_document(self.overall_recall),
            "precision": _share_document(self.overall_precision),
            "kinds": {
                kind: {
                    "recall": _share_document(self.recall[kind]),
                    "precision": _share_document(self.precision[kind]),
                }
                for kind in self.recall
            },
            "missed": [{"kind": kind, "value": value} for kind, value in self.missed],
        }


def _share_document(share: Share) -> dict[str, Any]:
    """As JSON; a share of nothing has no interval."""
    return asdict(share) if share.n else {"k": share.k, "n": share.n, "rate": None}


def load_marked(path: Path = RECALL_SET) -> list[MarkedText]:
    """Load the texts of the shipped set."""
    value = load_yaml(path.read_text("utf-8"), path.name).value
    marked = []
    for part in ("personal", "harmless"):
        for lang, texts in value[part].items():
            marked += [_read_marked(lang, written) for written in texts]
    return marked


def measure_recall(texts: list[MarkedText]) -> Recall:
    """Measure the detectors; a value counts as found when a span of its own kind covers all of it."""
    marked, covered = Counter[Kind](), Counter[Kind]()
    found, right = Counter[Kind](), Counter[Kind]()
    missed: list[tuple[Kind, str]] = []
    false_alarms = 0
    for one in texts:
        spans = find_spans(one.text)
        for want in one.spans:
            marked[want.kind] += 1
            if any(_covers(span, want) for span in spans):
                covered[want.kind] += 1
            else:
                missed.append((want.kind, one.text[want.start : want.end]))
        for span in spans:
            found[span.kind] += 1
            right[span.kind] += any(_touches(span, want) for want in one.spans)
        if spans and not one.spans:
            false_alarms += 1
    return Recall(
        recall={kind: share_of(covered[kind], marked[kind]) for kind in DETECTORS},
        precision={kind: share_of(right[kind], found[kind]) for kind in DETECTORS},
        texts=len(texts),
        harmless=sum(not one.spans for one in texts),
        false_alarms=false_alarms,
        missed=tuple(missed),
    )


def _read_marked(lang: str, written: str) -> MarkedText:
    """The text without its marks ⟦kind|value⟧, and the spans of the values."""
    kinds = {str(kind): kind for kind in DETECTORS}
    text = ""
    spans = []
    at = 0
    for found in _MARKED.finditer(written):
        text += written[at : found.start()].replace(_JOINT, "")
        value = found["value"].replace(_JOINT, "")
        spans.append(Span(len(text), len(text) + len(value), kinds[found["kind"]]))
        text += value
        at = found.end()
    return MarkedText(lang, text + written[at:].replace(_JOINT, ""), tuple(spans))


def _covers(span: Span, want: Span) -> bool:
    return span.kind == want.kind and span.start <= want.start and want.end <= span.end


def _touches(span: Span, want: Span) -> bool:
    return span.kind == want.kind and span.start < want.end and want.start < span.end


def _sum(shares: Mapping[Kind, Share]) -> Share:
    return share_of(sum(one.k for one in shares.values()), sum(one.n for one in shares.values()))
