"""What scrubbing did, for review: counts by kind, where each value stood, a diff; never a value itself."""

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

_LONGEST_PIECE = 240
_KEPT = 80


@dataclass(frozen=True)
class ReplacedValue:
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
class ScrubReport:
    """Everything that was replaced in some rows, and keys that look personal and were left."""

    where: tuple[ReplacedValue, ...]
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


def make_report(rows: Sequence[ScrubbedRow]) -> ScrubReport:
    """The report on some rows."""
    where = [
        ReplacedValue(row.line, text.field, one.kind, one.stand_in, one.shown)
        for row in rows
        for text in row.texts
        for one in text.replaced
    ]
    keys = [(row.line, field, kind) for row in rows for field, kind in row.suspect_keys]
    return ScrubReport(tuple(where), tuple(keys))


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


RECALL_SET = Path(__file__).with_name("recall_set.yaml")

_MARKED = re.compile(r"⟦(?P<kind>[a-z-]+)\|(?P<value>.*?)⟧", re.DOTALL)
_JOINT = "~~"


@dataclass(frozen=True)
class MarkedText:
    """An invented text and what is to be found in it; a harmless one has no spans."""

    lang: str
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Recall:
    """What was found of what is marked, by kind, and how much of what was found is marked."""

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
    """The texts of the shipped set."""
    value = load_yaml(path.read_text("utf-8"), path.name).value
    return [
        _marked(lang, written)
        for part in ("personal", "harmless")
        for lang, texts in value[part].items()
        for written in texts
    ]


def measure_recall(texts: list[MarkedText]) -> Recall:
    """Strictly: a value counts as found when a span of its own kind covers all of it."""
    marked, found, right = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    missed: list[tuple[Kind, str]] = []
    false_alarms = 0
    for one in texts:
        spans = find_spans(one.text)
        marked.update(span.kind for span in one.spans)
        found.update(span.kind for span in spans)
        lost = [want for want in one.spans if not any(_covers(span, want) for span in spans)]
        missed += [(want.kind, one.text[want.start : want.end]) for want in lost]
        right.update(span.kind for span in spans if any(_touches(span, want) for want in one.spans))
        false_alarms += bool(spans and not one.spans)
    lost_of = Counter(kind for kind, _ in missed)
    return Recall(
        {kind: share_of(marked[kind] - lost_of[kind], marked[kind]) for kind in DETECTORS},
        {kind: share_of(right[kind], found[kind]) for kind in DETECTORS},
        len(texts),
        sum(not one.spans for one in texts),
        false_alarms,
        tuple(missed),
    )


def _marked(lang: str, written: str) -> MarkedText:
    plain, spans, at = "", [], 0
    for found in _MARKED.finditer(written):
        plain += written[at : found.start()].replace(_JOINT, "")
        value = found["value"].replace(_JOINT, "")
        spans.append(Span(len(plain), len(plain) + len(value), _kind(found["kind"])))
        plain, at = plain + value, found.end()
    return MarkedText(lang, plain + written[at:].replace(_JOINT, ""), tuple(spans))


def _kind(name: str) -> Kind:
    return next(kind for kind in DETECTORS if kind == name)


def _covers(span: Span, want: Span) -> bool:
    return span.kind == want.kind and span.start <= want.start and want.end <= span.end


def _touches(span: Span, want: Span) -> bool:
    return span.kind == want.kind and span.start < want.end and want.start < span.end


def _sum(shares: Mapping[Kind, Share]) -> Share:
    return share_of(sum(one.k for one in shares.values()), sum(one.n for one in shares.values()))
