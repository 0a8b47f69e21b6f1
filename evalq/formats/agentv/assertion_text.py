"""Checks in plain words: one template for each type."""

from collections.abc import Callable, Iterable
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_yaml import TRIGGER, Assertion, read_trigger
from evalq.formats.document import text_of

Wording = Callable[[Assertion], list[str]]

_RUBRIC_KEYS = ("outcome", "criteria", "description", "value")


def worded(assertion: Assertion) -> tuple[list[str], list[Problem]]:
    """The check as lines of text, and what of it could not be said as it is."""
    if assertion.members:
        lines, problems = all_worded(assertion.members)
    else:
        wording = WORDINGS.get(assertion.type)
        lines = wording(assertion) if wording else _unknown(assertion)
        problems = [] if wording and lines else [_warning(assertion, lines)]
    is_denied = assertion.negate and assertion.type != TRIGGER  # a trigger knows what it wants
    return _negated(lines) if is_denied else lines, problems


def all_worded(assertions: Iterable[Assertion]) -> tuple[list[str], list[Problem]]:
    """The lines of several checks, one after the other, and their problems."""
    parts = [worded(assertion) for assertion in assertions]
    lines = [line for part, _ in parts for line in part]
    return lines, [problem for _, problems in parts for problem in problems]


def _warning(assertion: Assertion, lines: list[str]) -> Problem:
    if assertion.type in WORDINGS:
        remedy = "give it a prompt, rubrics or criteria"
        return assertion.problem(f"{assertion.written or assertion.type} says nothing: left out", remedy)
    kind = f"unknown type {assertion.written!r}" if assertion.written else "a check without a type"
    return assertion.problem(f"{kind}, taken as: {lines[0]}")


def _unknown(assertion: Assertion) -> list[str]:
    """Its criteria, its prompt or its name: whatever it has that a reader can make sense of."""
    for key in ("criteria", "prompt", "name", "metric", "description", "value", "include"):
        value = assertion.fields.get(key)
        if isinstance(value, str) and value.strip():
            return [value]
    if not assertion.written:
        raise InputError(assertion.problem("a check without a type", "add type:, for instance contains"))
    return [f"{assertion.written} assertion"]


def _negated(lines: list[str]) -> list[str]:
    if len(lines) == 1:
        return [f"Not the case: {lines[0]}"]
    return [f"Not all of these hold: {'; '.join(lines)}"] if lines else []


def _value(assertion: Assertion) -> Any:
    value = assertion.fields.get("value")
    if value is None:
        raise InputError(assertion.problem(f"{assertion.written} without a value", "add value:"))
    return value


def _with_value(template: str) -> Wording:
    return lambda assertion: [template.format(text_of(_value(assertion)))]


def _with_values(template: str) -> Wording:
    def wording(assertion: Assertion) -> list[str]:
        value = _value(assertion)
        values = value if isinstance(value, list) else [value]
        return [template.format(", ".join(f"'{text_of(one)}'" for one in values))]

    return wording


def _always(text: str) -> Wording:
    return lambda _: [text]


def _nothing(_: Assertion) -> list[str]:
    """A composite is its members; without any it says nothing."""
    return []


def _regex(assertion: Assertion) -> list[str]:
    flags = assertion.fields.get("flags")
    text = f"Output matches regex: {text_of(_value(assertion))}"
    return [f"{text} (flags: {text_of(flags)})" if flags else text]


def _rubrics(assertion: Assertion) -> list[str]:
    criteria = assertion.fields.get("criteria") or assertion.fields.get("rubrics")
    return _rubric_lines(criteria if isinstance(criteria, list) else [criteria])


def _rubric_lines(rubrics: Iterable[Any]) -> list[str]:
    return [line for rubric in rubrics if (line := _rubric(rubric))]


def _rubric(rubric: Any) -> str:
    """A line of text, or a mapping's outcome; one that only has ranges is what its best range says."""
    if not isinstance(rubric, dict):
        return "" if rubric is None else text_of(rubric)
    name = rubric.get("id")
    said = next((rubric[key] for key in _RUBRIC_KEYS if rubric.get(key)), None)
    if said is not None:
        is_denial = rubric.get("operator") == "contradiction"
        return f"Output does not contradict: {text_of(said)}" if is_denial else text_of(said)
    best = _best_range(rubric)
    return ": ".join(text_of(part) for part in (name, best) if part is not None)


def _best_range(rubric: dict[str, Any]) -> Any:
    """What the highest of its score ranges says; ranges are a list, or a mapping from the score on."""
    ranges = rubric.get("score_ranges")
    if isinstance(ranges, dict):
        return max(ranges.items(), key=lambda item: _score(item[0]))[1] if ranges else None
    outcomes = [one for one in ranges or () if isinstance(one, dict) and one.get("outcome")]
    return max(outcomes, key=_upper_end)["outcome"] if outcomes else None


def _upper_end(score_range: dict[str, Any]) -> float:
    ends = score_range.get("score_range")
    return max((_score(end) for end in ends), default=0.0) if isinstance(ends, list) else _score(ends)


def _score(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _llm_grader(assertion: Assertion) -> list[str]:
    """Its rubrics, each a line of its own, else its prompt; an llm-judge is its prompt first."""
    fields = assertion.fields
    prompt = _first_text(fields, "prompt", "value", "criteria")
    rubrics: list[Any] = next(
        (fields[key] for key in ("rubrics", "value", "criteria") if _is_list(fields, key)), []
    )
    by_prompt = [prompt] if prompt else []
    if assertion.written.replace("_", "-") == "llm-judge" and by_prompt:
        return by_prompt
    return _rubric_lines(rubrics) or by_prompt or _prompt_script(fields.get("prompt"))


def _first_text(fields: Any, *keys: str) -> str | None:
    return next(
        (fields[key] for key in keys if isinstance(fields.get(key), str) and fields[key].strip()), None
    )


def _is_list(fields: Any, key: str) -> bool:
    return isinstance(fields.get(key), list) and bool(fields[key])


def _prompt_script(prompt: Any) -> list[str]:
    command = prompt.get("command", prompt.get("script")) if isinstance(prompt, dict) else None
    return [f"Grader prompt made by: {_command(command)}"] if command else []


def _command(command: Any) -> str:
    return " ".join(text_of(part) for part in command) if isinstance(command, list) else text_of(command)


def _code_grader(assertion: Assertion) -> list[str]:
    fields = assertion.fields
    command = fields.get("command") or fields.get("script")
    subject = assertion.name or (_command(command) if command else "") or "Code judge assertion"
    description = _first_text(fields, "description")
    return [f"{subject}: {description}" if description else subject]


_TRAJECTORIES = {
    "any_order": "Agent called tools in any order: {}",
    "superset": "Agent called at least these tools: {}",
    "subset": "Agent called no tools but these: {}",
}


def _tool_trajectory(assertion: Assertion) -> list[str]:
    tools = _parts(assertion.fields.get("expected"), "tool")
    minimums = assertion.fields.get("minimums")
    if tools:
        template = _TRAJECTORIES.get(str(assertion.fields.get("mode")), "Agent called tools in order: {}")
        return [template.format(", ".join(tools))]
    if isinstance(minimums, dict) and minimums:
        counts = (f"{tool} (at least {text_of(count)})" for tool, count in minimums.items())
        return [f"Agent called tools: {', '.join(counts)}"]
    return ["Agent followed expected tool trajectory"]


def _field_accuracy(assertion: Assertion) -> list[str]:
    paths = _parts(assertion.fields.get("fields"), "path")
    return [f"Fields {', '.join(paths)} match expected values" if paths else "Fields match expected values"]


def _parts(entries: Any, key: str) -> list[str]:
    """What stands under `key` in each entry of a list; an entry that is a bare text stands for itself."""
    found = [entry.get(key) if isinstance(entry, dict) else entry for entry in _entries(entries)]
    return [text_of(part) for part in found if part]


def _entries(entries: Any) -> list[Any]:
    return entries if isinstance(entries, list) else []


def _limit(key: str, template: str, otherwise: str) -> Wording:
    def wording(assertion: Assertion) -> list[str]:
        limit = assertion.fields.get(key)
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        return [template.format(text_of(limit)) if is_number else otherwise]

    return wording


def _skill_trigger(assertion: Assertion) -> list[str]:
    """Only inside a composite: elsewhere a trigger is no line but `should_trigger`."""
    trigger = read_trigger(assertion)
    skill = f"the skill '{trigger.skill}'" if trigger.skill else "the skill"
    return [f"Agent uses {skill}" if trigger.should_trigger else f"Agent does not use {skill}"]


WORDINGS: dict[str, Wording] = {
    "code-grader": _code_grader,
    "composite": _nothing,
    "contains": _with_value("Output contains '{}'"),
    "contains-all": _with_values("Output contains all of: {}"),
    "contains-any": _with_values("Output contains any of: {}"),
    "cost": _limit("budget", "Cost under ${}", "Cost within budget"),
    "ends-with": _with_value("Output ends with '{}'"),
    "equals": _with_value("Output exactly equals: {}"),
    "execution-metrics": _always("Execution within metric bounds"),
    "field-accuracy": _field_accuracy,
    "icontains": _with_value("Output contains (case-insensitive) '{}'"),
    "icontains-all": _with_values("Output contains (case-insensitive) all of: {}"),
    "icontains-any": _with_values("Output contains (case-insensitive) any of: {}"),
    "is-json": _always("Output is valid JSON"),
    "latency": _limit("threshold", "Response time under {}ms", "Response time within threshold"),
    "llm-grader": _llm_grader,
    "regex": _regex,
    "rubrics": _rubrics,
    "skill-trigger": _skill_trigger,
    "starts-with": _with_value("Output starts with '{}'"),
    "token-usage": _always("Token usage within limits"),
    "tool-trajectory": _tool_trajectory,
}
