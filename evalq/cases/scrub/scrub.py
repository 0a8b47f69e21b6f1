"""Scrubs the texts of a row: nested values walked, what is found replaced, what was done kept for review."""

import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evalq.cases.scrub import DETECTORS, RANKING
from evalq.cases.scrub.span import Kind, Span, is_card_number, merge_spans
from evalq.definitions.located import Loc

STAND_IN = re.compile(rf"\[(?P<kind>{'|'.join(RANKING)})-(?P<number>[1-9]\d{{0,8}}|[0-9a-f]{{12}})\]")

_CASELESS: tuple[Kind, ...] = ("email", "ip", "iban", "address", "birth-date")
_SPACELESS: tuple[Kind, ...] = ("card", "iban", "ssn", "phone", "id-number")


class Pseudonyms:
    """Counts by kind in order of appearance; with a key, stand-ins that are the same in every file."""

    def __init__(self, key: bytes | None = None, *, taken: Iterable[str] = ()) -> None:
        """`taken` are texts whose stand-ins are somebody else's: their numbers are passed over."""
        self._key = key
        self._known: dict[tuple[Kind, str], str] = {}
        self._last: defaultdict[str, int] = defaultdict(int)
        for text in taken:
            for found in STAND_IN.finditer(text):
                if found["number"].isdecimal() and len(found["number"]) < 10:
                    self._last[found["kind"]] = max(self._last[found["kind"]], int(found["number"]))

    def stand_in(self, kind: Kind, value: str) -> str:
        """What stands in for a value; spaces, hyphens and case that change nothing about it do not count."""
        known = (kind, normal_form(kind, value))
        if known not in self._known:
            self._known[known] = f"[{kind}-{self._number(*known)}]"
        return self._known[known]

    def _number(self, kind: Kind, value: str) -> str:
        if self._key is not None:
            return hmac.new(self._key, f"{kind}\n{value}".encode(), hashlib.sha256).hexdigest()[:12]
        self._last[kind] += 1
        return str(self._last[kind])


def normal_form(kind: Kind, value: str) -> str:
    """The value as its kind compares it: a number without its spaces, an address without its case."""
    text = re.sub(r"[\s().\u2010-\u2013/-]", "", value) if kind in _SPACELESS else value
    return text.casefold() if kind in _CASELESS else text


def mask(value: str) -> str:
    """All that may be shown of a value: its first character and how long it is."""
    return f"{value[:1]}…({len(value)})"


def renumber(text: str, numbers: dict[str, int]) -> str:
    """The text with its stand-ins counted anew by `numbers`, which goes on counting: for comparing texts."""

    def number(found: re.Match[str]) -> str:
        return f"[{found['kind']}-{numbers.setdefault(found[0], len(numbers) + 1)}]"

    return STAND_IN.sub(number, text)


_KNOWN_BY_LABEL: tuple[Kind, ...] = ("secret",)
"""Found by the word before it only: elsewhere in the same row it is looked for as it is."""

_NUMBERS: tuple[Kind, ...] = ("iban", "card", "ssn", "phone")
_FEWEST_CHARACTERS = 6
_BLANK = "\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Replacement:
    """One value that was replaced: by what, and all that may be shown of it."""

    kind: Kind
    stand_in: str
    shown: str


@dataclass(frozen=True)
class ScrubbedText:
    """One text that was changed: in which field, what it was with every value masked, what it is now.

    `pieces` are the texts between the replacements, one more than there are of these.
    """

    field: str
    pieces: tuple[str, ...]
    replaced: tuple[Replacement, ...]

    @property
    def before(self) -> str:
        """As it was, every value masked."""
        return _joined(self.pieces, [f"‹{one.shown}›" for one in self.replaced])

    @property
    def after(self) -> str:
        """As it is written."""
        return _joined(self.pieces, [one.stand_in for one in self.replaced])


@dataclass(frozen=True)
class ScrubbedRow:
    """A row scrubbed: its values, the texts that changed, and keys that look personal and were left."""

    line: int
    values: Mapping[str, Any]
    texts: tuple[ScrubbedText, ...] = ()
    suspect_keys: tuple[tuple[str, Kind], ...] = ()


def find_spans(text: str, names: Sequence[str] = (), literals: Sequence[str] = ()) -> list[Span]:
    """What is to be replaced in a text, in order, without overlaps; stand-ins that are there already stay."""
    spans = _detected(text, RANKING)
    if spans:
        # Once more without them: a number beside another is known for what it is only when that one is gone.
        spans += _detected(_blanked(text, merge_spans(spans, RANKING)), _NUMBERS)
    spans += [Span(*place, "name") for place in _occurrences(text, names)]
    spans += [Span(*place, "secret") for place in _occurrences(text, literals)]
    return (
        _outside_stand_ins(text, merge_spans(spans, RANKING))
        if spans and "[" in text
        else merge_spans(spans, RANKING)
    )


def _detected(text: str, kinds: Sequence[Kind]) -> list[Span]:
    detectors = ((kind, find) for kind, find in DETECTORS.items() if kind in kinds)
    return [Span(*place, kind) for kind, find in detectors for place in find(text)]


def _blanked(text: str, spans: Sequence[Span]) -> str:
    """The text, as long as it was, with nothing that means anything where the spans are."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], _BLANK * (span.end - span.start)]
        at = span.end
    return "".join(parts) + text[at:]


def scrub_text(
    text: str, pseudonyms: Pseudonyms, *, names: Sequence[str] = (), literals: Sequence[str] = ()
) -> ScrubbedText:
    """One text by itself."""
    return _replaced("", text, find_spans(text, names, literals), pseudonyms)


def scrub_row(
    values: Mapping[str, Any], pseudonyms: Pseudonyms, *, line: int = 0, names: Sequence[str] = ()
) -> ScrubbedRow:
    """Every text of a row, and numbers that are card numbers; keys are left, and named if they look personal.

    `names` are replaced wherever they stand as whole words.
    """
    places = list(_texts(values, ()))
    found = {path: find_spans(text, names) for path, text in places}
    secrets = {
        text[span.start : span.end]
        for path, text in places
        for span in found[path]
        if span.kind in _KNOWN_BY_LABEL and span.end - span.start >= _FEWEST_CHARACTERS
    }
    if secrets:
        found = {path: find_spans(text, names, sorted(secrets)) for path, text in places}
    suspects = dict(_suspect_keys(values, ()))
    scrubbed = {
        path: _replaced(_field(path, suspects), text, found[path], pseudonyms) for path, text in places
    }
    changed = {path: one for path, one in scrubbed.items() if one.replaced}
    after = _with_texts(dict(values), (), {path: one.after for path, one in changed.items()})
    keys = tuple((_field(path, suspects), kind) for path, kind in suspects.items())
    return ScrubbedRow(line, after, tuple(changed.values()), keys)


def _replaced(field: str, text: str, spans: Sequence[Span], pseudonyms: Pseudonyms) -> ScrubbedText:
    pieces, done, at = [], [], 0
    for span in spans:
        value = text[span.start : span.end]
        pieces.append(text[at : span.start])
        done.append(Replacement(span.kind, pseudonyms.stand_in(span.kind, value), mask(value)))
        at = span.end
    return ScrubbedText(field, (*pieces, text[at:]), tuple(done))


def _occurrences(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where values stand as whole words; the longest first, so that no part of one is left over."""
    present = sorted((value for value in values if value in text), key=len, reverse=True)
    if present:
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, present))})(?!\w)")
        yield from (found.span() for found in pattern.finditer(text))


def _outside_stand_ins(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans that touch no stand-in; both are in order, so each is looked at once."""
    taken, outside = iter(STAND_IN.finditer(text)), []
    stand_in = next(taken, None)
    for span in spans:
        while stand_in is not None and stand_in.end() <= span.start:
            stand_in = next(taken, None)
        if stand_in is None or stand_in.start() >= span.end:
            outside.append(span)
    return outside


def _joined(pieces: Sequence[str], between: Sequence[str]) -> str:
    return pieces[0] + "".join(middle + piece for middle, piece in zip(between, pieces[1:], strict=True))


def _texts(value: Any, path: Loc) -> Iterator[tuple[Loc, str]]:
    """Every text in a value by its path; card numbers written as numbers too."""
    if isinstance(value, str):
        yield path, value
    elif _is_card(value):
        yield path, str(value)
    for key, part in _parts(value):
        yield from _texts(part, (*path, key))


def _parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _is_card(value: Any) -> bool:
    return type(value) is int and is_card_number(str(abs(value)))


def _with_texts(value: Any, path: Loc, texts: Mapping[Loc, str]) -> Any:
    """The same value with the texts of these paths in their places."""
    if path in texts:
        return texts[path]
    parts = {key: _with_texts(part, (*path, key), texts) for key, part in _parts(value)}
    if isinstance(value, Mapping):
        return parts
    return list(parts.values()) if isinstance(value, list) else value


def _suspect_keys(value: Any, path: Loc) -> Iterator[tuple[Loc, Kind]]:
    """Keys in which something was found; they are left, since a template may name them."""
    for key, part in _parts(value):
        kind = _kind_of_key(key) if isinstance(key, str) else None
        if kind is not None:
            yield (*path, key), kind
        yield from _suspect_keys(part, (*path, key))


@lru_cache(maxsize=4096)  # the rows of a file have the same few keys
def _kind_of_key(key: str) -> Kind | None:
    spans = find_spans(key)
    return spans[0].kind if spans else None


def _field(path: Loc, suspects: Mapping[Loc, Kind]) -> str:
    """A path for people, `message.text` or `tags[2]`; a key that looks personal is masked."""
    shown = ""
    for depth, part in enumerate(path, start=1):
        name = mask(str(part)) if path[:depth] in suspects else part
        shown += f"[{name}]" if isinstance(name, int) else f".{name}"
    return shown.removeprefix(".")
