"""Markdown that says what it was given: hostile text can neither format, link nor break out of its place."""

import re
from collections.abc import Sequence

from evalq.reports.text import clean, one_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")
_OPENING = re.compile(r"^(?:[-+=#]|\d+(?=[.)]))")


def inline(text: str, width: int | None = None) -> str:
    """The text on one line, every sign of Markdown and HTML made plain."""
    return _OPENING.sub(_made_plain, _SPECIAL.sub(r"\\\1", one_line(text, width)))


def _made_plain(opening: re.Match[str]) -> str:
    """A number that would begin a list has its dot made plain, any other sign itself."""
    sign = opening[0]
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def block(text: str) -> str:
    """The text as a code block, fenced by more backticks than it has in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{clean(text)}\n{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
