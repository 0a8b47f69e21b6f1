"""The rubrics of an EVAL.yaml: lists of what is to be so, each with its weight and its gate."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.importers.eval_scene import PASSES_AT, Entry, Scene, least_score
from evalq.importers.grader_entries import as_name, plain_rubric
from evalq.transpile.eval_file import Assertion
from evalq.transpile.value_text import text_of

MOST_CRITERIA = 30
"""Of one grader; longer lists are spread over several."""

HIGHEST = 10
"""Of the scores that models give; agentv's are a share of one, to one place."""

_MET = "Each criterion is either met, 1, or not, 0."
_SAID_UNDER = ("outcome", "criteria", "description", "value")


@dataclass(frozen=True)
class _Item:
    """One line of a rubric: what is to be so, or what each score means."""

    name: str
    said: str
    weight: float
    least: float | None
    """The score, from 0 to 1, without which the test fails; None when it only weighs."""
    levels: Mapping[str, str]


def rubrics(assertion: Assertion, scene: Scene) -> list[Entry]:
    """A rubric of one line is a question, one of several a grader with as many criteria."""
    del scene
    written = assertion.fields.get("criteria") or assertion.fields.get("rubrics")
    return by_items(written if isinstance(written, list) else [written], assertion)


def bare_lines(assertions: Sequence[Assertion]) -> list[Entry]:
    """Checks that are bare lines of text: together they are one rubric."""
    lines = [assertion.fields["criteria"] for assertion in assertions]
    return by_items(lines, assertions[0])


def by_items(written: Iterable[Any], assertion: Assertion) -> list[Entry]:
    """Graders for a list of lines, or of mappings with weights, gates and ranges of scores."""
    items = list(_items(written))
    if not items:
        raise ValueError("it says nothing; give it a prompt, rubrics or criteria")
    total = sum(item.weight for item in items)
    if total <= 0:
        raise ValueError("all its weights are 0; give one a weight above 0")
    least = least_score(assertion)
    return [
        Entry(fields, share / total, required=True if is_gate else None)
        for fields, share, is_gate in _spread(items, least)
    ]


def _spread(items: Sequence[_Item], least: float) -> Iterator[tuple[dict[str, Any], float, bool]]:
    """Graders for the items, each with its weight and whether a test fails without it.

    What a test may not fail has a grader of its own; the rest share one for each kind of score.
    """
    plain = [item for item in items if item.least is None and not item.levels]
    ranged = [item for item in items if item.least is None and item.levels]
    for high, group in ((1, plain), (HIGHEST, ranged)):
        for begin in range(0, len(group), MOST_CRITERIA):
            part = group[begin : begin + MOST_CRITERIA]
            yield _graded(part, high, least), sum(item.weight for item in part), False
    for item in items:
        if item.least is not None:
            high = HIGHEST if item.levels else 1
            yield _graded([item], high, item.least), item.weight, True


def _graded(items: Sequence[_Item], high: int, least: float) -> dict[str, Any]:
    if len(items) == 1 and high == 1:
        return {"type": "boolean", "rubric": plain_rubric(items[0].said)}
    return {
        "type": "criteria",
        "range": [0, high],
        "pass_threshold": high * least,
        "rubric": _MET if high == 1 else None,
        "criteria": [_criterion(item, is_weighed=any(one.weight for one in items)) for item in items],
    }


def _criterion(item: _Item, *, is_weighed: bool) -> dict[str, Any]:
    """Items that weigh nothing at all weigh alike among themselves: their grader has no weight either."""
    written = {"name": item.name, "description": item.said, "weight": item.weight if is_weighed else 1.0}
    return {**written, "levels": dict(item.levels)} if item.levels else written


def _items(written: Iterable[Any]) -> Iterator[_Item]:
    taken: set[str] = set()
    for number, one in enumerate(written, start=1):
        item = _item(one if isinstance(one, dict) else {"outcome": one}, number, taken)
        if item is not None:
            taken.add(item.name)
            yield item


def _item(fields: Mapping[str, Any], number: int, taken: set[str]) -> _Item | None:
    said = next((text_of(fields[key]) for key in _SAID_UNDER if fields.get(key)), "").strip()
    levels = dict(_levels(fields.get("score_ranges")))
    if not (said or levels):
        return None
    if fields.get("operator") == "contradiction":
        said = f"The answer does not contradict this: {said}"
    name = as_name(text_of(fields["id"])) if fields.get("id") is not None else None
    if name is None or name in taken:
        name = f"criterion-{number}"
    gate = _gate(fields, has_levels=bool(levels))
    return _Item(name, said, _number(fields.get("weight"), 1.0), gate, levels)


def _gate(fields: Mapping[str, Any], *, has_levels: bool) -> float | None:
    """The score without which the test fails: of those agentv's versions have had, the first written."""
    ten = fields.get("required_min_score")
    if ten is not None:
        return min(1.0, _number(ten, HIGHEST) / HIGHEST)
    if fields.get("min_score") is not None:
        return min(1.0, _number(fields["min_score"], 1.0))
    required = fields.get("required")
    if isinstance(required, bool) or required is None:
        return (PASSES_AT if has_levels else 1.0) if required else None
    return min(1.0, _number(required, 1.0))


def _levels(ranges: Any) -> Iterator[tuple[str, str]]:
    """What each score means, by the lowest of its range; scores are whole numbers from 0 to 10."""
    pairs: list[tuple[Any, Any]]
    if isinstance(ranges, dict):
        pairs = [([key, key], text) for key, text in ranges.items()]
    else:
        listed = [one for one in ranges if isinstance(one, dict)] if isinstance(ranges, list) else []
        pairs = [(one.get("score_range"), one.get("outcome")) for one in listed]
    for ends, text in pairs:
        scores = [_whole(end) for end in ends] if isinstance(ends, list) else []
        low, high = (scores[0], scores[-1]) if scores else (None, None)
        if text and low is not None and high is not None:
            yield str(low), text_of(text) if low == high else f"{text_of(text)} (up to {high})"


def _whole(value: Any) -> int | None:
    text = text_of(value)
    return int(text) if re.fullmatch(r"\d|10", text) else None


def _number(value: Any, otherwise: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return max(0.0, float(value)) if is_number else otherwise
