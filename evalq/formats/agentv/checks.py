"""The checks of an EVAL.yaml that ask no model, one row for each type."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders import GraderConfig
from evalq.definitions.json_queries import value_at
from evalq.definitions.loaded import TriggerMode
from evalq.errors import InputError
from evalq.formats.agentv.eval_file import Assertion, text_of, trigger_of
from evalq.formats.build import as_name, made_grader
from evalq.formats.paths import Attachments
from evalq.formats.problems import Losses
from evalq.formats.promptfoo.javascript_regex import to_python

PASSES_AT = 0.8
"""The score from which agentv calls a check passed, and a test, unless the file says otherwise."""


@dataclass(frozen=True)
class Scene:
    """The test a check belongs to: its criteria, what it expects, and what its file may refer to."""

    criteria: tuple[str, ...]
    expected: Any
    attachments: Attachments
    losses: Losses
    trigger_mode: TriggerMode = "tool_calls"

    def lose(self, assertion: Assertion, message: str, remedy: str = "") -> None:
        """Note what of a check is not carried over."""
        kind = assertion.written or assertion.type
        self.losses.note(assertion.problem(f"{kind}: {message}", remedy))


@dataclass(frozen=True)
class Entry:
    """A grader's own parameters, and its share of the weight of the check it comes from.

    `required` and `negate` stand instead of the check's own where they are not None.
    """

    fields: Mapping[str, Any]
    share: float = 1.0
    required: bool | None = None
    negate: bool | None = None


@dataclass(frozen=True)
class Standing:
    """What a check counts: agentv's only weigh unless they are required."""

    weight: float = 1.0
    required: bool = False
    negate: bool = False
    name: str | None = None

    def graders(self, entries: Iterable[Entry]) -> list[GraderConfig]:
        """The graders of these entries; ValueError for one that is none."""
        return [made_grader({**entry.fields, **self._fields(entry)}) for entry in entries]

    def _fields(self, entry: Entry) -> dict[str, Any]:
        weight = self.weight * entry.share
        return {
            "name": as_name(self.name),
            "weight": None if weight == 1 else float(weight),
            "required": self.required if entry.required is None else entry.required,
            "negate": (self.negate if entry.negate is None else entry.negate) or None,
        }


def standing_of(assertion: Assertion) -> Standing:
    """What a check counts, as its own fields say."""
    return Standing(
        weight=1.0 if assertion.weight is None else float(assertion.weight),
        required=bool(assertion.required),
        negate=assertion.negate,
        name=assertion.name,
    )


def least_score(assertion: Assertion) -> float:
    """The score, from 0 to 1, from which a check is passed."""
    required = assertion.required
    if required is not None and not isinstance(required, bool):
        return min(1.0, float(required))
    return min(1.0, PASSES_AT if assertion.min_score is None else float(assertion.min_score))


Carry = Callable[[Assertion, Scene], list[Entry]]
"""The graders a check becomes; ValueError, with a remedy, for one that becomes none."""

_FIELD_KEYS = ("path", "match", "required", "weight", "tolerance", "relative", "formats")
_MATCHES = ("exact", "numeric_tolerance", "date")
_CALL_KEYS = ("tool", "args", "args_match")


def _text(kind: str) -> Carry:
    def carry(assertion: Assertion, scene: Scene) -> list[Entry]:
        del scene
        text = _as_text(_value(assertion))
        if not text:
            raise ValueError("an empty text is in every answer; say what to look for")
        return [Entry({"type": kind, "value": text})]

    return carry


def _texts(kind: str) -> Carry:
    def carry(assertion: Assertion, scene: Scene) -> list[Entry]:
        del scene
        value = _value(assertion)
        texts = [_as_text(one) for one in (value if isinstance(value, list) else [value])]
        return [Entry({"type": kind, "values": texts})]

    return carry


def _equals(assertion: Assertion, scene: Scene) -> list[Entry]:
    del scene
    value = _value(assertion)
    if isinstance(value, dict | list):
        return [Entry({"type": "structural_match", "value": value, "strict": True})]
    return [Entry({"type": "equals", "value": _as_text(value)})]


def _regex(assertion: Assertion, scene: Scene) -> list[Entry]:
    del scene
    flags = assertion.fields.get("flags") or ""
    pattern, names = to_python(_as_text(_value(assertion)), _as_text(flags))
    return [Entry({"type": "regex", "pattern": pattern, "flags": names or None})]


def _is_json(assertion: Assertion, scene: Scene) -> list[Entry]:
    del scene
    schema = assertion.fields.get("value")
    if isinstance(schema, dict):
        return [Entry({"type": "json_schema", "schema": schema})]
    return [Entry({"type": "is_json"})]


def _limit(kind: str, parameter: str) -> Carry:
    def carry(assertion: Assertion, scene: Scene) -> list[Entry]:
        del scene
        fields = assertion.fields
        limit = next((fields[key] for key in (parameter, "threshold", "value") if key in fields), None)
        if limit is None:
            raise ValueError(f"it sets no limit; add {parameter}:")
        return [Entry({"type": kind, parameter: limit})]

    return carry


def _token_usage(assertion: Assertion, scene: Scene) -> list[Entry]:
    del scene
    limits = {key: assertion.fields.get(key) for key in ("max_total", "max_input", "max_output")}
    return [Entry({"type": "token_usage", **limits})]


def _execution_metrics(assertion: Assertion, scene: Scene) -> list[Entry]:
    """One grader for each limit we can hold an answer to; the others are lost one by one."""
    found: list[dict[str, Any]] = []
    for key, value in assertion.fields.items():
        row = _METRICS.get(key)
        if row:
            found.append({"type": row[0], row[1]: value})
        elif key.startswith(("max_", "target_", "exploration_")):
            scene.lose(assertion, f"{key} is not measured: left out")
    if not found:
        raise ValueError("none of its limits is one that evalq measures")
    return [Entry(fields, 1 / len(found)) for fields in found]


_METRICS = {
    "max_cost_usd": ("cost", "budget"),
    "max_duration_ms": ("latency", "threshold"),
    "max_tokens": ("token_usage", "max_total"),
    "max_tool_calls": ("max_tool_calls", "value"),
}


def _tool_trajectory(assertion: Assertion, scene: Scene) -> list[Entry]:
    fields = assertion.fields
    expected = fields.get("expected")
    calls = [_call(one, assertion, scene) for one in expected] if isinstance(expected, list) else None
    if isinstance(assertion.required, float) and assertion.required < 1:
        scene.lose(assertion, "passes only in full; a part of it still weighs")
    return [
        Entry(
            {
                "type": "tool_trajectory",
                "mode": fields.get("mode") or ("in_order" if calls else "any_order"),
                "expected": calls,
                "minimums": fields.get("minimums"),
                "args_match": fields.get("args_match"),
            }
        )
    ]


def _call(written: Any, assertion: Assertion, scene: Scene) -> Any:
    if not isinstance(written, dict):
        return {"tool": written}
    for key in written:
        if key not in _CALL_KEYS:
            scene.lose(assertion, f"{key} of a tool is not looked at: left out")
    return {key: written[key] for key in _CALL_KEYS if written.get(key) is not None}


def _field_accuracy(assertion: Assertion, scene: Scene) -> list[Entry]:
    if not isinstance(scene.expected, dict):
        raise ValueError("expected_output is no mapping to compare with; write it as one")
    fields = list(_compared_fields(assertion, scene))
    if not fields:
        raise ValueError("none of its fields can be compared; list some that expected_output has")
    return [
        Entry(
            {
                "type": "field_accuracy",
                "fields": fields,
                "value": scene.expected,
                "aggregation": assertion.fields.get("aggregation"),
                "threshold": least_score(assertion),
            }
        )
    ]


def _compared_fields(assertion: Assertion, scene: Scene) -> Iterator[dict[str, Any]]:
    """The fields that expected_output has; for the others agentv gives full marks, we none."""
    listed = assertion.fields.get("fields")
    absent = []
    for written in listed if isinstance(listed, list) else []:
        field = written if isinstance(written, dict) else {"path": written}
        path, match = field.get("path"), field.get("match", "exact")
        if match not in _MATCHES:
            scene.lose(assertion, f"field {path!r} is compared as {text_of(match)!r}: left out")
        elif isinstance(path, str) and value_at(scene.expected, path) is ABSENT:
            absent.append(path)
        else:
            yield {key: field[key] for key in _FIELD_KEYS if field.get(key) is not None}
    if absent:
        scene.lose(assertion, f"expected_output has no {', '.join(absent)}: not compared")


def _skill_triggered(assertion: Assertion, scene: Scene) -> list[Entry]:
    trigger = trigger_of(assertion)
    if not trigger.skill:
        raise ValueError("it names no skill; add skill:")
    if scene.trigger_mode == "description":
        raise ValueError("only a trigger of the test itself is decided by the skill's description")
    fields = {
        "type": "skill_triggered",
        "skill": trigger.skill,
        "should_trigger": trigger.should_trigger,
    }
    return [Entry(fields, negate=False)]


def _value(assertion: Assertion) -> Any:
    value = assertion.fields.get("value")
    if value is None:
        raise InputError(assertion.problem(f"{assertion.written} without a value", "add value:"))
    return value


def _as_text(value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError("its value is no text; put it in quotes")
    return text_of(value)


CHECKS: Mapping[str, Carry] = {
    "contains": _text("contains"),
    "contains-all": _texts("contains_all"),
    "contains-any": _texts("contains_any"),
    "cost": _limit("cost", "budget"),
    "ends-with": _text("ends_with"),
    "equals": _equals,
    "execution-metrics": _execution_metrics,
    "field-accuracy": _field_accuracy,
    "icontains": _text("icontains"),
    "icontains-all": _texts("icontains_all"),
    "icontains-any": _texts("icontains_any"),
    "is-json": _is_json,
    "latency": _limit("latency", "threshold"),
    "regex": _regex,
    "skill-trigger": _skill_triggered,
    "starts-with": _text("starts_with"),
    "token-usage": _token_usage,
    "tool-trajectory": _tool_trajectory,
}
