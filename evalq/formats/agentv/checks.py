"""Graders for the assertions of an EVAL.yaml that ask no model, one row for each type."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from evalq.definitions.definition import ABSENT
from evalq.definitions.graders import GraderConfig
from evalq.definitions.json_queries import value_at
from evalq.definitions.loaded import TriggerMode
from evalq.formats.agentv.eval_yaml import Assertion, read_trigger
from evalq.formats.build import as_name, build_grader
from evalq.formats.document import as_list, text_of
from evalq.formats.javascript_regex import to_python
from evalq.formats.paths import Attachments
from evalq.formats.problems import ImportWarnings

PASSES_AT = 0.8
"""The score at which agentv passes an assertion or a test, unless the file sets another."""

_FIELD_KEYS = ("path", "match", "required", "weight", "tolerance", "relative", "formats")
_MATCHES = ("exact", "numeric_tolerance", "date")
_CALL_KEYS = ("tool", "args", "args_match")
_METRICS = {
    "max_cost_usd": ("cost", "budget"),
    "max_duration_ms": ("latency", "threshold"),
    "max_tokens": ("token_usage", "max_total"),
    "max_tool_calls": ("max_tool_calls", "value"),
}


@dataclass(frozen=True)
class AssertionContext:
    """The test an assertion belongs to: its criteria, its expected value, the files it may name."""

    criteria: tuple[str, ...]
    expected: Any
    attachments: Attachments
    warnings: ImportWarnings
    trigger_mode: TriggerMode = "tool_calls"

    def warn(self, assertion: Assertion, message: str, remedy: str = "") -> None:
        """Note what is lost of an assertion."""
        kind = assertion.written or assertion.type
        self.warnings.add(assertion.problem(f"{kind}: {message}", remedy))


@dataclass(frozen=True)
class GraderFields:
    """A grader's own parameters, and its share of the weight of its assertion.

    `required` and `negate` override the assertion's own unless they are None.
    """

    fields: Mapping[str, Any]
    share: float = 1.0
    required: bool | None = None
    negate: bool | None = None


BuildGraders = Callable[[Assertion, AssertionContext], list[GraderFields]]
"""Turns an assertion into graders; raises ValueError, with a remedy, if it cannot."""


@dataclass(frozen=True)
class GraderDefaults:
    """What all graders of one assertion share; an assertion only weighs unless it is required."""

    weight: float = 1.0
    required: bool = False
    negate: bool = False
    name: str | None = None

    @classmethod
    def of(cls, assertion: Assertion) -> Self:
        """Return the defaults that an assertion's own fields set."""
        return cls(
            weight=1.0 if assertion.weight is None else float(assertion.weight),
            required=bool(assertion.required),
            negate=assertion.negate,
            name=assertion.name,
        )

    def build_graders(self, graders: Iterable[GraderFields]) -> list[GraderConfig]:
        """Build these graders; raise ValueError for invalid parameters."""
        return [build_grader({**grader.fields, **self._shared_fields(grader)}) for grader in graders]

    def _shared_fields(self, grader: GraderFields) -> dict[str, Any]:
        weight = self.weight * grader.share
        negate = self.negate if grader.negate is None else grader.negate
        return {
            "name": as_name(self.name),
            "weight": None if weight == 1 else float(weight),
            "required": self.required if grader.required is None else grader.required,
            "negate": negate or None,
        }


def passing_score(assertion: Assertion) -> float:
    """Return the score, from 0 to 1, at which an assertion passes."""
    required = assertion.required
    if required is not None and not isinstance(required, bool):
        return min(1.0, float(required))
    if assertion.min_score is not None:
        return min(1.0, float(assertion.min_score))
    return PASSES_AT


def _build_text(kind: str) -> BuildGraders:
    def build(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
        del context
        text = _require_text(assertion.require_value())
        if not text:
            raise ValueError("an empty text is in every answer; say what to look for")
        return [GraderFields({"type": kind, "value": text})]

    return build


def _build_texts(kind: str) -> BuildGraders:
    def build(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
        del context
        texts = [_require_text(value) for value in as_list(assertion.require_value())]
        return [GraderFields({"type": kind, "values": texts})]

    return build


def _build_equals(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    del context
    value = assertion.require_value()
    if isinstance(value, dict | list):
        return [GraderFields({"type": "structural_match", "value": value, "strict": True})]
    return [GraderFields({"type": "equals", "value": _require_text(value)})]


def _build_regex(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    del context
    flags = assertion.fields.get("flags") or ""
    pattern, names = to_python(_require_text(assertion.require_value()), _require_text(flags))
    return [GraderFields({"type": "regex", "pattern": pattern, "flags": names or None})]


def _build_is_json(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    del context
    schema = assertion.fields.get("value")
    if isinstance(schema, dict):
        return [GraderFields({"type": "json_schema", "schema": schema})]
    return [GraderFields({"type": "is_json"})]


def _build_limit(kind: str, parameter: str) -> BuildGraders:
    def build(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
        del context
        written = [key for key in (parameter, "threshold", "value") if key in assertion.fields]
        limit = assertion.fields[written[0]] if written else None
        if limit is None:
            raise ValueError(f"it sets no limit; add {parameter}:")
        return [GraderFields({"type": kind, parameter: limit})]

    return build


def _build_token_usage(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    del context
    limits = {key: assertion.fields.get(key) for key in ("max_total", "max_input", "max_output")}
    return [GraderFields({"type": "token_usage", **limits})]


def _build_execution_metrics(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    """Build one grader for each limit that evalq measures; warn about each of the others."""
    found: list[dict[str, Any]] = []
    for key, value in assertion.fields.items():
        row = _METRICS.get(key)
        if row:
            found.append({"type": row[0], row[1]: value})
        elif key.startswith(("max_", "target_", "exploration_")):
            context.warn(assertion, f"{key} is not measured: left out")
    if not found:
        raise ValueError("none of its limits is one that evalq measures")
    return [GraderFields(fields, 1 / len(found)) for fields in found]


def _build_tool_trajectory(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    fields = assertion.fields
    expected = fields.get("expected")
    calls = [_read_call(one, assertion, context) for one in expected] if isinstance(expected, list) else None
    if isinstance(assertion.required, float) and assertion.required < 1:
        context.warn(assertion, "passes only in full; a part of it still weighs")
    return [
        GraderFields(
            {
                "type": "tool_trajectory",
                "mode": fields.get("mode") or ("in_order" if calls else "any_order"),
                "expected": calls,
                "minimums": fields.get("minimums"),
                "args_match": fields.get("args_match"),
            }
        )
    ]


def _read_call(written: Any, assertion: Assertion, context: AssertionContext) -> Any:
    if not isinstance(written, dict):
        return {"tool": written}
    for key in written:
        if key not in _CALL_KEYS:
            context.warn(assertion, f"{key} of a tool is not looked at: left out")
    return {key: written[key] for key in _CALL_KEYS if written.get(key) is not None}


def _build_field_accuracy(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    if not isinstance(context.expected, dict):
        raise ValueError("expected_output is not a mapping to compare with; write it as one")
    fields = list(_compared_fields(assertion, context))
    if not fields:
        raise ValueError("none of its fields can be compared; list some that expected_output has")
    return [
        GraderFields(
            {
                "type": "field_accuracy",
                "fields": fields,
                "value": context.expected,
                "aggregation": assertion.fields.get("aggregation"),
                "threshold": passing_score(assertion),
            }
        )
    ]


def _compared_fields(assertion: Assertion, context: AssertionContext) -> Iterator[dict[str, Any]]:
    """Yield the fields that expected_output has; agentv gives full marks for the others, we compare none."""
    listed = assertion.fields.get("fields")
    if not isinstance(listed, list):
        return
    absent = []
    for written in listed:
        field = written if isinstance(written, dict) else {"path": written}
        path, match = field.get("path"), field.get("match", "exact")
        if match not in _MATCHES:
            context.warn(assertion, f"field {path!r} is compared as {text_of(match)!r}: left out")
        elif isinstance(path, str) and value_at(context.expected, path) is ABSENT:
            absent.append(path)
        else:
            yield {key: field[key] for key in _FIELD_KEYS if field.get(key) is not None}
    if absent:
        context.warn(assertion, f"expected_output has no {', '.join(absent)}: not compared")


def _build_skill_triggered(assertion: Assertion, context: AssertionContext) -> list[GraderFields]:
    trigger = read_trigger(assertion)
    if not trigger.skill:
        raise ValueError("it names no skill; add skill:")
    if context.trigger_mode == "description":
        raise ValueError("only a trigger of the test itself is decided by the skill's description")
    fields = {
        "type": "skill_triggered",
        "skill": trigger.skill,
        "should_trigger": trigger.should_trigger,
    }
    return [GraderFields(fields, negate=False)]


def _require_text(value: Any) -> str:
    if isinstance(value, dict | list):
        raise ValueError("its value is not text; put it in quotes")
    return text_of(value)


CHECKS: Mapping[str, BuildGraders] = {
    "contains": _build_text("contains"),
    "contains-all": _build_texts("contains_all"),
    "contains-any": _build_texts("contains_any"),
    "cost": _build_limit("cost", "budget"),
    "ends-with": _build_text("ends_with"),
    "equals": _build_equals,
    "execution-metrics": _build_execution_metrics,
    "field-accuracy": _build_field_accuracy,
    "icontains": _build_text("icontains"),
    "icontains-all": _build_texts("icontains_all"),
    "icontains-any": _build_texts("icontains_any"),
    "is-json": _build_is_json,
    "latency": _build_limit("latency", "threshold"),
    "regex": _build_regex,
    "skill-trigger": _build_skill_triggered,
    "starts-with": _build_text("starts_with"),
    "token-usage": _build_token_usage,
    "tool-trajectory": _build_tool_trajectory,
}
