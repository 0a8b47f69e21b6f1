"""Finds the Python in an answer: in its fences, or in plain text with words around it.

By lines and patterns alone: to parse what a model wrote is to trust the parser with it, and that belongs into
the sandbox too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from textwrap import dedent

_MAX_CHARS = 1_000_000
_LINE_CHARS = 2000

_OPENS = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[\w+#.-]*)(?P<rest>[^\n]*)"
)
_PYTHON_TAGS = {"python", "py", "python3", "py3"}

_STARTS = re.compile(
    r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]|from[ \t]+[\w.]+[ \t]+import[ \t]|"
    r"import[ \t]+[\w.]+[ \t]*(?:as[ \t]|,|$|#)|@\w|\w+[ \t]*=[ \t]*lambda\b"
)
_ASSIGNS = re.compile(r"[A-Za-z_]\w*(?:[ \t]*,[ \t]*\w+)*[ \t]*(?::[^=]{1,200})?=(?!=)")
_USES = re.compile(r">>>|(?:print|assert|input)\b|[A-Za-z_][\w.]*\(")
_GOES_ON = re.compile(
    r"[ \t#)\]}\"'@]|$|(?:if|elif|else|for|while|with|try|except|finally|match)\b.*:[ \t]*(?:#.*)?$|"
    r"(?:>>>|assert\b)|[A-Za-z_][\w.]*\(.*[)\],({][ \t]*(?:#.*)?$"
)


@dataclass(frozen=True)
class _Block:
    """One fenced block: what its fence says it is, and its text."""

    tag: str
    text: str


def extract_code(answer: str, function_name: str) -> str:
    """The code to run for `function_name`; empty when the answer holds none.

    Fences marked as Python come first, then those without a mark, then plain text. Of several, the last one
    that defines the function counts, with what the others define for it; those that only show its use do not.
    """
    text = answer[:_MAX_CHARS].replace("\r\n", "\n")
    blocks = list(_fenced(text))
    marked = [block.text for block in blocks if block.tag in _PYTHON_TAGS]
    likely = [block.text for block in blocks if block.tag in {"", *_PYTHON_TAGS}]
    if any(_defines(block, function_name) for block in marked):
        return _joined(marked, function_name)
    if likely:
        return _joined(likely, function_name)
    return _joined(
        [block.text for block in blocks if _defines(block.text, function_name)], function_name
    ) or ("" if blocks else _without_words(text))


def _fenced(text: str) -> Iterator[_Block]:
    """The fenced blocks in order; one that is never closed goes to the end."""
    lines = iter(text.split("\n"))
    for line in lines:
        opened = _OPENS.match(line[:_LINE_CHARS])
        if opened is None or "`" in opened["rest"]:
            continue
        closes = re.compile(rf"[ \t]*{re.escape(opened['fence'][0])}{{{len(opened['fence'])},}}[ \t]*$")
        body = takewhile(lambda one, closes=closes: not closes.match(one[:_LINE_CHARS]), lines)  # type: ignore[misc]
        yield _Block(opened["tag"].lower(), dedent("\n".join(body)))


def _joined(blocks: Sequence[str], name: str) -> str:
    """The last block that defines the function, among those that define what it may need."""
    main = next((at for at in reversed(range(len(blocks))) if _defines(blocks[at], name)), None)
    if main is None:
        return "\n\n".join(blocks)
    words = set(re.findall(r"\w+", blocks[main]))
    kept = [
        block
        for at, block in enumerate(blocks)
        if at == main
        or (at < main and _is_support(block) and not _defines(block, name))
        or (at > main and _is_needed(block, words))
    ]
    return "\n\n".join(kept)


def _defines(block: str, name: str) -> bool:
    is_bound = rf"^{re.escape(name)}[ \t]*(?::[^=\n]{{1,200}})?=(?!=)"
    is_defined = rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{re.escape(name)}\b"
    return re.search(f"{is_defined}|{is_bound}", block, re.MULTILINE) is not None


def _is_support(block: str) -> bool:
    """True for a block that defines something and calls nothing."""
    lines = [line[:_LINE_CHARS] for line in block.split("\n")]
    return any(_STARTS.match(line) or _ASSIGNS.match(line) for line in lines) and not any(
        map(_USES.match, lines)
    )


def _is_needed(block: str, words: set[str]) -> bool:
    """True for a later block that defines what the main one, in these words, uses."""
    names = re.findall(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", block, re.MULTILINE)
    return _is_support(block) and not words.isdisjoint(names)


def _without_words(text: str) -> str:
    """Plain code, or the first stretch of it in a text: from its first line to the next line of words."""
    kept: list[str] = []
    in_text = False  # a string over several lines may hold anything
    for line in text.split("\n"):
        head = line[:_LINE_CHARS]
        if not kept and not (_STARTS.match(head) or _ASSIGNS.match(head)):
            continue
        if not in_text and kept and not any(one.match(head) for one in (_GOES_ON, _STARTS, _ASSIGNS)):
            break
        in_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
        kept.append(line)
    return "\n".join(kept) if any(map(_STARTS.match, kept)) else ""
