"""Safe JSON with positions: no key written twice, no NaN, bounded depth."""

import json
import re
from collections.abc import Iterator
from typing import Any

from evalq.definitions.located import MAX_DEPTH, Located, Tree, check_size
from evalq.errors import InputError, Problem

# Possessive, so that a quote never closed is passed in one step.
_PIECE = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[\[\]{}]|[^\s\[\]{}:,"]+|\n', re.DOTALL)
_HARD_TO_STORE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def load_json(text: str, file: str, *, first_line: int = 1) -> Located:
    """The value in `text`; None for an empty one. `first_line` is where in the file the text begins."""
    check_size(text, file)
    if not text.strip():
        return Located(None, {(): first_line}, file)
    if "\n" not in text:
        try:
            return Located(_read_quickly(text), {(): first_line}, file)
        except (ValueError, RecursionError):
            pass  # read again below, slower, to say where and why
    return _read_carefully(text, file, first_line)


def _read_quickly(text: str) -> Any:
    """One line of JSONL at full speed; raises ValueError for all that is wrong or needs a closer look."""
    if text.count("{") + text.count("[") > MAX_DEPTH or _HARD_TO_STORE.search(text):
        raise ValueError
    return _STRICT.decode(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    return mapping if len(mapping) == len(pairs) else _refuse("")


def _finite(number: str) -> float:
    value = float(number)
    return value if abs(value) != float("inf") else _refuse(number)


def _refuse(_text: str) -> Any:
    raise ValueError


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


def _read_carefully(text: str, file: str, first_line: int) -> Located:
    _check_syntax(text, file, first_line)
    tree = Tree(file)
    for piece, line in _pieces(text, first_line):
        if piece in ("{", "["):
            tree.open({} if piece == "{" else [], line)
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
        pass  # far deeper than the tree allows: it refuses, and knows the line
    except ValueError:
        raise InputError(
            Problem("a number of thousands of digits", "put it in quotes", file, first_line)
        ) from None


def _pieces(text: str, line: int) -> Iterator[tuple[str, int]]:
    """Brackets, strings, numbers and words of a valid JSON text, each with its line."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece == "\n":
            line += 1
        else:
            yield piece, line
