"""Reads YAML safely and with line numbers: YAML 1.2's plain values, no tags, no key written twice."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from evalq.definitions.located import Loc, Located, Tree, check_size, is_storable
from evalq.errors import InputError, Problem

MAX_EXPANDED = 100_000
MAX_EXPANDED_BYTES = 64_000_000
MERGE_KEY = "<<"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is not in every build of PyYAML

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

# A leading zero means a post code, an account or a phone number, which stays text.
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,999})|0o[0-7]{1,999}|0x[0-9a-fA-F]{1,999}")
FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_REMEDIES = {
    "cannot start any token": "indent with spaces, not tabs; put text that begins with @, ` or % in quotes",
    "mapping values are not allowed": "put text that holds ': ' in quotes, and check the indentation",
    "quoted scalar": "close the quote",
    "flow": "close the bracket, and put a comma between its entries",
    "control characters": "remove the control character, or write it as an escape in double quotes",
    "special characters": "remove the control character, or write it as an escape in double quotes",
}
_USUAL_REMEDY = "check the indentation there, and put text with special characters in quotes"


def load_yaml(text: str, file: str) -> Located:
    """Read the one document in `text`; empty text is None. Anchors and aliases are refused."""
    tree = Tree(file)
    for event in yaml_events(text, file):
        _refuse_anchor(tree, event)
        take_event(tree, event)
    return tree.located


def yaml_events(text: str, file: str) -> Iterator[yaml.Event]:
    """Yield the parts of `text` as written; refuse invalid YAML with its line."""
    check_size(text, file)
    if not is_storable(text):
        raise InputError(Problem("a NUL or half a surrogate pair in the text", "remove it", file))
    with _syntax_errors_located(text, file):
        yield from yaml.parse(text, Loader=_LOADER)


def plain_value(text: str) -> Any:
    """The value of an unquoted word: only true and false are booleans, dates and times stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if INTEGER.fullmatch(text):
        return int(text, 0)
    if FLOAT.fullmatch(text):
        return float(text)
    if NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def take_event(tree: Tree, event: yaml.Event, plain: Callable[[str], Any] = plain_value) -> None:
    """Put one part into the tree; `plain` gives the value of an unquoted word. A tag is refused."""
    line = line_of_event(event)
    if getattr(event, "tag", None) is not None:
        tree.refuse("a tag ('!…')", "remove it; put text that begins with '!' in quotes", line)
    match event:
        case yaml.ScalarEvent() if event.implicit[0]:
            tree.scalar(plain(event.value), line)
        case yaml.ScalarEvent():
            tree.scalar(event.value, line)
        case yaml.MappingStartEvent():
            tree.open({}, line)
        case yaml.SequenceStartEvent():
            tree.open([], line)
        case yaml.CollectionEndEvent():
            tree.close()
        case yaml.DocumentStartEvent() if not tree.is_empty:
            tree.refuse("a second document", "keep one document in a file: remove the '---'", line)


def line_of_event(event: yaml.Event) -> int:
    """The line it begins on, counted from 1; 0 when unknown."""
    return event.start_mark.line + 1 if event.start_mark else 0


def _refuse_anchor(tree: Tree, event: yaml.Event) -> None:
    if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
        # A few nested aliases expand to gigabytes, and a self-reference never ends.
        sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
        remedy = "write the value out, or put the text in quotes"
        tree.refuse(f"alias or anchor '{sign}{event.anchor}'", remedy, line_of_event(event))


@contextmanager
def _syntax_errors_located(text: str, file: str) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as exc:
        reason = ", ".join(part for part in (exc.problem, exc.context) if part)
        mark = exc.problem_mark
        if "quoted scalar" in (exc.context or ""):  # reported where it was opened, not at the last line
            mark = exc.context_mark or mark
        line = mark.line + 1 if mark else 1
        raise InputError(Problem(f"not YAML: {reason}", _find_remedy(reason), file, line)) from None
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise InputError(Problem(f"not YAML: {exc.reason}", _find_remedy(exc.reason), file, line)) from None


def _find_remedy(reason: str) -> str:
    for sign, remedy in _REMEDIES.items():
        if sign in reason:
            return remedy
    return _USUAL_REMEDY


def load_anchored_yaml(
    text: str, file: str, *, merges: bool = True, plain: Callable[[str], Any] = plain_value
) -> Located:
    """Read the one document in `text` with its aliases expanded; their parts have the anchor's line.

    Keys are text, as written. Without `merges` a `<<` is a key like any other, as in plain YAML 1.2.
    """
    expansion = _Expansion(Tree(file), plain)
    for event in yaml_events(text, file):
        expansion.take(event)
    located = expansion.tree.located
    if not merges or not any(MERGE_KEY in loc for loc in located.lines):
        return located
    lines: dict[Loc, int] = {}
    value = _merge(located, located.value, _Place((), ()), lines)
    return Located(value, lines, located.file)


@dataclass
class _Recording:
    """The parts of an anchored value, in the order they are written."""

    anchor: str
    events: list[yaml.Event] = field(default_factory=list)
    depth: int = 0

    def take(self, event: yaml.Event) -> bool:
        """Add a part; True once the anchored value is whole."""
        self.events.append(event)
        self.depth += isinstance(event, yaml.CollectionStartEvent)
        self.depth -= isinstance(event, yaml.CollectionEndEvent)
        return self.depth == 0


class _Expansion:
    """Fills a tree, and repeats the parts of an anchored value wherever an alias names it."""

    def __init__(self, tree: Tree, plain: Callable[[str], Any]) -> None:
        self.tree = tree
        self._plain = plain
        self._whole: dict[str, list[yaml.Event]] = {}
        self._open: list[_Recording] = []
        self._expanded = 0
        self._expanded_bytes = 0
        self._line = 0  # of the part being read, not of those it repeats

    def take(self, event: yaml.Event) -> None:
        """Place one part as it is read, and record it for later aliases."""
        self._line = line_of_event(event)
        is_value = isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        anchor = getattr(event, "anchor", None) if is_value else None
        if anchor is not None:
            self._open.append(_Recording(anchor))
        self._place(event)
        if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            self._record(event)

    def _record(self, event: yaml.Event) -> None:
        ended = [recording for recording in self._open if recording.take(event)]
        for recording in ended:
            self._whole[recording.anchor] = recording.events
            self._open.remove(recording)

    def _place(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._expand(event)
        else:
            take_event(self.tree, event, _as_written if self.tree.awaits_key else self._plain)

    def _expand(self, alias: yaml.AliasEvent) -> None:
        if any(recording.anchor == alias.anchor for recording in self._open):
            message = f"alias '*{alias.anchor}' is inside its own anchor"
            self.tree.refuse(message, "write the value out", self._line)
        if alias.anchor not in self._whole:
            remedy = f"write '&{alias.anchor}' before the value it means, or put the text in quotes"
            self.tree.refuse(f"alias '*{alias.anchor}' names no anchor", remedy, self._line)
        for event in self._whole[alias.anchor]:
            self._count(event)
            self._place(event)

    def _count(self, event: yaml.Event) -> None:
        """Refuse a document whose aliases repeat too many values, or too much text."""
        self._expanded += 1
        self._expanded_bytes += len(getattr(event, "value", "").encode())
        remedy = "write the values out, or use fewer aliases"
        if self._expanded > MAX_EXPANDED:
            self.tree.refuse(f"aliases that expand to more than {MAX_EXPANDED:,} values", remedy, self._line)
        if self._expanded_bytes > MAX_EXPANDED_BYTES:
            message = f"aliases that expand to more than {MAX_EXPANDED_BYTES:,} bytes"
            self.tree.refuse(message, remedy, self._line)


def _as_written(text: str) -> str:
    return text


@dataclass(frozen=True)
class _Place:
    """Where a part was written, and where it is after merging."""

    old: Loc
    new: Loc

    def down(self, key: str | int) -> "_Place":
        return _Place((*self.old, key), (*self.new, key))


def _merge(located: Located, value: Any, place: _Place, lines: dict[Loc, int]) -> Any:
    """The value with every `<<` replaced by the entries it merges; the keys beside it win."""
    lines[place.new] = located.line_of(place.old)
    if isinstance(value, list):
        return [_merge(located, item, place.down(i), lines) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, child, old in _entries(located, value, place.old):
        if key not in result:
            result[key] = _merge(located, child, _Place(old, (*place.new, key)), lines)
    return {key: result[key] for key in _order(value, result)}


def _entries(located: Located, mapping: dict[str, Any], loc: Loc) -> Iterator[tuple[str, Any, Loc]]:
    """The mapping's own entries, then those merged into it: the first of a key counts."""
    for key, child in mapping.items():
        if key != MERGE_KEY:
            yield key, child, (*loc, key)
    if MERGE_KEY not in mapping:
        return
    merged = mapping[MERGE_KEY]
    place: Loc = (*loc, MERGE_KEY)
    sources = [(merged, place)]
    if isinstance(merged, list):
        sources = [(item, (*place, i)) for i, item in enumerate(merged)]
    for source, where in sources:
        if not isinstance(source, dict):
            remedy = "give '<<' an alias of a mapping, or a list of such"
            raise InputError(located.problem(where, "a merge key without a mapping", remedy))
        yield from _entries(located, source, where)


def _order(mapping: dict[str, Any], result: dict[str, Any]) -> Iterator[str]:
    """The keys in order, merged ones in the place of the merge key."""
    own = [key for key in mapping if key != MERGE_KEY]
    for key in mapping:
        if key == MERGE_KEY:
            yield from (name for name in result if name not in own)
        else:
            yield key
