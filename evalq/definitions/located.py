"""Values read from a file with the line of each part; reads JSON so, YAML is in `yaml_text`."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from evalq.errors import InputError, Problem

Loc = tuple[str | int, ...]

MAX_DEPTH = 50
MAX_NODES = 500_000
MAX_TEXT_BYTES = 5_000_000

# Possessive, so that an unclosed quote is passed in one step.
_JSON_TOKEN = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[\[\]{}]|[^\s\[\]{}:,"]+|\n', re.DOTALL)
_HARD_TO_STORE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


@dataclass(frozen=True)
class Located:
    """A value, the line of each of its parts by path, and the file (or variable) it came from."""

    value: Any
    lines: dict[Loc, int]
    file: str

    def written(self, loc: Loc) -> Loc:
        """The parts of `loc` that are in the value; a union's tag or a missing key is skipped."""
        value = self.value
        path: list[str | int] = []
        for part in loc:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                continue
            path.append(part)
        return tuple(path)

    def line_of(self, loc: Loc) -> int:
        """The nearest known line of `loc`; 0 when there is none."""
        path = self.written(loc)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def problem(self, loc: Loc, message: str, remedy: str = "") -> Problem:
        """A problem at the nearest known line of `loc`."""
        return Problem(message, remedy, self.file, self.line_of(loc))


@dataclass(slots=True)
class _Container:
    value: dict[str, Any] | list[Any]
    path: Loc
    key: str | None = None


class Tree:
    """Builds a Located from its parts in the order they are written; refuses what no definition needs."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._root: Any = None
        self._open: list[_Container] = []
        self._lines: dict[Loc, int] = {}
        self._nodes = 0

    @property
    def located(self) -> Located:
        """The value built so far."""
        return Located(self._root, self._lines, self._file)

    @property
    def is_empty(self) -> bool:
        """True before the first part."""
        return not self._nodes

    @property
    def awaits_key(self) -> bool:
        """True where the open mapping's next part is a key."""
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def open(self, container: dict[str, Any] | list[Any], line: int) -> None:
        """Begin a mapping or a list; all that follows goes into it until it is closed."""
        if len(self._open) >= MAX_DEPTH:
            self.refuse(f"nested deeper than {MAX_DEPTH} levels", "flatten it", line)
        if self.awaits_key:
            self._refuse_key(line)
        self._open.append(_Container(container, self._place(container, line)))

    def close(self) -> None:
        """End the mapping or list opened last."""
        self._open.pop()

    def scalar(self, value: Any, line: int) -> None:
        """Add a key of the open mapping, or a value."""
        if isinstance(value, float) and not math.isfinite(value):
            self.refuse(
                "not a finite number", "write a finite number, or put it in quotes to mean text", line
            )
        if isinstance(value, str) and not is_storable(value):
            self.refuse("text with a NUL or half a surrogate pair in it", "remove that character", line)
        if self.awaits_key:
            self._take_key(value, line)
        else:
            self._place(value, line)

    def refuse(self, message: str, remedy: str, line: int) -> NoReturn:
        """Stop reading here, with what to change."""
        raise InputError(Problem(message, remedy, self._file, line))

    def _take_key(self, key: Any, line: int) -> None:
        if type(key) is int:  # the labels of a scale are written by number
            key = str(key)
        if not isinstance(key, str):
            self._refuse_key(line)
        parent = self._open[-1]
        if key in parent.value:
            first = self._lines[(*parent.path, key)]
            self.refuse(f"key {key!r} is written twice, first on line {first}", "keep one of them", line)
        parent.key = key
        self._lines[(*parent.path, key)] = line

    def _refuse_key(self, line: int) -> NoReturn:
        self.refuse("a key that is not text", "put the key in quotes", line)

    def _place(self, value: Any, line: int) -> Loc:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self.refuse(f"more than {MAX_NODES:,} values", "split the file, or write cases as JSONL", line)
        path = self._attach(value)
        self._lines.setdefault(path, line)
        return path

    def _attach(self, value: Any) -> Loc:
        if not self._open:
            self._root = value
            return ()
        parent = self._open[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
            return (*parent.path, len(parent.value) - 1)
        assert parent.key is not None
        parent.value[parent.key] = value
        path, parent.key = (*parent.path, parent.key), None
        return path


def is_storable(text: str) -> bool:
    """False for text that UTF-8 or Postgres cannot hold: half a surrogate pair, a NUL."""
    if text.isascii():
        return "\x00" not in text
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def check_size(text: str, file: str) -> None:
    """Refuse a text too long to be written by hand, before it is parsed."""
    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        remedy = "split it, or write cases as JSONL or CSV"
        raise InputError(Problem(f"larger than {MAX_TEXT_BYTES // 1_000_000} MB", remedy, file))


def load_json(text: str, file: str, *, first_line: int = 1) -> Located:
    """Read JSON; empty text is None. `first_line` is the line of the file on which the text begins."""
    check_size(text, file)
    if not text.strip():
        return Located(None, {(): first_line}, file)
    if "\n" not in text:
        try:
            return Located(_read_quickly(text), {(): first_line}, file)
        except (ValueError, RecursionError):
            pass  # read again below, more slowly, to report where and why
    return _read_carefully(text, file, first_line)


def _read_quickly(text: str) -> Any:
    """Read one line of JSONL at full speed; raise ValueError for anything that needs a closer look."""
    if text.count("{") + text.count("[") > MAX_DEPTH or _HARD_TO_STORE.search(text):
        raise ValueError
    return _STRICT.decode(text)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key is written twice")
    return mapping


def _parse_float(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError("not a finite number")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a finite number")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_constant=_refuse_constant, parse_float=_parse_float
)


def _read_carefully(text: str, file: str, first_line: int) -> Located:
    _check_syntax(text, file, first_line)
    tree = Tree(file)
    line = first_line
    for match in _JSON_TOKEN.finditer(text):
        piece = match.group()
        if piece == "\n":
            line += 1
        elif piece == "{":
            tree.open({}, line)
        elif piece == "[":
            tree.open([], line)
        elif piece in ("}", "]"):
            tree.close()
        else:
            tree.scalar(json.loads(piece), line)
    return tree.located


def _check_syntax(text: str, file: str, first_line: int) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as exc:
        remedy = "check the commas, double quotes and brackets there"
        line = exc.lineno + first_line - 1
        raise InputError(Problem(f"not JSON: {exc.msg} (column {exc.colno})", remedy, file, line)) from None
    except RecursionError:
        pass  # deeper than the tree allows, which refuses it with its line
    except ValueError:
        raise InputError(
            Problem("a number of thousands of digits", "put it in quotes", file, first_line)
        ) from None
