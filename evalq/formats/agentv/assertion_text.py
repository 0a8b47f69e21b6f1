"""Describes the assertions of an EVAL.yaml in plain sentences, with one template for each type."""

from collections.abc import Callable, Iterable
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_yaml import TRIGGER, Assertion, read_trigger
from evalq.formats.document import as_list, text_of

Describe = Callable[[Assertion], list[str]]

_OUTCOME_KEYS = ("outcome", "criteria", "description", "value")
_FALLBACK_KEYS = ("criteria", "prompt", "name", "metric", "description", "value", "include")
_TRAJECTORIES = {
    "any_order": "Agent called tools in any order: {}",
    "superset": "Agent called at least these tools: {}",
    "subset": "Agent called no tools but these: {}",
}


def describe_assertions(assertions: Iterable[Assertion]) -> tuple[list[str], list[Problem]]:
    """Describe several assertions, and warn about what cannot be described exactly."""
    lines: list[str] = []
    warnings: list[Problem] = []
    for assertion in assertions:
        own_lines, own_warnings = describe_assertion(assertion)
        lines += own_lines
        warnings += own_warnings
    return lines, warnings


def describe_assertion(assertion: Assertion) -> tuple[list[str], list[Problem]]:
    """Describe one assertion in lines of text, and warn about what cannot be described exactly."""
    warnings: list[Problem] = []
    describe = TEMPLATES.get(assertion.type)
    if assertion.members:
        lines, warnings = describe_assertions(assertion.members)
    elif describe is None:
        lines = _describe_unknown(assertion)
        kind = f"unknown type {assertion.written!r}" if assertion.written else "a check without a type"
        warnings.append(assertion.problem(f"{kind}, taken as: {lines[0]}"))
    else:
        lines = describe(assertion)
        if not lines:
            message = f"{assertion.written or assertion.type} says nothing: left out"
            warnings.append(assertion.problem(message, "give it a prompt, rubrics or criteria"))
    if assertion.negate and assertion.type != TRIGGER:  # a trigger's own line says whether it is wanted
        lines = _negate(lines)
    return lines, warnings


def _describe_unknown(assertion: Assertion) -> list[str]:
    """Use the criteria, the prompt or the name: the first field that a reader can make sense of."""
    text = assertion.first_text(*_FALLBACK_KEYS)
    if text:
        return [text]
    if not assertion.written:
        raise InputError(assertion.problem("a check without a type", "add type:, for instance contains"))
    return [f"{assertion.written} assertion"]


def _negate(lines: list[str]) -> list[str]:
    if not lines:
        return []
    if len(lines) == 1:
        return [f"Not the case: {lines[0]}"]
    return [f"Not all of these hold: {'; '.join(lines)}"]


def _describe_value(template: str) -> Describe:
    return lambda assertion: [template.format(text_of(assertion.require_value()))]


def _describe_values(template: str) -> Describe:
    def describe(assertion: Assertion) -> list[str]:
        values = [f"'{text_of(value)}'" for value in as_list(assertion.require_value())]
        return [template.format(", ".join(values))]

    return describe


def _describe_limit(key: str, template: str, otherwise: str) -> Describe:
    def describe(assertion: Assertion) -> list[str]:
        limit = assertion.fields.get(key)
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        return [template.format(text_of(limit)) if is_number else otherwise]

    return describe


def _describe_always(text: str) -> Describe:
    return lambda _: [text]


def _describe_composite(_: Assertion) -> list[str]:
    """Describe a composite without members: it says nothing."""
    return []


def _describe_regex(assertion: Assertion) -> list[str]:
    flags = assertion.fields.get("flags")
    text = f"Output matches regex: {text_of(assertion.require_value())}"
    return [f"{text} (flags: {text_of(flags)})" if flags else text]


def _describe_rubrics(assertion: Assertion) -> list[str]:
    criteria = assertion.fields.get("criteria") or assertion.fields.get("rubrics")
    return _describe_items(as_list(criteria))


def _describe_items(rubrics: Iterable[Any]) -> list[str]:
    lines = [_describe_item(rubric) for rubric in rubrics]
    return [line for line in lines if line]


def _describe_item(rubric: Any) -> str:
    """Describe a line of text, or a mapping by its outcome, else by its best score range."""
    if rubric is None:
        return ""
    if not isinstance(rubric, dict):
        return text_of(rubric)
    for key in _OUTCOME_KEYS:
        if rubric.get(key):
            outcome = text_of(rubric[key])
            is_denial = rubric.get("operator") == "contradiction"
            return f"Output does not contradict: {outcome}" if is_denial else outcome
    parts = (rubric.get("id"), _best_outcome(rubric.get("score_ranges")))
    return ": ".join(text_of(part) for part in parts if part is not None)


def _best_outcome(ranges: Any) -> Any:
    """Return the outcome of the highest range, from a list of ranges or a mapping from scores."""
    if isinstance(ranges, dict):
        return max(ranges.items(), key=lambda item: _to_score(item[0]))[1] if ranges else None
    outcomes = [one for one in ranges or () if isinstance(one, dict) and one.get("outcome")]
    return max(outcomes, key=_highest_score)["outcome"] if outcomes else None


def _highest_score(score_range: dict[str, Any]) -> float:
    ends = score_range.get("score_range")
    if isinstance(ends, list):
        return max((_to_score(end) for end in ends), default=0.0)
    return _to_score(ends)


def _to_score(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _describe_llm_grader(assertion: Assertion) -> list[str]:
    """Describe each rubric on its own line, else the prompt; an llm-judge is its prompt first."""
    fields = assertion.fields
    prompt = assertion.first_text("prompt", "value", "criteria")
    if prompt and assertion.written.replace("_", "-") == "llm-judge":
        return [prompt]
    lines = _describe_items(assertion.first_list("rubrics", "value", "criteria"))
    if lines:
        return lines
    if prompt:
        return [prompt]
    written = fields.get("prompt")
    command = written.get("command", written.get("script")) if isinstance(written, dict) else None
    return [f"Grader prompt made by: {_join_command(command)}"] if command else []


def _describe_code_grader(assertion: Assertion) -> list[str]:
    fields = assertion.fields
    command = fields.get("command") or fields.get("script")
    subject = assertion.name or (_join_command(command) if command else "") or "Code judge assertion"
    description = assertion.first_text("description")
    return [f"{subject}: {description}" if description else subject]


def _join_command(command: Any) -> str:
    return " ".join(text_of(part) for part in as_list(command))


def _describe_tool_trajectory(assertion: Assertion) -> list[str]:
    tools = _list_parts(assertion.fields.get("expected"), "tool")
    if tools:
        template = _TRAJECTORIES.get(str(assertion.fields.get("mode")), "Agent called tools in order: {}")
        return [template.format(", ".join(tools))]
    minimums = assertion.fields.get("minimums")
    if isinstance(minimums, dict) and minimums:
        counts = [f"{tool} (at least {text_of(count)})" for tool, count in minimums.items()]
        return [f"Agent called tools: {', '.join(counts)}"]
    return ["Agent followed expected tool trajectory"]


def _describe_field_accuracy(assertion: Assertion) -> list[str]:
    paths = _list_parts(assertion.fields.get("fields"), "path")
    return [f"Fields {', '.join(paths)} match expected values" if paths else "Fields match expected values"]


def _describe_skill_trigger(assertion: Assertion) -> list[str]:
    """Describe a trigger inside a composite; elsewhere a trigger becomes `should_trigger`."""
    trigger = read_trigger(assertion)
    skill = f"the skill '{trigger.skill}'" if trigger.skill else "the skill"
    return [f"Agent uses {skill}" if trigger.should_trigger else f"Agent does not use {skill}"]


def _list_parts(entries: Any, key: str) -> list[str]:
    """Return the value of `key` in each entry of a list; a bare text is its own value."""
    parts: list[str] = []
    for entry in entries if isinstance(entries, list) else ():
        part = entry.get(key) if isinstance(entry, dict) else entry
        if part:
            parts.append(text_of(part))
    return parts


TEMPLATES: dict[str, Describe] = {
    "code-grader": _describe_code_grader,
    "composite": _describe_composite,
    "contains": _describe_value("Output contains '{}'"),
    "contains-all": _describe_values("Output contains all of: {}"),
    "contains-any": _describe_values("Output contains any of: {}"),
    "cost": _describe_limit("budget", "Cost under ${}", "Cost within budget"),
    "ends-with": _describe_value("Output ends with '{}'"),
    "equals": _describe_value("Output exactly equals: {}"),
    "execution-metrics": _describe_always("Execution within metric bounds"),
    "field-accuracy": _describe_field_accuracy,
    "icontains": _describe_value("Output contains (case-insensitive) '{}'"),
    "icontains-all": _describe_values("Output contains (case-insensitive) all of: {}"),
    "icontains-any": _describe_values("Output contains (case-insensitive) any of: {}"),
    "is-json": _describe_always("Output is valid JSON"),
    "latency": _describe_limit("threshold", "Response time under {}ms", "Response time within threshold"),
    "llm-grader": _describe_llm_grader,
    "regex": _describe_regex,
    "rubrics": _describe_rubrics,
    "skill-trigger": _describe_skill_trigger,
    "starts-with": _describe_value("Output starts with '{}'"),
    "token-usage": _describe_always("Token usage within limits"),
    "tool-trajectory": _describe_tool_trajectory,
}
