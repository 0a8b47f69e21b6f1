"""A part of a document that knows its line, and refuses to be read as what it is not."""

from dataclasses import dataclass
from typing import Any, NoReturn

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError, Problem


@dataclass(frozen=True)
class Node:
    """A value, and where it stands in the document it was read from."""

    located: Located
    loc: Loc
    value: Any

    @property
    def file(self) -> str:
        """The file it was read from."""
        return self.located.file

    @property
    def line(self) -> int:
        """The line it was written on; the first of an empty file."""
        return self.located.line_of(self.loc) or 1

    @property
    def name(self) -> str:
        """The key it stands under, or its place in the list there."""
        *above, last = self.loc or ("the document",)
        if isinstance(last, str):
            return last
        return f"entry {last + 1} of {above[-1] if above else 'the list'}"

    def get(self, *names: str) -> "Node | None":
        """What stands under the first of these keys that holds anything."""
        for name in names:
            value = self.value.get(name) if isinstance(self.value, dict) else None
            if value is not None:
                return Node(self.located, (*self.loc, name), value)
        return None

    def items(self) -> list["Node"]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            self.refuse(f"{self.name} is not a list", "begin each entry with '- '")
        return [Node(self.located, (*self.loc, i), value) for i, value in enumerate(self.value)]

    def mapping(self) -> dict[str, Any]:
        """The keys and values of a mapping."""
        if not isinstance(self.value, dict):
            self.refuse(f"{self.name} is not a mapping", "write it as 'key: value' lines")
        return self.value

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse(f"{self.name} is not text", "put it in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())

    def number(self) -> float:
        """A number that is not negative."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or self.value < 0:
            self.refuse(f"{self.name} is not a number of 0 or more", "write one, without quotes")
        number: float = self.value
        return number

    def count(self) -> int:
        """A whole number from 1 on."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 1:
            self.refuse(f"{self.name} is not a whole number from 1 on", "write one, without quotes")
        return self.value

    def share(self) -> float:
        """A number from 0 to 1."""
        number = self.number()
        if number > 1:
            self.refuse(f"{self.name} is not from 0 to 1", "write for instance 0.5")
        return number

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse(f"{self.name} is neither true nor false", "write true or false, without quotes")
        return self.value

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Something to mend on this line."""
        return Problem(message, remedy, self.file, self.line)

    def refuse(self, message: str, remedy: str) -> NoReturn:
        """End the reading here."""
        raise InputError(self.problem(message, remedy))


def root(located: Located) -> Node:
    """The whole document."""
    return Node(located, (), located.value)
