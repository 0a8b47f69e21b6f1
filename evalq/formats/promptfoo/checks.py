"""The checks of promptfoo, one row for each type we have; the others are listed as lost."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import TriggerMode
from evalq.definitions.yaml_text import load_anchored_yaml
from evalq.errors import InputError
from evalq.formats.agentv.eval_file import text_of
from evalq.formats.agentv.read_parts import Node
from evalq.formats.build import as_name, made_grader, plain_rubric
from evalq.formats.paths import Attachments, Place
from evalq.formats.promptfoo.javascript_regex import to_python
from evalq.formats.promptfoo.tests import SCHEME, filled_in

Row = Callable[["Check"], list[dict[str, Any]]]
"""The graders a check becomes; ValueError, with a remedy, for one that becomes none."""

EDITS = 5
"""So many edits promptfoo allows between two texts where nothing else is said."""

_G_EVAL_PASSES_AT = 0.7
_HIGHEST = 10


@dataclass(frozen=True)
class Check:
    """One check with its value filled in."""

    node: Node
    type: str
    value: Any
    threshold: float | None
    weight: float
    negate: bool
    name: str | None


@dataclass(frozen=True)
class Marking:
    """What the checks of one test share: its variables, and whether each must pass or all only weigh."""

    variables: Mapping[str, Any]
    is_weighed: bool
    attachments: Attachments
    templates: Node | None
    trigger_mode: TriggerMode

    def lose(self, node: Node, message: str, remedy: str = "") -> None:
        """Note what is not carried over."""
        self.attachments.losses.note(node.problem(message, remedy))


def graders_of(checks: Sequence[Node], marking: Marking) -> list[GraderConfig]:
    """Graders for every check there is a row for."""
    return [grader for node in checks for grader in _carried(node, 1.0, marking)]


def _carried(written: Node, share: float, marking: Marking) -> list[GraderConfig]:
    node = _resolved(written, marking)
    kind = node.get("type")
    if kind is None:
        node.refuse("a check without a type", "add type:, for instance contains")
    if kind.text() == "assert-set":
        return _set(node, share, marking)
    check = _check(node, kind.text(), marking)
    row = ROWS.get(check.type)
    if row is None or (check.type == "skill-used" and marking.trigger_mode == "description"):
        marking.lose(node, f"{kind.text()} has no counterpart: left out")
        return []
    try:
        if node.get("transform"):
            marking.lose(node, f"{kind.text()}: transform is not run, the answer is marked as it is")
        if check.type == "contains-json":
            marking.lose(node, f"{kind.text()}: the whole answer is to be JSON, but for a fence around it")
        return [_graded(fields, check, share, marking) for fields in row(check)]
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        marking.lose(node, f"{kind.text()}: {message}: left out", remedy)
        return []


def _resolved(node: Node, marking: Marking) -> Node:
    """The check itself, or the template of the same file that it refers to."""
    node.mapping()
    reference = node.get("$ref")
    if reference is None:
        return node
    prefix, _, name = reference.text().rpartition("/")
    if prefix != "#/assertionTemplates":
        reference.refuse(
            f"{reference.text()[:100]!r} leads out of the file", "write #/assertionTemplates/NAME"
        )
    template = marking.templates.get(name) if marking.templates else None
    if template is None:
        reference.refuse(f"there is no template {name!r}", "add it under assertionTemplates:")
    template.mapping()
    return Node(
        node.located, node.loc, {**template.value, **{k: v for k, v in node.value.items() if k != "$ref"}}
    )


def _set(node: Node, share: float, marking: Marking) -> list[GraderConfig]:
    """A set without a threshold is its checks, with their share of its weight."""
    if node.get("threshold"):
        marking.lose(node, "assert-set: a threshold of its own has no counterpart: left out")
        return []
    members = node.get("assert")
    items = members.items() if members else []
    total = sum(_weight(item) for item in items if isinstance(item.value, dict)) or 1.0
    own = share * _weight(node)
    return [grader for item in items for grader in _carried(item, own / total, marking)]


def _check(node: Node, kind: str, marking: Marking) -> Check:
    threshold, name = node.get("threshold"), node.get("metric")
    denied = kind.startswith("not-")
    return Check(
        node=node,
        type=kind.removeprefix("not-"),
        value=_value(node, marking),
        threshold=threshold.number() if threshold else None,
        weight=_weight(node),
        negate=denied,
        name=as_name(text_of(name.value)) if name else None,
    )


def _value(node: Node, marking: Marking) -> Any:
    """The value with the test's variables in it, or what is in the file it names."""
    written = node.value.get("value")
    if isinstance(written, str) and written.startswith(SCHEME):
        path = written.removeprefix(SCHEME)
        return marking.attachments.text(path, Place(node.file, node.line))
    return filled_in(written, marking.variables)


def _weight(node: Node) -> float:
    weight = node.get("weight")
    return float(weight.number()) if weight else 1.0


def _graded(fields: Mapping[str, Any], check: Check, share: float, marking: Marking) -> GraderConfig:
    weight = check.weight * share
    return made_grader(
        {
            **fields,
            "name": check.name,
            "weight": None if weight == 1 else weight,
            "required": False if marking.is_weighed or check.weight == 0 else None,
            "negate": check.negate or None,
        }
    )


def _text(kind: str) -> Row:
    return lambda check: [{"type": kind, "value": _as_text(check)}]


def _texts(kind: str) -> Row:
    def row(check: Check) -> list[dict[str, Any]]:
        if check.value is None:
            raise ValueError("it has no value; add value:")
        listed = check.value if isinstance(check.value, list) else text_of(check.value).split(",")
        return [{"type": kind, "values": [text_of(one).strip() for one in listed]}]

    return row


def _equals(check: Check) -> list[dict[str, Any]]:
    if isinstance(check.value, dict | list):
        return [{"type": "structural_match", "value": check.value, "strict": True}]
    return [{"type": "equals", "value": _as_text(check)}]


def _regex(check: Check) -> list[dict[str, Any]]:
    pattern, flags = to_python(_as_text(check))
    return [{"type": "regex", "pattern": pattern, "flags": flags or None}]


def _json(check: Check) -> list[dict[str, Any]]:
    """By a schema where there is one; a fence around JSON is allowed where it need only be contained."""
    schema = _as_value(check)
    if schema is not None:
        return [{"type": "json_schema", "schema": schema}]
    return [{"type": "is_json", "allow_fence": check.type == "contains-json" or None}]


def _limit(kind: str, parameter: str) -> Row:
    def row(check: Check) -> list[dict[str, Any]]:
        limit = check.threshold if check.threshold is not None else check.value
        if limit is None:
            raise ValueError("it sets no limit; add threshold:")
        return [{"type": kind, parameter: limit}]

    return row


def _asked(check: Check) -> list[dict[str, Any]]:
    """A yes or no, or a score where a threshold is set."""
    rubric = plain_rubric(_as_text(check))
    if check.threshold is None:
        return [{"type": "boolean", "rubric": rubric}]
    return [_scored(rubric, check.threshold)]


def _g_eval(check: Check) -> list[dict[str, Any]]:
    lines = check.value if isinstance(check.value, list) else [_as_text(check)]
    rubric = plain_rubric("\n".join(text_of(line) for line in lines))
    return [_scored(rubric, _G_EVAL_PASSES_AT if check.threshold is None else check.threshold)]


def _scored(rubric: str, threshold: float) -> dict[str, Any]:
    least = _HIGHEST * min(1.0, threshold)
    return {"type": "rubric", "rubric": rubric, "range": [0, _HIGHEST], "pass_threshold": least}


def _levenshtein(check: Check) -> list[dict[str, Any]]:
    edits = EDITS if check.threshold is None else int(check.threshold)
    return [{"type": "levenshtein", "value": _as_text(check), "max_distance": edits}]


def _refusal(check: Check) -> list[dict[str, Any]]:
    del check
    return [{"type": "refusal"}]


def _word_count(check: Check) -> list[dict[str, Any]]:
    value = _as_value(check)
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"min": value, "max": value}
    if not isinstance(value, dict) or not value.keys() & {"min", "max"}:
        raise ValueError("it counts to no number; write value: {min: 1, max: 50}")
    both = [("min", "min_words"), ("max", "max_words")]
    return [{"type": kind, "value": value[key]} for key, kind in both if key in value]


def _skill_used(check: Check) -> list[dict[str, Any]]:
    value = check.value.get("name") if isinstance(check.value, dict) else check.value
    return [{"type": "skill_triggered", "skill": value, "should_trigger": True, "first_only": False}]


def _as_text(check: Check) -> str:
    if check.value is None or check.value == "":
        raise ValueError("it has no value; add value:")
    return text_of(check.value)


def _as_value(check: Check) -> Any:
    """A schema or number as written, or read from the text of a file."""
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


ROWS: Mapping[str, Row] = {
    "contains": _text("contains"),
    "contains-all": _texts("contains_all"),
    "contains-any": _texts("contains_any"),
    "contains-json": _json,
    "cost": _limit("cost", "budget"),
    "ends-with": _text("ends_with"),
    "equals": _equals,
    "g-eval": _g_eval,
    "icontains": _text("icontains"),
    "icontains-all": _texts("icontains_all"),
    "icontains-any": _texts("icontains_any"),
    "is-json": _json,
    "is-refusal": _refusal,
    "latency": _limit("latency", "threshold"),
    "levenshtein": _levenshtein,
    "llm-rubric": _asked,
    "model-graded-closedqa": _asked,
    "regex": _regex,
    "skill-used": _skill_used,
    "starts-with": _text("starts_with"),
    "word-count": _word_count,
}
