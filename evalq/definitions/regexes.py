"""Regular expressions as users write them, in the syntax of `re`, compiled for an engine that can stop."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import regex

MAX_PATTERN_CHARS = 5_000
MAX_EXPANDED = 100_000
"""The engine writes fixed counts out when it compiles: (?:(?:ab){1000}){1000} would take gigabytes."""

Flag = Literal["ignorecase", "multiline", "dotall", "verbose", "ascii"]
FLAGS: tuple[Flag, ...] = get_args(Flag)

_LETTERS: dict[str, Flag | None] = {
    "i": "ignorecase",
    "m": "multiline",
    "s": "dotall",
    "x": "verbose",
    "a": "ascii",
    "g": None,  # other languages' letters for what is always so here: look everywhere, read Unicode
    "u": None,
}
_PARTS = r"""
    (?P<atom>\\N\{[^}]*\}|\\.|\(\?\#[^)]*\)|\(\?P=\w+\)|\(\?[aiLmsux]+\))
    |(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
    |(?P<open>\((?:\?(?:P<\w+>|<[=!]|[:=!>]|[aiLmsux-]+:|\(\w+\)))?)
    |(?P<close>\))
    |(?P<repeat>[*+?]|\{\d+(?:,\d*)?\}|\{,\d*\})
    |(?P<brace>\{)
    |(?P<other>.)
    """
_TOKEN = re.compile(_PARTS, re.VERBOSE | re.DOTALL)
_VERBOSE_TOKEN = re.compile(r"(?P<comment>\#[^\n]*) |" + _PARTS, re.VERBOSE | re.DOTALL)

_AMBIGUOUS = re.compile(r"\A\[\[|(?<!\\)\[:|--|&&|~~|\|\|")
"""What engines read differently inside a set, now or later: sets in sets, classes as [:alpha:], [a--b]."""


def read_flags(value: Any) -> Any:
    """The flags' names, from names or from letters such as "im"; ValueError for a letter without meaning."""
    if not isinstance(value, str) or value in FLAGS:
        return [value] if isinstance(value, str) else _lowered(value)
    unknown = [letter for letter in value if letter not in _LETTERS]
    if unknown:
        raise ValueError(
            f"no flag is called {unknown[0]!r}; write a list of {', '.join(FLAGS)}, or letters of imsxa"
        )
    return [flag for letter in value if (flag := _LETTERS[letter])]


def _lowered(value: Any) -> Any:
    """A list of names in lower case; anything else as it is, for the model to refuse."""
    return (
        [item.lower() if isinstance(item, str) else item for item in value]
        if isinstance(value, list)
        else value
    )


def check_regex(pattern: str, flags: Iterable[Flag] = ()) -> None:
    """ValueError, with a remedy, for what is no regular expression or would take the machine's memory."""
    compile_regex(pattern, tuple(flags))


@lru_cache(maxsize=128)  # a bake-off searches for the same few patterns a hundred thousand times
def compile_regex(pattern: str, flags: tuple[Flag, ...] = ()) -> "regex.Pattern[str]":
    """The pattern for the engine that takes a time limit; it means what it means to `re`."""
    import regex

    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"longer than {MAX_PATTERN_CHARS:,} characters; split it into several graders")
    try:
        _check_syntax(pattern, flags)
        if _expanded(pattern, flags) > MAX_EXPANDED:
            raise ValueError("its nested repeats multiply to too many; lower the counts in braces")
        return regex.compile(_translated(pattern, flags), regex.V0 | _bits(regex, flags))
    except (re.error, regex.error, OverflowError) as exc:
        raise ValueError(f"not a regular expression: {exc}; mend it, in the syntax of Python's re") from None
    except RecursionError:
        raise ValueError("nested too deep; write it flatter") from None


def _check_syntax(pattern: str, flags: tuple[Flag, ...]) -> None:
    """Compiled by `re` itself; before that, what it would warn of is refused."""
    for kind, token in _tokens(pattern, flags):
        if (kind, token) == ("other", "["):
            raise ValueError("not a regular expression: a set that does not end; write ] behind it, or \\[")
        if kind == "set" and _AMBIGUOUS.search(token):
            raise ValueError(f"the set {token[:40]} is ambiguous; put a backslash before [ - & ~ | inside it")
    re.compile(pattern, _bits(re, flags))


def _bits(engine: Any, flags: tuple[Flag, ...]) -> int:
    bits = 0
    for flag in flags:
        bits |= getattr(engine, flag.upper())
    return bits


def _tokens(pattern: str, flags: tuple[Flag, ...]) -> Iterator[tuple[str, str]]:
    """The pattern's parts, each with its kind."""
    is_verbose = "verbose" in flags or re.search(r"\(\?[aiLmsu]*x", pattern)
    for token in (_VERBOSE_TOKEN if is_verbose else _TOKEN).finditer(pattern):
        yield token.lastgroup or "other", token.group()


def _translated(pattern: str, flags: tuple[Flag, ...]) -> str:
    """A brace that is text to `re` begins an approximate match for the engine: it gets its backslash."""
    return "".join(r"\{" if kind == "brace" else token for kind, token in _tokens(pattern, flags))


def _expanded(pattern: str, flags: tuple[Flag, ...]) -> int:
    """About how many steps the pattern has when every fixed count is written out."""
    sizes, last, was_repeat = [0], 0, False
    for kind, token in _tokens(pattern, flags):
        if kind == "open":
            sizes.append(0)
        elif kind == "repeat":
            grown = (
                last if was_repeat else last * _times(token)
            )  # a second sign only makes the first one lazy
            sizes[-1], last = sizes[-1] + grown - last, grown
        else:
            last = sizes.pop() + 1 if kind == "close" and len(sizes) > 1 else 1
            sizes[-1] += last
        was_repeat = kind == "repeat"
    return sum(sizes)


def _times(repeat: str) -> int:
    """How often the engine writes out what a repeat stands behind: as often as is fixed, and for the loop."""
    if repeat in "*?":
        return 1
    return 2 if repeat == "+" else int(repeat[1:-1].partition(",")[0] or 0) + 1
