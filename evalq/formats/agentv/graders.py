"""The graders of a test of an EVAL.yaml: every check becomes some, or is noted as lost."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.graders import GraderConfig
from evalq.formats.agentv.checks import (
    CHECKS,
    PASSES_AT,
    Carry,
    Entry,
    Scene,
    Standing,
    least_score,
    standing_of,
)
from evalq.formats.agentv.eval_file import Assertion, text_of
from evalq.formats.build import as_name, plain_rubric
from evalq.formats.paths import Place

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


_PROMPT_FILE = re.compile(r"[^\s{}]+\.(?:md|txt|markdown|j2|jinja2?|prompt)")
_PROGRAM = re.compile(r"[^\s{}]+\.(?:[cm]?[tj]s|py|sh)")
_BY_PROGRAM = "its prompt is made by a program, which is not run"
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_NAMES = {
    "answer": "answer",
    "candidate_answer": "answer",
    "output": "answer",
    "output_text": "answer",
    "input": "question",
    "input_text": "question",
    "question": "question",
    "expected_output": "expected",
    "expected_output_text": "expected",
    "reference_answer": "expected",
}
"""What a prompt of agentv may name, and what ours calls it."""


def llm_grader(assertion: Assertion, scene: Scene) -> list[Entry]:
    """Its rubrics, or else its prompt, or else the test's criteria."""
    _note_unused(assertion, scene)
    fields = assertion.fields
    listed: list[Any] = next(
        (fields[key] for key in ("rubrics", "value", "criteria") if _is_list(fields.get(key))), []
    )
    prompt = next((fields[key] for key in ("prompt", "value", "criteria") if _is_text(fields.get(key))), None)
    is_prompt_first = assertion.written.replace("_", "-") == "llm-judge" and prompt
    if listed and not is_prompt_first:
        return by_items(listed, assertion)
    rubric = _prompt(prompt, assertion, scene) if prompt else None
    if isinstance(fields.get("prompt"), dict):
        scene.lose(assertion, _BY_PROGRAM)
    if not rubric and prompt and scene.criteria:
        scene.lose(assertion, "the test's criteria stand in for its prompt")
    rubric = rubric or _plain(scene.criteria)
    if not rubric:
        raise ValueError("it has neither a prompt nor criteria; write one of them")
    return [Entry({**_scored(rubric, least_score(assertion)), **_temperature(fields)})]


def by_criteria(criteria: Sequence[str], least: float) -> list[Entry]:
    """A test's own criteria, as agentv has them marked where nothing else is listed."""
    return [Entry(_scored(_plain(criteria), least))]


def _prompt(written: str, assertion: Assertion, scene: Scene) -> str | None:
    """The prompt as a rubric of ours: in place, or from the file it names."""
    text: str | None = written
    name = written.strip().removeprefix("file://")
    if _PROGRAM.fullmatch(name):
        scene.lose(assertion, _BY_PROGRAM)
        return None
    if _PROMPT_FILE.fullmatch(name):
        text = scene.attachments.text(name, Place(assertion.file, assertion.line))
    return _as_template(text, assertion, scene) if text and text.strip() else None


def _as_template(text: str, assertion: Assertion, scene: Scene) -> str:
    """What agentv would fill in, under our names; everything else is text."""
    parts, at = [], 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(_braced(text[at : found.start()]))
        parts.append(_filled(found, assertion, scene))
        at = found.end()
    return plain_rubric(text) if at == 0 else "".join([*parts, _braced(text[at:])]).strip()


def _filled(found: re.Match[str], assertion: Assertion, scene: Scene) -> str:
    name = found[1]
    if name in ("criteria", "expected_outcome"):
        return _braced("\n".join(scene.criteria))
    if name in _NAMES:
        return f"{{{_NAMES[name]}}}"
    scene.lose(assertion, f"its prompt names {found[0]}, which stays as it is")
    return _braced(found[0])


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _plain(criteria: Sequence[str]) -> str:
    return plain_rubric("\n".join(criteria)) if criteria else ""


def _scored(rubric: str, least: float) -> dict[str, Any]:
    return {"type": "rubric", "rubric": rubric, "range": [0, HIGHEST], "pass_threshold": HIGHEST * least}


def _temperature(fields: Mapping[str, Any]) -> dict[str, Any]:
    temperature = fields.get("temperature")
    return {} if temperature is None else {"temperature": temperature}


def _note_unused(assertion: Assertion, scene: Scene) -> None:
    for key in ("model", "target", "provider"):
        if assertion.fields.get(key):
            remedy = "give --grader-model, or set grader_model: in evalq.yaml"
            scene.lose(assertion, f"its {key} is not taken over: the bake-off's grader marks it", remedy)
    if assertion.fields.get("max_steps") or assertion.fields.get("config"):
        scene.lose(assertion, "is asked once, without tools: max_steps and config are left out")


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


ROWS: Mapping[str, Carry] = {**CHECKS, "llm-grader": llm_grader, "rubrics": rubrics}
"""Every type that becomes a grader."""

_LOST = {
    "code-grader": "runs a program of yours, which evalq does not: left out",
    "include": "brings in checks from elsewhere, which are not looked for: left out",
}


def graders_of(assertions: Sequence[Assertion], scene: Scene) -> list[GraderConfig]:
    """One grader at least for each check that has a counterpart; bare lines of text share one."""
    bare = [assertion for assertion in assertions if _is_bare(assertion)]
    graders: list[GraderConfig] = []
    for assertion in assertions:
        if not _is_bare(assertion):
            graders += _carried(assertion, standing_of(assertion), scene)
        elif assertion is bare[0]:
            graders += Standing().graders(bare_lines(bare))
    return graders


def _is_bare(assertion: Assertion) -> bool:
    is_line = assertion.type == "rubrics" and not assertion.written
    return is_line and bool(str(assertion.fields["criteria"]).strip())


def _carried(assertion: Assertion, standing: Standing, scene: Scene) -> list[GraderConfig]:
    if assertion.type == "composite":
        return [
            grader
            for member, own in _members(assertion, standing, scene)
            for grader in _carried(member, own, scene)
        ]
    row = ROWS.get(assertion.type)
    if row is None:
        kind = "has no type" if not assertion.written else "is a type of your own, which evalq has not"
        scene.lose(assertion, _LOST.get(assertion.type, f"{kind}: left out"))
        return []
    try:
        return standing.graders(row(assertion, scene))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        scene.lose(assertion, f"{message}: left out", remedy)
        return []


def _members(assertion: Assertion, standing: Standing, scene: Scene) -> Iterator[tuple[Assertion, Standing]]:
    """The checks of a composite with their share of its weight: a weighted mean can be taken apart."""
    how = _aggregator(assertion.fields)
    if how not in ("weighted_average", "average", "mean"):
        scene.lose(assertion, f"its checks are joined by {how}, which has no counterpart: left out")
        return
    if not assertion.members:
        scene.lose(assertion, "has no checks in it: left out")
    weights = [_weight(member, assertion) for member in assertion.members]
    total = sum(weights)
    if standing.required:
        scene.lose(assertion, "is required, so each of its checks is: stricter than their mean")
    for member, weight in zip(assertion.members, weights, strict=True):
        own = standing_of(member)
        yield (
            member,
            replace(
                own,
                weight=standing.weight * weight / total if total else 0.0,
                required=own.required or standing.required,
                negate=own.negate != standing.negate,
                name=own.name or standing.name,
            ),
        )


def _aggregator(fields: Mapping[str, Any]) -> str:
    """How a composite's checks become one; promptfoo's sets say it by a threshold."""
    written = fields.get("aggregator", fields.get("aggregation"))
    if written is None:
        return "weighted_average" if fields.get("threshold") is None else "threshold"
    kind = written.get("type", "weighted_average") if isinstance(written, dict) else written
    return str(kind).strip().replace("-", "_")


def _weight(member: Assertion, composite: Assertion) -> float:
    """A member's weight: as the composite says by its name, else its own."""
    aggregator = composite.fields.get("aggregator")
    by_name = aggregator.get("weights") if isinstance(aggregator, dict) else None
    weight = by_name.get(member.name) if isinstance(by_name, dict) else None
    if isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0:
        return float(weight)
    return 1.0 if member.weight is None else float(member.weight)
