"""The sections that suites, tests and turns of an EVAL.yaml share: assertions, execution, messages."""

from collections.abc import Iterator
from typing import Any

from evalq.formats.agentv.eval_yaml import Assertion, Block, Execution, PromptMessage, Trials
from evalq.formats.document import Node, text_of

ASSERTION_KEYS = ("assertions", "assert", "evaluators", "graders")
_VALUE_KEYS = ("value", "text", "path")

TYPES = frozenset(
    {
        "code-grader",
        "composite",
        "contains",
        "contains-all",
        "contains-any",
        "cost",
        "ends-with",
        "equals",
        "execution-metrics",
        "field-accuracy",
        "icontains",
        "icontains-all",
        "icontains-any",
        "include",
        "is-json",
        "latency",
        "llm-grader",
        "regex",
        "rubrics",
        "skill-trigger",
        "starts-with",
        "token-usage",
        "tool-trajectory",
    }
)
"""Every type of agentv 4.42."""

_ALIASES = {
    "agent-judge": "llm-grader",
    "assert-set": "composite",
    "code": "code-grader",
    "code-judge": "code-grader",
    "llm-judge": "llm-grader",
    "llm-rubric": "llm-grader",
    "rubric": "rubrics",
    "script": "code-grader",
    "skill-used": "skill-trigger",
    "trigger-judge": "skill-trigger",
}


def read_assertions(owner: Node) -> tuple[Assertion, ...]:
    """Read every assertion of a suite, a test or a turn; one repeated under a second key counts once."""
    found: list[Assertion] = []
    rubrics = owner.get("rubrics")
    if rubrics is not None:
        fields = {"criteria": [item.value for item in rubrics.items()]}
        found.append(Assertion("rubrics", "rubrics", fields, file=rubrics.file, line=rubrics.line))
    seen: set[str] = set()
    for entries in _find_lists(owner):
        written = [text_of(entry.value) for entry in entries]
        for entry, text in zip(entries, written, strict=True):
            if text not in seen:
                found.append(read_assertion(entry))
        seen.update(written)
    return tuple(found)


def _find_lists(owner: Node) -> Iterator[list[Node]]:
    for place in (owner, owner.get("execution")):
        for key in ASSERTION_KEYS:
            entries = place.get(key) if place else None
            if entries is not None:
                yield entries.items()


def read_assertion(node: Node) -> Assertion:
    """Read one assertion; a bare line of text is a rubric."""
    if isinstance(node.value, str):
        return Assertion("rubrics", "", {"criteria": node.value}, file=node.file, line=node.line)
    fields = node.mapping()
    written = _read_type(node)
    kind, is_negated = normalise_type(written)
    members = node.get_items(*ASSERTION_KEYS) if kind == "composite" else []
    return Assertion(
        type=kind,
        written=written,
        fields=fields,
        members=tuple(read_assertion(member) for member in members),
        name=node.get_text("name", "metric"),
        weight=node.get_number("weight"),
        required=_read_required(node),
        min_score=node.get_number("min_score"),
        negate=is_negated != bool(node.get_flag("negate")),
        file=node.file,
        line=node.line,
    )


def _read_type(node: Node) -> str:
    kind = node.get("type")
    if kind is not None:
        return kind.text()
    return "include" if node.get("include") else ""


def normalise_type(written: str) -> tuple[str, bool]:
    """Return the type as agentv 4.42 names it, and whether its name negates it: not-contains."""
    name = _resolve_alias(written)
    if name in TYPES or not name.startswith("not-"):
        return name, False
    negated = _resolve_alias(name.removeprefix("not-"))
    if negated in TYPES:
        return negated, True
    return name, False


def _resolve_alias(name: str) -> str:
    dashed = name.strip().replace("_", "-")
    return _ALIASES.get(dashed, dashed)


def _read_required(node: Node) -> bool | float | None:
    required = node.get("required")
    if required is None:
        return None
    if isinstance(required.value, bool):
        return required.value
    return required.number()


def read_execution(owner: Node) -> Execution:
    """Read the execution block of a suite or a test; some of its keys may also be beside it."""
    block = owner.get("execution") or Node(owner.located, owner.loc, {})
    fields = block.mapping()
    targets = block.get_items("targets") or owner.get_items("targets")
    threshold = block.get_share("threshold")
    if threshold is None:
        threshold = owner.get_share("threshold")
    return Execution(
        target=_read_target(block) or _read_target(owner),
        targets=tuple(item.value for item in targets),
        workers=block.get_count("workers"),
        skip_defaults=bool(block.get_flag("skip_defaults", "skipDefaults")),
        cache=block.get_flag("cache"),
        trials=_read_trials(block) or _read_trials(owner),
        budget_usd=block.get_number("budget_usd", "budgetUsd"),
        fail_on_error=block.get_flag("fail_on_error", "failOnError"),
        threshold=threshold,
        fields=fields,
    )


def _read_target(place: Node) -> str | None:
    """Read the one target; one written as a mapping is left to `targets`."""
    target = place.get("target")
    return target.value if target and isinstance(target.value, str) else None


def _read_trials(place: Node) -> Trials | None:
    block = place.get("trials", "repeat", "runs")
    if block is None:
        return None
    if not isinstance(block.value, dict):
        return Trials(block.count())
    count, strategy = block.get("count"), block.get("strategy")
    if count is None:
        block.refuse(f"{block.name} without a count", "write count: 3")
    return Trials(
        count.count(),
        strategy.text() if strategy else None,
        block.get_number("cost_limit_usd", "costLimitUsd"),
    )


def read_messages(node: Node | None, role: str = "user") -> tuple[PromptMessage, ...]:
    """Read messages; anything else becomes the content of one message of this role."""
    if node is None:
        return ()
    if isinstance(node.value, list) and _are_messages(node.value):
        return tuple(_read_message(item, role) for item in node.items())
    if _has_key(node.value, "role"):
        return (_read_message(node, role),)
    return (PromptMessage(role, node.value, _read_blocks(node), node.line),)


def _are_messages(items: list[Any]) -> bool:
    """Tell messages from the content of one message: blocks, or structured data."""
    if any(_has_key(item, "role") for item in items):
        return True
    return bool(items) and all(_has_key(item, "content") for item in items)


def _has_key(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _read_message(node: Node, role: str) -> PromptMessage:
    node.mapping()
    written = node.get("role")
    content = node.get("content")
    return PromptMessage(
        role=written.text() if written else role,
        content=content.value if content else None,
        blocks=_read_blocks(content) if content else (),
        line=node.line,
    )


def _read_blocks(content: Node) -> tuple[Block, ...]:
    if isinstance(content.value, list) and any(_is_block(item) for item in content.value):
        return tuple(_read_block(item) for item in content.items())
    return (Block("text", text_of(content.value)),)


def _is_block(value: Any) -> bool:
    return _has_key(value, "type") and any(key in value for key in _VALUE_KEYS)


def _read_block(node: Node) -> Block:
    if isinstance(node.value, str):
        return Block("text", node.value)
    kind, value = node.get("type"), node.get(*_VALUE_KEYS)
    if kind is None or value is None:
        node.refuse("a block without a type or a value", "write type: text or type: file, and value:")
    return Block(kind.text(), text_of(value.value))
