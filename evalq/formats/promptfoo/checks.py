"""Graders for the assertions of promptfoo, one row for each type; other types are warnings."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import TriggerMode
from evalq.definitions.yaml_text import load_anchored_yaml
from evalq.errors import InputError
from evalq.formats.build import as_name, build_grader, plain_rubric
from evalq.formats.document import Node, text_of
from evalq.formats.javascript_regex import to_python
from evalq.formats.own_scale import OwnScale, find_own_scale
from evalq.formats.paths import Attachments, Place
from evalq.formats.promptfoo.read import SCHEME, fill_all

MAX_EDITS = 5
"""Edits that promptfoo allows between two texts by default."""

_G_EVAL_PASSES_AT = 0.7
_USUAL_SCALE = OwnScale(0, 10)
_BINARY = OwnScale(0, 1)


@dataclass(frozen=True)
class PromptfooCheck:
    """One assertion with its value filled in."""

    node: Node
    type: str
    value: Any
    threshold: float | None
    weight: float
    negate: bool
    name: str | None


BuildFields = Callable[[PromptfooCheck], list[dict[str, Any]]]
"""Turns an assertion into the fields of graders; raises ValueError, with a remedy, if it cannot."""


@dataclass(frozen=True)
class CheckContext:
    """What the assertions of one test share; `is_weighed`: none of them alone fails the test."""

    variables: Mapping[str, Any]
    is_weighed: bool
    attachments: Attachments
    templates: Node | None
    trigger_mode: TriggerMode

    def warn(self, node: Node, message: str, remedy: str = "") -> None:
        """Note what is lost of an assertion."""
        self.attachments.warnings.add(node.problem(message, remedy))


def build_graders(checks: Sequence[Node], context: CheckContext, share: float = 1.0) -> list[GraderConfig]:
    """Build graders for every assertion that has a row; `share` scales their weights."""
    graders: list[GraderConfig] = []
    for node in checks:
        graders += _build_from(_resolve_template(node, context), share, context)
    return graders


def _resolve_template(node: Node, context: CheckContext) -> Node:
    """Return the assertion itself, or the template of the same file that it refers to."""
    fields = node.mapping()
    reference = node.get("$ref")
    if reference is None:
        return node
    prefix, _, name = reference.text().rpartition("/")
    if prefix != "#/assertionTemplates":
        message = f"{reference.text()[:100]!r} leads out of the file"
        reference.refuse(message, "write #/assertionTemplates/NAME")
    template = context.templates.get(name) if context.templates else None
    if template is None:
        reference.refuse(f"there is no template {name!r}", "add it under assertionTemplates:")
    own = {key: value for key, value in fields.items() if key != "$ref"}
    return Node(node.located, node.loc, {**template.mapping(), **own})


def _build_from(node: Node, share: float, context: CheckContext) -> list[GraderConfig]:
    written = node.get("type")
    if written is None:
        node.refuse("a check without a type", "add type:, for instance contains")
    kind = written.text()
    if kind == "assert-set":
        return _build_set(node, share, context)
    check = _read_check(node, kind, context)
    row = ROWS.get(check.type)
    if row is None or (check.type == "skill-used" and context.trigger_mode == "description"):
        context.warn(node, f"{kind} has no counterpart: left out")
        return []
    if node.get("transform"):
        context.warn(node, f"{kind}: transform is not run, the answer is marked as it is")
    if check.type == "contains-json":
        context.warn(node, f"{kind}: the whole answer must be JSON, but for a fence around it")
    try:
        return [build_grader({**fields, **_shared_fields(check, share, context)}) for fields in row(check)]
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        context.warn(node, f"{kind}: {message}: left out", remedy)
        return []


def _build_set(node: Node, share: float, context: CheckContext) -> list[GraderConfig]:
    """Build the graders of a set's members with their share of its weight, if it has no threshold."""
    if node.get("threshold"):
        context.warn(node, "assert-set: a threshold of its own has no counterpart: left out")
        return []
    members = node.get_items("assert")
    total = sum(_read_weight(member) for member in members) or 1.0
    return build_graders(members, context, share * _read_weight(node) / total)


def _read_check(node: Node, kind: str, context: CheckContext) -> PromptfooCheck:
    return PromptfooCheck(
        node=node,
        type=kind.removeprefix("not-"),
        value=_read_value(node, context),
        threshold=node.get_number("threshold"),
        weight=_read_weight(node),
        negate=kind.startswith("not-"),
        name=as_name(node.get_text("metric")),
    )


def _read_value(node: Node, context: CheckContext) -> Any:
    """Read the value with the test's variables filled in, or the text of the file it names."""
    written = node.value.get("value")
    if isinstance(written, str) and written.startswith(SCHEME):
        path = written.removeprefix(SCHEME)
        return context.attachments.text(path, Place(node.file, node.line))
    return fill_all(written, context.variables)


def _read_weight(node: Node) -> float:
    weight = node.get_number("weight")
    return 1.0 if weight is None else float(weight)


def _shared_fields(check: PromptfooCheck, share: float, context: CheckContext) -> dict[str, Any]:
    weight = check.weight * share
    return {
        "name": check.name,
        "weight": None if weight == 1 else weight,
        "required": False if context.is_weighed or check.weight == 0 else None,
        "negate": check.negate or None,
    }


def _build_text(kind: str) -> BuildFields:
    return lambda check: [{"type": kind, "value": _require_text(check)}]


def _build_texts(kind: str) -> BuildFields:
    def build(check: PromptfooCheck) -> list[dict[str, Any]]:
        if check.value is None:
            raise ValueError("it has no value; add value:")
        listed = check.value if isinstance(check.value, list) else text_of(check.value).split(",")
        return [{"type": kind, "values": [text_of(one).strip() for one in listed]}]

    return build


def _build_equals(check: PromptfooCheck) -> list[dict[str, Any]]:
    if isinstance(check.value, dict | list):
        return [{"type": "structural_match", "value": check.value, "strict": True}]
    return [{"type": "equals", "value": _require_text(check)}]


def _build_regex(check: PromptfooCheck) -> list[dict[str, Any]]:
    pattern, flags = to_python(_require_text(check))
    return [{"type": "regex", "pattern": pattern, "flags": flags or None}]


def _build_json(check: PromptfooCheck) -> list[dict[str, Any]]:
    """Check a schema if there is one; contains-json allows a fence around the JSON."""
    schema = _parse_value(check)
    if schema is not None:
        return [{"type": "json_schema", "schema": schema}]
    return [{"type": "is_json", "allow_fence": check.type == "contains-json" or None}]


def _build_limit(kind: str, parameter: str) -> BuildFields:
    def build(check: PromptfooCheck) -> list[dict[str, Any]]:
        limit = check.threshold if check.threshold is not None else check.value
        if limit is None:
            raise ValueError("it sets no limit; add threshold:")
        return [{"type": kind, parameter: limit}]

    return build


def _build_question(check: PromptfooCheck) -> list[dict[str, Any]]:
    """Ask for yes or no, or for a score if there is a threshold."""
    text = _require_text(check)
    rubric, scale = plain_rubric(text), find_own_scale(text)
    if check.threshold is not None:
        return [_build_score(rubric, check.threshold, scale or _USUAL_SCALE)]
    if scale is None:
        return [{"type": "boolean", "rubric": rubric}]
    if scale == _BINARY:
        return [_build_score(rubric, 1.0, scale)]
    raise ValueError(f"its rubric scores from {scale}, and nothing says what passes; add threshold:")


def _build_g_eval(check: PromptfooCheck) -> list[dict[str, Any]]:
    lines = check.value if isinstance(check.value, list) else [_require_text(check)]
    text = "\n".join(text_of(line) for line in lines)
    threshold = _G_EVAL_PASSES_AT if check.threshold is None else check.threshold
    return [_build_score(plain_rubric(text), threshold, find_own_scale(text) or _USUAL_SCALE)]


def _build_score(rubric: str, threshold: float, scale: OwnScale) -> dict[str, Any]:
    least = scale.score_at(min(1.0, threshold))
    return {"type": "rubric", "rubric": rubric, "range": [scale.low, scale.high], "pass_threshold": least}


def _build_levenshtein(check: PromptfooCheck) -> list[dict[str, Any]]:
    edits = MAX_EDITS if check.threshold is None else int(check.threshold)
    return [{"type": "levenshtein", "value": _require_text(check), "max_distance": edits}]


def _build_refusal(check: PromptfooCheck) -> list[dict[str, Any]]:
    del check
    return [{"type": "refusal"}]


def _build_word_count(check: PromptfooCheck) -> list[dict[str, Any]]:
    value = _parse_value(check)
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"min": value, "max": value}
    if not isinstance(value, dict) or not value.keys() & {"min", "max"}:
        raise ValueError("it counts to no number; write value: {min: 1, max: 50}")
    both = [("min", "min_words"), ("max", "max_words")]
    return [{"type": kind, "value": value[key]} for key, kind in both if key in value]


def _build_skill_used(check: PromptfooCheck) -> list[dict[str, Any]]:
    skill = check.value.get("name") if isinstance(check.value, dict) else check.value
    return [{"type": "skill_triggered", "skill": skill, "should_trigger": True, "first_only": False}]


def _require_text(check: PromptfooCheck) -> str:
    if check.value is None or check.value == "":
        raise ValueError("it has no value; add value:")
    return text_of(check.value)


def _parse_value(check: PromptfooCheck) -> Any:
    """Return a schema or number as written, or parse it from the text of a file."""
    if not isinstance(check.value, str):
        return check.value
    try:
        return json.loads(check.value)
    except ValueError:
        pass
    try:
        return load_anchored_yaml(check.value, "").value
    except InputError:
        raise ValueError("its value is neither JSON nor YAML; write a mapping") from None


ROWS: Mapping[str, BuildFields] = {
    "contains": _build_text("contains"),
    "contains-all": _build_texts("contains_all"),
    "contains-any": _build_texts("contains_any"),
    "contains-json": _build_json,
    "cost": _build_limit("cost", "budget"),
    "ends-with": _build_text("ends_with"),
    "equals": _build_equals,
    "g-eval": _build_g_eval,
    "icontains": _build_text("icontains"),
    "icontains-all": _build_texts("icontains_all"),
    "icontains-any": _build_texts("icontains_any"),
    "is-json": _build_json,
    "is-refusal": _build_refusal,
    "latency": _build_limit("latency", "threshold"),
    "levenshtein": _build_levenshtein,
    "llm-rubric": _build_question,
    "model-graded-closedqa": _build_question,
    "regex": _build_regex,
    "skill-used": _build_skill_used,
    "starts-with": _build_text("starts_with"),
    "word-count": _build_word_count,
}
