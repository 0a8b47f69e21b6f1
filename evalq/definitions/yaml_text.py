"""Safe YAML with positions: YAML 1.2's plain values, no aliases, no tags, no key written twice."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from evalq.definitions.located import Located, Tree, check_size, is_storable
from evalq.errors import InputError, Problem

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is not in every build of PyYAML

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

# A leading zero makes a post code, an account or a phone number: that stays text.
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
    """The one document in `text`; None for an empty one. `file` names it in errors."""
    tree = Tree(file)
    for event in yaml_events(text, file):
        _refuse_anchor(tree, event)
        take_event(tree, event)
    return tree.located


def yaml_events(text: str, file: str) -> Iterator[yaml.Event]:
    """The parts of `text` in the order they are written; what is not YAML is refused with its line."""
    check_size(text, file)
    if not is_storable(text):
        raise InputError(Problem("a NUL or half a surrogate pair in the text", "remove it", file))
    with _syntax_errors_located(text, file):
        yield from yaml.parse(text, Loader=_LOADER)


def plain_value(text: str) -> Any:
    """What an unquoted word means: only true and false are booleans, dates and times stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if INTEGER.fullmatch(text):
        return int(text, 0)
    if FLOAT.fullmatch(text):
        return float(text)
    return float(text.replace(".", "")) if NOT_FINITE.fullmatch(text) else text


def take_event(tree: Tree, event: yaml.Event, plain: Callable[[str], Any] = plain_value) -> None:
    """Put one part into the tree; `plain` says what an unquoted word means. A tag is refused."""
    line = line_of_event(event)
    if getattr(event, "tag", None) is not None:
        tree.refuse("a tag ('!…')", "remove it; put text that begins with '!' in quotes", line)
    match event:
        case yaml.ScalarEvent():
            is_plain = event.implicit[0]
            tree.scalar(plain(event.value) if is_plain else event.value, line)
        case yaml.MappingStartEvent():
            tree.open({}, line)
        case yaml.SequenceStartEvent():
            tree.open([], line)
        case yaml.CollectionEndEvent():
            tree.close()
        case yaml.DocumentStartEvent() if not tree.is_empty:
            tree.refuse("a second document", "keep one document in a file: remove the '---'", line)


def line_of_event(event: yaml.Event) -> int:
    """Where it begins, counted from 1; 0 when unknown."""
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
        reason = ", ".join(filter(None, (exc.problem, exc.context)))
        raise InputError(Problem(f"not YAML: {reason}", _remedy(reason), file, _line(exc))) from None
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise InputError(Problem(f"not YAML: {exc.reason}", _remedy(exc.reason), file, line)) from None


def _line(exc: yaml.MarkedYAMLError) -> int:
    """Where it went wrong; for a quote never closed, where it was opened, since it ends at the last line."""
    is_quote = "quoted scalar" in (exc.context or "")
    mark = (exc.context_mark if is_quote else exc.problem_mark) or exc.problem_mark
    return mark.line + 1 if mark else 1


def _remedy(reason: str) -> str:
    return next((remedy for sign, remedy in _REMEDIES.items() if sign in reason), _USUAL_REMEDY)
