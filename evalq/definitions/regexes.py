"""Compiles users' regular expressions, in the syntax of `re`, for an engine with a time limit."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import regex

MAX_PATTERN_CHARS = 5_000
MAX_EXPANDED = 100_000
"""The engine expands fixed counts when it compiles: (?:(?:ab){1000}){1000} would take gigabytes."""

Flag = Literal["ignorecase", "multiline", "dotall", "verbose", "ascii"]
FLAGS: tuple[Flag, ...] = get_args(Flag)

_LETTERS: dict[str, Flag | None] = {
    "i": "ignorecase",
    "m": "multiline",
    "s": "dotall",
    "x": "verbose",
    "a": "ascii",
    "g": None,  # other languages' letters for what always applies here: search everywhere, read Unicode
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
"""Parts of a set that engines read differently: sets in sets, classes as [:alpha:], [a--b]."""


def read_flags(value: Any) -> Any:
    """The flags' names, from names or from letters such as "im"; ValueError for an unknown letter.

    Values of other types are left as they are, for the model to refuse.
    """
    if isinstance(value, list):
        return [item.lower() if isinstance(item, str) else item for item in value]
    if not isinstance(value, str):
        return value
    if value in FLAGS:
        return [value]
    flags = []
    for letter in value:
        if letter not in _LETTERS:
            raise ValueError(
                f"no flag is called {letter!r}; write a list of {', '.join(FLAGS)}, or letters of imsxa"
            )
        if _LETTERS[letter] is not None:
            flags.append(_LETTERS[letter])
    return flags


def check_regex(pattern: str, flags: Iterable[Flag] = ()) -> None:
    """Raise ValueError, with a fix, if the pattern is invalid or would exhaust the memory."""
    compile_regex(pattern, tuple(flags))


@lru_cache(maxsize=128)  # a bake-off searches for the same few patterns a hundred thousand times
def compile_regex(pattern: str, flags: tuple[Flag, ...] = ()) -> "regex.Pattern[str]":
    """Compile the pattern for the engine with a time limit; it means what it means to `re`."""
    import regex

    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"longer than {MAX_PATTERN_CHARS:,} characters; split it into several graders")
    try:
        _check_syntax(pattern, flags)
        if _expanded_size(pattern, flags) > MAX_EXPANDED:
            raise ValueError("its nested repeats multiply to too many; lower the counts in braces")
        return regex.compile(_translate(pattern, flags), regex.V0 | _flag_bits(regex, flags))
    except (re.error, regex.error, OverflowError) as exc:
        raise ValueError(f"not a regular expression: {exc}; use the syntax of Python's re") from None
    except RecursionError:
        raise ValueError("nested too deep; write it flatter") from None


def _check_syntax(pattern: str, flags: tuple[Flag, ...]) -> None:
    """Compile with `re` itself, after refusing the sets it would warn about."""
    for kind, token in _tokens(pattern, flags):
        if (kind, token) == ("other", "["):
            raise ValueError("not a regular expression: a set that does not end; write ] behind it, or \\[")
        if kind == "set" and _AMBIGUOUS.search(token):
            raise ValueError(f"the set {token[:40]} is ambiguous; put a backslash before [ - & ~ | inside it")
    re.compile(pattern, _flag_bits(re, flags))


def _flag_bits(engine: Any, flags: tuple[Flag, ...]) -> int:
    bits = 0
    for flag in flags:
        bits |= getattr(engine, flag.upper())
    return bits


def _tokens(pattern: str, flags: tuple[Flag, ...]) -> Iterator[tuple[str, str]]:
    """The pattern's parts, each with its kind."""
    is_verbose = "verbose" in flags or re.search(r"\(\?[aiLmsu]*x", pattern)
    for token in (_VERBOSE_TOKEN if is_verbose else _TOKEN).finditer(pattern):
        yield token.lastgroup or "other", token.group()


def _translate(pattern: str, flags: tuple[Flag, ...]) -> str:
    """Escape braces that are text to `re`: for the engine they begin an approximate match."""
    return "".join(r"\{" if kind == "brace" else token for kind, token in _tokens(pattern, flags))


def _expanded_size(pattern: str, flags: tuple[Flag, ...]) -> int:
    """About how many steps the pattern has when every fixed count is expanded."""
    sizes = [0]  # of the groups that are open, the whole pattern first
    last = 0  # of the part that a repeat would repeat
    was_repeat = False
    for kind, token in _tokens(pattern, flags):
        if kind == "open":
            sizes.append(0)
        elif kind == "repeat":
            if not was_repeat:  # a second sign only makes the first one lazy
                repeated = last * _copies(token)
                sizes[-1] += repeated - last
                last = repeated
        else:
            last = 1
            if kind == "close" and len(sizes) > 1:
                last += sizes.pop()
            sizes[-1] += last
        was_repeat = kind == "repeat"
    return sum(sizes)


def _copies(repeat: str) -> int:
    """How many copies of the repeated part the engine makes: the fixed count, and one for the loop."""
    if repeat in "*?":
        return 1
    if repeat == "+":
        return 2
    return int(repeat[1:-1].partition(",")[0] or 0) + 1
