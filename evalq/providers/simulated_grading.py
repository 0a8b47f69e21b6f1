"""What a simulated grader replies: the truth by the expected phrases, or its opposite, in any form."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from evalq.records import About, ReplyForm

_REASON = "simulated"


def grader_reply(about: About, *, is_right: bool, is_structured: bool = False, aloud: str = "") -> str:
    """The mark when right, the opposite when wrong: as a JSON object, or on a last line of its own.

    `aloud` is what the grader says first; in an object that is its reason.
    """
    key, value = _MARKS.get(about.reply_form, _verdict)(about, is_right)
    if is_structured:
        return json.dumps({"reason": aloud or _REASON, key: value}, ensure_ascii=False)
    return f"{aloud}\n{_line(key, value)}" if aloud else _line(key, value)


def _line(key: str, value: Any) -> str:
    if key == "verdict":
        return str(value)
    if key == "scores":
        return json.dumps({"reason": _REASON, key: value}, ensure_ascii=False)
    return f"{key.upper()}={value} REASON={_REASON}"


def _verdict(about: About, is_right: bool) -> tuple[str, Any]:
    return "verdict", "VALID" if _is_true(about, about.graded_text) == is_right else "INVALID"


def _score(about: About, is_right: bool) -> tuple[str, Any]:
    return "score", _one_score(about, "", is_good=_is_true(about, about.graded_text) == is_right)


def _scores(about: About, is_right: bool) -> tuple[str, Any]:
    is_good = _is_true(about, about.graded_text) == is_right
    return "scores", {name: _one_score(about, name, is_good=is_good) for name in about.choices}


def _category(about: About, is_right: bool) -> tuple[str, Any]:
    """The first of the choices is the best one, the last the worst."""
    return "category", about.choices[0 if _is_true(about, about.graded_text) == is_right else -1]


def _boolean(about: About, is_right: bool) -> tuple[str, Any]:
    return "answer", "YES" if _is_true(about, about.graded_text) == is_right else "NO"


def _preference(about: About, is_right: bool) -> tuple[str, Any]:
    """The one answer of two that is true; one that is wrong takes the other, or the first of two equals."""
    first, second = (_is_true(about, text) for text in about.choices)
    truth = "TIE" if first == second else "A" if first else "B"
    return "winner", truth if is_right else {"TIE": "A", "A": "B", "B": "A"}[truth]


_MARKS: Mapping[ReplyForm, Callable[[About, bool], tuple[str, Any]]] = {
    "verdict": _verdict,
    "score": _score,
    "criteria": _scores,
    "category": _category,
    "boolean": _boolean,
    "preference": _preference,
}


def _one_score(about: About, name: str, *, is_good: bool) -> int:
    """The end of the scale or the score next to it; by the case, so that the same answer scores the same."""
    low, high = about.scale
    step = int(high - low > 2 and Random(f"{about.case_id}/{name}").random() < 0.5)  # noqa: S311 - no secret
    return high - step if is_good else low + step


def _is_true(about: About, text: str) -> bool:
    """Whether a text holds one of the expected phrases, plainly or as JSON has it."""
    wanted = [str(phrase) for phrase in about.expected.get("any_of", [])]
    phrases = wanted or [str(about.expected.get("answer", ""))]
    return any(phrase and (phrase in text or _escaped(phrase) in text) for phrase in phrases)


def _escaped(phrase: str) -> str:
    return json.dumps(phrase, ensure_ascii=False)[1:-1]
