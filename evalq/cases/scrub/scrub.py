"""Scrubs the texts of a row: replaces all that the detectors find by stand-ins, and records it for review."""

import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evalq.cases.scrub import DETECTORS, RANKING
from evalq.cases.scrub.identifiers import is_card_number
from evalq.cases.scrub.span import Kind, Span, merge_spans
from evalq.definitions.located import Loc

STAND_IN = re.compile(rf"\[(?P<kind>{'|'.join(RANKING)})-(?P<number>[1-9]\d{{0,8}}|[0-9a-f]{{12}})\]")

_KNOWN_BY_LABEL: tuple[Kind, ...] = ("secret",)
"""Kinds found only by the word before them; elsewhere in the same row the value itself is searched."""

_NUMBERS: tuple[Kind, ...] = ("iban", "card", "ssn", "phone")
_FEWEST_CHARACTERS = 6
_BLANK = "\N{OBJECT REPLACEMENT CHARACTER}"

_CASELESS: tuple[Kind, ...] = ("email", "ip", "iban", "address", "birth-date")
_SPACELESS: tuple[Kind, ...] = ("card", "iban", "ssn", "phone", "id-number")


class Pseudonyms:
    """Hands out stand-ins, numbered by kind in order of appearance; with a key, the same in every file."""

    def __init__(self, key: bytes | None = None, *, taken: Iterable[str] = ()) -> None:
        """The numbers of stand-ins in the `taken` texts are not used again."""
        self._key = key
        self._known: dict[tuple[Kind, str], str] = {}
        self._last: defaultdict[str, int] = defaultdict(int)
        for text in taken:
            for found in STAND_IN.finditer(text):
                kind, number = found["kind"], found["number"]
                if number.isdecimal() and len(number) < 10:  # longer ones are made with a key
                    self._last[kind] = max(self._last[kind], int(number))

    def stand_in(self, kind: Kind, value: str) -> str:
        """The stand-in of a value; spaces, hyphens and letter case that do not matter are ignored."""
        normal = normal_form(kind, value)
        if (kind, normal) not in self._known:
            self._known[kind, normal] = f"[{kind}-{self._make_number(kind, normal)}]"
        return self._known[kind, normal]

    def _make_number(self, kind: Kind, value: str) -> str:
        if self._key is not None:
            return hmac.new(self._key, f"{kind}\n{value}".encode(), hashlib.sha256).hexdigest()[:12]
        self._last[kind] += 1
        return str(self._last[kind])


def normal_form(kind: Kind, value: str) -> str:
    """The value as its kind compares it: a number without its spaces, an address without its case."""
    if kind in _SPACELESS:
        value = re.sub(r"[\s().\u2010-\u2013/-]", "", value)
    if kind in _CASELESS:
        value = value.casefold()
    return value


def mask(value: str) -> str:
    """The part of a value that may be shown: its first character and its length."""
    return f"{value[:1]}…({len(value)})"


def renumber(text: str, numbers: dict[str, int]) -> str:
    """The text with its stand-ins numbered by `numbers`, which is extended: for comparing texts."""

    def replace(found: re.Match[str]) -> str:
        return f"[{found['kind']}-{numbers.setdefault(found[0], len(numbers) + 1)}]"

    return STAND_IN.sub(replace, text)


@dataclass(frozen=True)
class Replacement:
    """One value that was replaced: its kind, its stand-in, and its mask."""

    kind: Kind
    stand_in: str
    shown: str


@dataclass(frozen=True)
class ScrubbedText:
    """One changed text: its field, its replacements, and the pieces of text around them.

    There is one piece more than there are replacements.
    """

    field: str
    pieces: tuple[str, ...]
    replaced: tuple[Replacement, ...]

    @property
    def before(self) -> str:
        """The text as it was, every value masked."""
        return _interleave(self.pieces, [f"‹{one.shown}›" for one in self.replaced])

    @property
    def after(self) -> str:
        """The text as it is written."""
        return _interleave(self.pieces, [one.stand_in for one in self.replaced])


@dataclass(frozen=True)
class ScrubbedRow:
    """A scrubbed row: its values, the texts that changed, and keys that look personal but are kept."""

    line: int
    values: Mapping[str, Any]
    texts: tuple[ScrubbedText, ...] = ()
    suspect_keys: tuple[tuple[str, Kind], ...] = ()


def find_spans(text: str, names: Sequence[str] = (), literals: Sequence[str] = ()) -> list[Span]:
    """What to replace in a text, in order, without overlaps; existing stand-ins stay."""
    spans = _detect(text, RANKING)
    if spans:
        # Again without them: a number beside another is only recognised once that one is gone.
        spans += _detect(_blank_out(text, merge_spans(spans, RANKING)), _NUMBERS)
    spans += [Span(*place, "name") for place in _occurrences(text, names)]
    spans += [Span(*place, "secret") for place in _occurrences(text, literals)]
    return (
        _outside_stand_ins(text, merge_spans(spans, RANKING))
        if spans and "[" in text
        else merge_spans(spans, RANKING)
    )


def _detect(text: str, kinds: Sequence[Kind]) -> list[Span]:
    spans: list[Span] = []
    for kind, find in DETECTORS.items():
        if kind in kinds:
            spans += [Span(*place, kind) for place in find(text)]
    return spans


def _blank_out(text: str, spans: Sequence[Span]) -> str:
    """The text at its old length with the spans filled by a neutral character."""
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], _BLANK * (span.end - span.start)]
        at = span.end
    return "".join(parts) + text[at:]


def scrub_row(
    values: Mapping[str, Any], pseudonyms: Pseudonyms, *, line: int = 0, names: Sequence[str] = ()
) -> ScrubbedRow:
    """Scrub every text of a row, and card numbers written as numbers; keys that look personal are listed.

    `names` are replaced wherever they occur as whole words.
    """
    texts = dict(_texts_by_path(values, ()))
    found = {path: find_spans(text, names) for path, text in texts.items()}
    secrets = _labelled_secrets(texts, found)
    if secrets:
        found = {path: find_spans(text, names, secrets) for path, text in texts.items()}
    suspects = dict(_suspect_keys(values, ()))
    changed: dict[Loc, ScrubbedText] = {}
    for path, text in texts.items():
        if found[path]:
            changed[path] = replace_spans(_field_name(path, suspects), text, found[path], pseudonyms)
    after = _with_texts(dict(values), (), {path: one.after for path, one in changed.items()})
    keys = tuple((_field_name(path, suspects), kind) for path, kind in suspects.items())
    return ScrubbedRow(line, after, tuple(changed.values()), keys)


def replace_spans(field: str, text: str, spans: Sequence[Span], pseudonyms: Pseudonyms) -> ScrubbedText:
    """Replace the spans of one text by stand-ins."""
    pieces: list[str] = []
    replaced: list[Replacement] = []
    at = 0
    for span in spans:
        value = text[span.start : span.end]
        pieces.append(text[at : span.start])
        replaced.append(Replacement(span.kind, pseudonyms.stand_in(span.kind, value), mask(value)))
        at = span.end
    return ScrubbedText(field, (*pieces, text[at:]), tuple(replaced))


def _labelled_secrets(texts: Mapping[Loc, str], found: Mapping[Loc, Sequence[Span]]) -> list[str]:
    """The values known by a label, long enough to search for elsewhere in the row."""
    secrets = set()
    for path, text in texts.items():
        for span in found[path]:
            if span.kind in _KNOWN_BY_LABEL and span.end - span.start >= _FEWEST_CHARACTERS:
                secrets.add(text[span.start : span.end])
    return sorted(secrets)


def _occurrences(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where values occur as whole words; the longest first, so that no part of one is left over."""
    present = sorted((value for value in values if value in text), key=len, reverse=True)
    if present:
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, present))})(?!\w)")
        for found in pattern.finditer(text):
            yield found.span()


def _outside_stand_ins(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans that touch no stand-in; both are in order, so each is visited once."""
    outside = []
    stand_ins = STAND_IN.finditer(text)
    stand_in = next(stand_ins, None)
    for span in spans:
        while stand_in is not None and stand_in.end() <= span.start:
            stand_in = next(stand_ins, None)
        if stand_in is None or stand_in.start() >= span.end:
            outside.append(span)
    return outside


def _interleave(pieces: Sequence[str], between: Sequence[str]) -> str:
    parts = [pieces[0]]
    for middle, piece in zip(between, pieces[1:], strict=True):
        parts += [middle, piece]
    return "".join(parts)


def _texts_by_path(value: Any, path: Loc) -> Iterator[tuple[Loc, str]]:
    """Every text in a value by its path, and card numbers written as numbers."""
    if isinstance(value, str):
        yield path, value
    elif type(value) is int and is_card_number(str(abs(value))):
        yield path, str(value)
    for key, part in _items(value):
        yield from _texts_by_path(part, (*path, key))


def _items(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    return ()


def _with_texts(value: Any, path: Loc, texts: Mapping[Loc, str]) -> Any:
    """The value with the texts at these paths replaced."""
    if path in texts:
        return texts[path]
    if isinstance(value, Mapping):
        return {key: _with_texts(part, (*path, key), texts) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(part, (*path, i), texts) for i, part in enumerate(value)]
    return value


def _suspect_keys(value: Any, path: Loc) -> Iterator[tuple[Loc, Kind]]:
    """Keys that look personal; they are kept, since a template may name them."""
    for key, part in _items(value):
        kind = _kind_of_key(key) if isinstance(key, str) else None
        if kind is not None:
            yield (*path, key), kind
        yield from _suspect_keys(part, (*path, key))


@lru_cache(maxsize=4096)  # the rows of a file have the same few keys
def _kind_of_key(key: str) -> Kind | None:
    spans = find_spans(key)
    return spans[0].kind if spans else None


def _field_name(path: Loc, suspects: Mapping[Loc, Kind]) -> str:
    """A path for people, `message.text` or `tags[2]`; a key that looks personal is masked."""
    name = ""
    for depth, part in enumerate(path, start=1):
        if isinstance(part, int):
            name += f"[{part}]"
        elif path[:depth] in suspects:
            name += f".{mask(part)}"
        else:
            name += f".{part}"
    return name.removeprefix(".")
