"""The words agentv's own first transpiler has for each type of check."""

from collections.abc import Callable
from typing import Any

from evalq.errors import InputError
from evalq.transpile.javascript import UNDEFINED, as_text, is_number, is_truthy, join

Wording = Callable[[Any], list[str]]


def property_of(owner: Any, key: str) -> Any:
    """What `owner.key` is in JavaScript: undefined on a text or a number, an error on null."""
    if owner is None:
        raise InputError(f"Cannot read properties of null (reading '{key}')")
    return owner.get(key, UNDEFINED) if isinstance(owner, dict) else UNDEFINED


def wording(entry: Any) -> list[str]:
    """The lines of one check; none where agentv drops it without a word."""
    kind = property_of(entry, "type")
    words = _BY_NAME.get(kind) if isinstance(kind, str) else None
    return words(entry) if words else _unknown(entry, kind)


def _unknown(entry: Any, kind: Any) -> list[str]:
    for key in ("criteria", "prompt"):
        text = property_of(entry, key)
        if isinstance(text, str):
            return [text]
    return [f"{as_text(kind)} assertion"] if is_truthy(kind) else []


def _with_value(template: str) -> Wording:
    return lambda entry: [template.format(as_text(property_of(entry, "value")))]


def _with_values(template: str) -> Wording:
    def words(entry: Any) -> list[str]:
        value = property_of(entry, "value")
        return [template.format(join(value, "', '") if isinstance(value, list) else as_text(value))]

    return words


def _only_text(key: str) -> Wording:
    def words(entry: Any) -> list[str]:
        text = property_of(entry, key)
        return [text] if isinstance(text, str) else []

    return words


def _always(text: str) -> Wording:
    return lambda _: [text]


def _agent_judge(entry: Any) -> list[str]:
    rubrics = property_of(entry, "rubrics")
    if not isinstance(rubrics, list) or not rubrics:
        return _only_text("prompt")(entry)
    outcomes = [_first_written(rubric, "outcome", "criteria", "id") for rubric in rubrics]
    return [outcome for outcome in outcomes if isinstance(outcome, str)]


def _first_written(owner: Any, *keys: str) -> Any:
    """`a ?? b ?? c`: the first that is neither null nor undefined."""
    found = [property_of(owner, key) for key in keys]
    return next((value for value in found if value is not None and value is not UNDEFINED), UNDEFINED)


def _code_judge(entry: Any) -> list[str]:
    command = property_of(entry, "command")
    name = _first_written(entry, "name")
    if name is UNDEFINED:
        name = join(command, " ") if isinstance(command, list) else _first_written(entry, "command")
    if not is_truthy(name):
        return ["Code judge assertion"]
    description = property_of(entry, "description")
    return [as_text(name) + (f": {description}" if isinstance(description, str) else "")]


def _listed(key: str, part: str, template: str, otherwise: str) -> Wording:
    def words(entry: Any) -> list[str]:
        entries = property_of(entry, key)
        found = [property_of(one, part) for one in (entries if isinstance(entries, list) else [])]
        text = join([value for value in found if is_truthy(value)], ", ")
        return [template.format(text) if text else otherwise]

    return words


def _limit(key: str, template: str, otherwise: str) -> Wording:
    def words(entry: Any) -> list[str]:
        limit = property_of(entry, key)
        return [template.format(as_text(limit)) if is_number(limit) else otherwise]

    return words


WORDINGS: dict[str, Wording] = {
    "agent-judge": _agent_judge,
    "code-judge": _code_judge,
    "contains": _with_value("Output contains '{}'"),
    "contains-all": _with_values("Output contains all of: '{}'"),
    "contains-any": _with_values("Output contains any of: '{}'"),
    "cost": _limit("budget", "Cost under ${}", "Cost within budget"),
    "ends-with": _with_value("Output ends with '{}'"),
    "equals": _with_value("Output exactly equals: {}"),
    "execution-metrics": _always("Execution within metric bounds"),
    "field-accuracy": _listed(
        "fields", "path", "Fields {} match expected values", "Fields match expected values"
    ),
    "icontains": _with_value("Output contains (case-insensitive) '{}'"),
    "is-json": _always("Output is valid JSON"),
    "latency": _limit("threshold", "Response time under {}ms", "Response time within threshold"),
    "llm-judge": _only_text("prompt"),
    "regex": _with_value("Output matches regex: {}"),
    "rubrics": _only_text("criteria"),
    "starts-with": _with_value("Output starts with '{}'"),
    "token-usage": _always("Token usage within limits"),
    "tool-trajectory": _listed(
        "expected", "tool", "Agent called tools in order: {}", "Agent followed expected tool trajectory"
    ),
}

# Every name with a dash may be written with underscores; the trigger's, which has no words, may not.
_BY_NAME = {**WORDINGS, **{name.replace("-", "_"): words for name, words in WORDINGS.items()}}
