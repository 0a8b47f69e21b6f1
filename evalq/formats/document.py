"""A YAML, JSON or JSONL document whose every part knows its file and line."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_anchored_yaml, plain_value
from evalq.errors import InputError, Problem


def load_document(path: Path, *, merges: bool = True, plain: Callable[[str], Any] = plain_value) -> Located:
    """Load a YAML, JSON or JSONL file; a JSONL file becomes the list of its lines."""
    text, file = read_text(path), display_path(path)
    match path.suffix.lower():
        case ".json":
            return load_json(text, file)
        case ".jsonl":
            return load_json_lines(text, file)
        case _:
            return load_anchored_yaml(text, file, merges=merges, plain=plain)


def load_json_lines(text: str, file: str) -> Located:
    """Load every line that is not blank as JSON."""
    values: list[Any] = []
    lines: dict[Loc, int] = {(): 1}
    # Not splitlines(): it also splits at separators that may occur inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            lines[(len(values),)] = number
            values.append(load_json(line, file, first_line=number).value)
    return Located(values, lines, file)


def text_of(value: Any) -> str:
    """Return text as it is, numbers without needless zeros, lists and mappings as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number_text(number: float) -> str:
    """Write a number without an exponent or needless zeros: 5, 0.1, 0.0000001."""
    text = f"{Decimal(str(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def root_node(located: Located) -> "Node":
    """Return the whole document."""
    return Node(located, (), located.value)


@dataclass(frozen=True)
class Node:
    """A value and its location in the document; reading it as the wrong type raises InputError there."""

    located: Located
    loc: Loc
    value: Any

    @property
    def file(self) -> str:
        """The file it was read from."""
        return self.located.file

    @property
    def line(self) -> int:
        """The line it was written on; 1 for an empty file."""
        return self.located.line_of(self.loc) or 1

    @property
    def name(self) -> str:
        """Its key, or its number in the list that holds it."""
        *above, last = self.loc or ("the document",)
        if isinstance(last, str):
            return last
        return f"entry {last + 1} of {above[-1] if above else 'the list'}"

    def get(self, *names: str) -> "Node | None":
        """Return the value of the first of these keys that has one."""
        if isinstance(self.value, dict):
            for name in names:
                value = self.value.get(name)
                if value is not None:
                    return Node(self.located, (*self.loc, name), value)
        return None

    def items(self) -> list["Node"]:
        """Return the entries of a list."""
        if not isinstance(self.value, list):
            self.refuse(f"{self.name} is not a list", "begin each entry with '- '")
        return [Node(self.located, (*self.loc, i), value) for i, value in enumerate(self.value)]

    def mapping(self) -> dict[str, Any]:
        """Return a mapping."""
        if not isinstance(self.value, dict):
            self.refuse(f"{self.name} is not a mapping", "write it as 'key: value' lines")
        return self.value

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.refuse(f"{self.name} is not text", "put it in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(item.text() for item in self.items())

    def number(self) -> float:
        """Return a number that is not negative."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or self.value < 0:
            self.refuse(f"{self.name} is not a number of 0 or more", "write one, without quotes")
        number: float = self.value
        return number

    def count(self) -> int:
        """Return a whole number of at least 1."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 1:
            self.refuse(f"{self.name} is not a whole number from 1 on", "write one, without quotes")
        return self.value

    def share(self) -> float:
        """Return a number from 0 to 1."""
        number = self.number()
        if number > 1:
            self.refuse(f"{self.name} is not from 0 to 1", "write for instance 0.5")
        return number

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            self.refuse(f"{self.name} is neither true nor false", "write true or false, without quotes")
        return self.value

    def get_value(self, *names: str) -> Any:
        """Return the value of the first of these keys that has one, else None."""
        found = self.get(*names)
        return found.value if found else None

    def get_text(self, *names: str) -> str | None:
        """Return the same value as text, whatever its type."""
        found = self.get(*names)
        return text_of(found.value) if found else None

    def get_items(self, *names: str) -> list["Node"]:
        """Return the same value as a list; an empty one if there is none."""
        found = self.get(*names)
        return found.items() if found else []

    def get_mapping(self, *names: str) -> dict[str, Any]:
        """Return the same value as a mapping; an empty one if there is none."""
        found = self.get(*names)
        return found.mapping() if found else {}

    def get_number(self, *names: str) -> float | None:
        """Return the same value as a number that is not negative."""
        found = self.get(*names)
        return found.number() if found else None

    def get_count(self, *names: str) -> int | None:
        """Return the same value as a whole number of at least 1."""
        found = self.get(*names)
        return found.count() if found else None

    def get_share(self, *names: str) -> float | None:
        """Return the same value as a number from 0 to 1."""
        found = self.get(*names)
        return found.share() if found else None

    def get_flag(self, *names: str) -> bool | None:
        """Return the same value as true or false."""
        found = self.get(*names)
        return found.flag() if found else None

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Return a problem on this line."""
        return Problem(message, remedy, self.file, self.line)

    def refuse(self, message: str, remedy: str) -> NoReturn:
        """Raise InputError with a problem on this line."""
        raise InputError(self.problem(message, remedy))
