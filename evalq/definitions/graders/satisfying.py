"""A text that a case's checks accept, as far as that can be told: the right answer of a simulated judge."""

import re
from collections.abc import Iterable
from typing import Any

_USUAL = "a fitting answer"
_MOST_WORDS = 10_000
_LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])+")
"""A pattern that means itself."""


def satisfying_text(graders: Iterable[Any]) -> str:
    """Everything the checks look for, one after the other; some text of our own if they look for nothing."""
    listed = [grader for grader in graders if not grader.negate]
    texts = dict.fromkeys(text for grader in listed for text in _wanted(grader))
    text = " ".join(texts) or _USUAL
    words = max((grader.value for grader in listed if grader.type in ("min_tokens", "min_words")), default=0)
    return " ".join([text, *["and"] * (min(words, _MOST_WORDS) - len(text.split()))])


def _wanted(grader: Any) -> list[str]:
    match grader.type:
        case "contains" | "icontains" | "equals" | "exact_match" | "starts_with" | "ends_with":
            return [grader.value] if grader.value else []
        case "contains_any" | "icontains_any":
            return list(grader.values or [])[:1]
        case "contains_all" | "icontains_all":
            return list(grader.values or [])
        case "matches" | "regex":
            return _literal(grader.pattern or "")
    return []


def _literal(pattern: str) -> list[str]:
    """The text a pattern without any operator is found in; nothing for other patterns."""
    bare = pattern.removeprefix("^").removesuffix("$")
    return [re.sub(r"\\(.)", r"\1", bare)] if bare and _LITERAL.fullmatch(bare) else []
