"""Graders for all assertions of a test of an EVAL.yaml; an assertion without a counterpart is a warning."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.graders import GraderConfig
from evalq.formats.agentv.checks import (
    CHECKS,
    PASSES_AT,
    AssertionContext,
    BuildGraders,
    GraderDefaults,
    GraderFields,
    passing_score,
)
from evalq.formats.agentv.eval_yaml import Assertion
from evalq.formats.build import as_name, plain_rubric
from evalq.formats.document import as_list, text_of
from evalq.formats.own_scale import OwnScale, find_own_scale
from evalq.formats.paths import Place

MAX_CRITERIA = 30
"""Of one grader; longer lists are spread over several."""

MAX_SCORE = 10
_USUAL_SCALE = OwnScale(0, MAX_SCORE)
"""Of the scores that models give; agentv's are a share of one, to one decimal place."""

_NO_COUNTERPART = {
    "code-grader": "runs a program of yours, which evalq does not: left out",
    "include": "brings in checks from elsewhere, which are not looked for: left out",
}
_MET = "Each criterion is either met, 1, or not, 0."
_OUTCOME_KEYS = ("outcome", "criteria", "description", "value")
_PROMPT_FILE = re.compile(r"[^\s{}]+\.(?:md|txt|markdown|j2|jinja2?|prompt)")
_PROGRAM = re.compile(r"[^\s{}]+\.(?:[cm]?[tj]s|py|sh)")
_BY_PROGRAM = "its prompt is made by a program, which is not run"
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_PLACEHOLDER_NAMES = {
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
"""Names that a prompt of agentv may use, and our names for them."""


def build_graders(assertions: Sequence[Assertion], context: AssertionContext) -> list[GraderConfig]:
    """Build at least one grader for each assertion that has a counterpart; bare lines of text share one."""
    bare = [assertion for assertion in assertions if _is_bare_line(assertion)]
    graders: list[GraderConfig] = []
    for assertion in assertions:
        if not _is_bare_line(assertion):
            graders += _build_from(assertion, GraderDefaults.of(assertion), context)
        elif assertion is bare[0]:
            lines = [line.fields["criteria"] for line in bare]
            graders += GraderDefaults().build_graders(_build_items(lines, assertion))
    return graders


def build_criteria_graders(criteria: Sequence[str], threshold: float) -> list[GraderConfig]:
    """Grade by a test's own criteria, as agentv does where a test has no assertions."""
    return GraderDefaults().build_graders([_build_score(_as_rubric(criteria), threshold)])


def _is_bare_line(assertion: Assertion) -> bool:
    is_line = assertion.type == "rubrics" and not assertion.written
    return is_line and bool(str(assertion.fields["criteria"]).strip())


def _build_from(
    assertion: Assertion, defaults: GraderDefaults, context: AssertionContext
) -> list[GraderConfig]:
    if assertion.type == "composite":
        return _build_composite(assertion, defaults, context)
    row = ROWS.get(assertion.type)
    if row is None:
        kind = "has no type" if not assertion.written else "is a type of your own, which evalq has not"
        context.warn(assertion, _NO_COUNTERPART.get(assertion.type, f"{kind}: left out"))
        return []
    try:
        return defaults.build_graders(row(assertion, context))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        context.warn(assertion, f"{message}: left out", remedy)
        return []


def _build_composite(
    assertion: Assertion, defaults: GraderDefaults, context: AssertionContext
) -> list[GraderConfig]:
    """Build the graders of a composite's members, each with its share of the composite's weight.

    Only a weighted mean can be taken apart like this.
    """
    aggregator = _read_aggregator(assertion.fields)
    if aggregator not in ("weighted_average", "average", "mean"):
        context.warn(assertion, f"its checks are joined by {aggregator}, which has no counterpart: left out")
        return []
    if not assertion.members:
        context.warn(assertion, "has no checks in it: left out")
    if defaults.required:
        context.warn(assertion, "is required, so each of its checks is: stricter than their mean")
    weights = [_read_weight(member, assertion) for member in assertion.members]
    total = sum(weights)
    graders: list[GraderConfig] = []
    for member, weight in zip(assertion.members, weights, strict=True):
        own = GraderDefaults.of(member)
        share = replace(
            own,
            weight=defaults.weight * weight / total if total else 0.0,
            required=own.required or defaults.required,
            negate=own.negate != defaults.negate,
            name=own.name or defaults.name,
        )
        graders += _build_from(member, share, context)
    return graders


def _read_aggregator(fields: Mapping[str, Any]) -> str:
    """Read how a composite's members become one score; promptfoo's assert-set has a threshold instead."""
    written = fields.get("aggregator", fields.get("aggregation"))
    if written is None:
        return "weighted_average" if fields.get("threshold") is None else "threshold"
    kind = written.get("type", "weighted_average") if isinstance(written, dict) else written
    return str(kind).strip().replace("-", "_")


def _read_weight(member: Assertion, composite: Assertion) -> float:
    """Read the weight that the composite gives a member by its name, else the member's own."""
    aggregator = composite.fields.get("aggregator")
    by_name = aggregator.get("weights") if isinstance(aggregator, dict) else None
    weight = by_name.get(member.name) if isinstance(by_name, dict) else None
    if isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0:
        return float(weight)
    return 1.0 if member.weight is None else float(member.weight)


def _build_llm_grader(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    """Grade by the assertion's rubrics, else by its prompt, else by the test's criteria."""
    _warn_of_unused(assertion, context)
    fields = assertion.fields
    rubrics = assertion.first_list("rubrics", "value", "criteria")
    prompt = assertion.first_text("prompt", "value", "criteria")
    is_prompt_first = assertion.written.replace("_", "-") == "llm-judge" and prompt
    if rubrics and not is_prompt_first:
        return _build_items(rubrics, assertion)
    rubric = _read_prompt(prompt, assertion, context) if prompt else ""
    if isinstance(fields.get("prompt"), dict):
        context.warn(assertion, _BY_PROGRAM)
    if not rubric and prompt and context.criteria:
        context.warn(assertion, "the test's criteria replace its prompt")
    rubric = rubric or _as_rubric(context.criteria)
    if not rubric:
        raise ValueError("it has neither a prompt nor criteria; write one of them")
    scale = _own_scale(rubric, assertion, context)
    return [_build_score(rubric, passing_score(assertion), fields.get("temperature"), scale)]


def _own_scale(rubric: str, assertion: Assertion, context: AssertionContext) -> OwnScale:
    """The scale of the prompt; a listed loss, and the usual one, if it is ambiguous."""
    try:
        return find_own_scale(rubric) or _USUAL_SCALE
    except ValueError as exc:
        message, _, remedy = str(exc).partition("; ")
        context.warn(assertion, f"{message}: it is asked for {_USUAL_SCALE}", remedy)
        return _USUAL_SCALE


def _warn_of_unused(assertion: Assertion, context: AssertionContext) -> None:
    for key in ("model", "target", "provider"):
        if assertion.fields.get(key):
            remedy = "give --grader-model, or set grader_model: in evalq.yaml"
            context.warn(assertion, f"its {key} is not taken over: the bake-off's grader marks it", remedy)
    if assertion.fields.get("max_steps") or assertion.fields.get("config"):
        context.warn(assertion, "is asked once, without tools: max_steps and config are left out")


def _build_score(
    rubric: str, threshold: float, temperature: Any = None, scale: OwnScale = _USUAL_SCALE
) -> GraderFields:
    """Build a grader that asks for a score; a temperature of None is left out."""
    return GraderFields(
        {
            "type": "rubric",
            "rubric": rubric,
            "range": [scale.low, scale.high],
            "pass_threshold": scale.score_at(threshold),
            "temperature": temperature,
        }
    )


def _as_rubric(criteria: Sequence[str]) -> str:
    return plain_rubric("\n".join(criteria)) if criteria else ""


def _read_prompt(written: str, assertion: Assertion, context: AssertionContext) -> str:
    """Turn a prompt, written in place or in the file it names, into a rubric; "" if that is not possible."""
    text: str | None = written
    name = written.strip().removeprefix("file://")
    if _PROGRAM.fullmatch(name):
        context.warn(assertion, _BY_PROGRAM)
        return ""
    if _PROMPT_FILE.fullmatch(name):
        text = context.attachments.text(name, Place(assertion.file, assertion.line))
    if not text or not text.strip():
        return ""
    return _translate_placeholders(text, assertion, context)


def _translate_placeholders(text: str, assertion: Assertion, context: AssertionContext) -> str:
    """Rename agentv's placeholders to ours; all other braces are text."""
    parts: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(_escape_braces(text[end : found.start()]))
        parts.append(_translate_placeholder(found, assertion, context))
        end = found.end()
    if not parts:
        return plain_rubric(text)
    parts.append(_escape_braces(text[end:]))
    return "".join(parts).strip()


def _translate_placeholder(found: re.Match[str], assertion: Assertion, context: AssertionContext) -> str:
    name = found[1]
    if name in ("criteria", "expected_outcome"):
        return _escape_braces("\n".join(context.criteria))
    if name in _PLACEHOLDER_NAMES:
        return f"{{{_PLACEHOLDER_NAMES[name]}}}"
    context.warn(assertion, f"its prompt names {found[0]}, which stays as it is")
    return _escape_braces(found[0])


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class _RubricItem:
    """One item of a rubric: what must be true, or what each score means.

    `required_score`, from 0 to 1, fails the test if it is not reached; None for an item that only weighs.
    """

    name: str
    outcome: str
    weight: float
    required_score: float | None
    levels: Mapping[str, str]


def _build_rubrics(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    del context
    written = assertion.fields.get("criteria") or assertion.fields.get("rubrics")
    return _build_items(as_list(written), assertion)


def _build_items(written: Iterable[Any], assertion: Assertion) -> list[GraderFields]:
    """Build graders for a list of texts, or of mappings with weights, required scores and score ranges.

    A required item has a grader of its own; the others share one for each kind of score.
    """
    items = list(_read_items(written))
    if not items:
        raise ValueError("it says nothing; give it a prompt, rubrics or criteria")
    total = sum(item.weight for item in items)
    if total <= 0:
        raise ValueError("all its weights are 0; give one a weight above 0")
    threshold = passing_score(assertion)
    optional = [item for item in items if item.required_score is None]
    yes_or_no = [item for item in optional if not item.levels]
    scored = [item for item in optional if item.levels]
    graders: list[GraderFields] = []
    for group in (yes_or_no, scored):
        for start in range(0, len(group), MAX_CRITERIA):
            part = group[start : start + MAX_CRITERIA]
            share = sum(item.weight for item in part) / total
            graders.append(GraderFields(_build_criteria(part, threshold), share))
    for item in items:
        if item.required_score is not None:
            fields = _build_criteria([item], item.required_score)
            graders.append(GraderFields(fields, item.weight / total, required=True))
    return graders


def _build_criteria(items: Sequence[_RubricItem], threshold: float) -> dict[str, Any]:
    """Build one grader for items of the same kind: all with levels, or all without."""
    has_levels = bool(items[0].levels)
    if len(items) == 1 and not has_levels:
        return {"type": "boolean", "rubric": plain_rubric(items[0].outcome)}
    high = MAX_SCORE if has_levels else 1
    # Items that all weigh nothing weigh alike among themselves: their grader has no weight either.
    is_weighed = any(item.weight for item in items)
    criteria = []
    for item in items:
        weight = item.weight if is_weighed else 1.0
        criterion: dict[str, Any] = {"name": item.name, "description": item.outcome, "weight": weight}
        if item.levels:
            criterion["levels"] = dict(item.levels)
        criteria.append(criterion)
    return {
        "type": "criteria",
        "range": [0, high],
        "pass_threshold": high * threshold,
        "rubric": None if has_levels else _MET,
        "criteria": criteria,
    }


def _read_items(written: Iterable[Any]) -> Iterator[_RubricItem]:
    names: set[str] = set()
    for number, entry in enumerate(written, start=1):
        fields = entry if isinstance(entry, dict) else {"outcome": entry}
        outcome = _read_outcome(fields)
        levels = dict(_read_levels(fields.get("score_ranges")))
        if not (outcome or levels):
            continue
        if fields.get("operator") == "contradiction":
            outcome = f"The answer does not contradict this: {outcome}"
        name = as_name(text_of(fields["id"])) if fields.get("id") is not None else None
        if name is None or name in names:
            name = f"criterion-{number}"
        names.add(name)
        required_score = _read_required_score(fields, has_levels=bool(levels))
        yield _RubricItem(name, outcome, _to_number(fields.get("weight"), 1.0), required_score, levels)


def _read_outcome(fields: Mapping[str, Any]) -> str:
    for key in _OUTCOME_KEYS:
        if fields.get(key):
            return text_of(fields[key]).strip()
    return ""


def _read_required_score(fields: Mapping[str, Any], *, has_levels: bool) -> float | None:
    """Read the score without which the test fails, under the first of the keys agentv's versions have had."""
    if fields.get("required_min_score") is not None:
        return min(1.0, _to_number(fields["required_min_score"], MAX_SCORE) / MAX_SCORE)
    if fields.get("min_score") is not None:
        return min(1.0, _to_number(fields["min_score"], 1.0))
    required = fields.get("required")
    if not required and (required is None or isinstance(required, bool)):
        return None
    if required is True:
        return PASSES_AT if has_levels else 1.0
    return min(1.0, _to_number(required, 1.0))


def _read_levels(ranges: Any) -> Iterator[tuple[str, str]]:
    """Yield what each score means, by the lowest of its range; scores are whole numbers from 0 to 10."""
    if isinstance(ranges, dict):
        pairs: list[tuple[Any, Any]] = [([key, key], text) for key, text in ranges.items()]
    elif isinstance(ranges, list):
        pairs = [(one.get("score_range"), one.get("outcome")) for one in ranges if isinstance(one, dict)]
    else:
        return
    for ends, text in pairs:
        if not isinstance(ends, list) or not ends or not text:
            continue
        low, high = _to_score(ends[0]), _to_score(ends[-1])
        if low is not None and high is not None:
            yield str(low), text_of(text) if low == high else f"{text_of(text)} (up to {high})"


def _to_score(value: Any) -> int | None:
    text = text_of(value)
    return int(text) if re.fullmatch(r"\d|10", text) else None


def _to_number(value: Any, default: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return max(0.0, float(value)) if is_number else default


ROWS: Mapping[str, BuildGraders] = {**CHECKS, "llm-grader": _build_llm_grader, "rubrics": _build_rubrics}
"""Every type that becomes a grader."""
