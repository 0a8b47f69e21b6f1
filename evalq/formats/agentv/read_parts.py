"""A part of a document that knows its line, and refuses to be read as what it is not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_file import (
    ASSERTION_KEYS,
    Assertion,
    Block,
    Execution,
    Message,
    Trials,
    normal_type,
    text_of,
)


@dataclass(frozen=True)
class Node:
    """A value, and where it stands in the document it was read from."""

    located: Located
    loc: Loc
    value: Any

    @property
    def file(self) -> str:
        """The file it was read from."""
        return self.located.file

    @property
    def line(self) -> int:
        """The line it was written on; the first of an empty file."""
        return self.located.line_of(self.loc) or 1

    @property
    def name(self) -> str:
        """The key it stands under, or its place in the list there."""
        *above, last = self.loc or ("the document",)
        if isinstance(last, str):
            return last
        return f"entry {last + 1} of {above[-1] if above else 'the list'}"

    def get(self, *names: str) -> "Node | None":
        """What stands under the first of these keys that holds anything."""
        for name in names:
            value = self.value.get(name) if isinstance(self.value, dict) else None
            if value is not None:
                return Node(self.located, (*self.loc, name), value)
        return None

    def items(self) -> list["Node"]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            self.refuse(f"{self.name} is not a list", "begin each entry with '- '")
        return [Node(self.located, (*self.loc, i), value) for i, value in enumerate(self.value)]

    def mapping(self) -> dict[str, Any]:
        """The keys and values of a mapping."""
        if not isinstance(self.value, dict):
            self.refuse(f"{self.name} is not a mapping", "write it as 'key: value' lines")
        return self.value

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self.refuse(f"{self.name} is not text", "put it in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(item.text() for item in self.items())

    def number(self) -> float:
        """A number that is not negative."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or self.value < 0:
            self.refuse(f"{self.name} is not a number of 0 or more", "write one, without quotes")
        number: float = self.value
        return number

    def count(self) -> int:
        """A whole number from 1 on."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 1:
            self.refuse(f"{self.name} is not a whole number from 1 on", "write one, without quotes")
        return self.value

    def share(self) -> float:
        """A number from 0 to 1."""
        number = self.number()
        if number > 1:
            self.refuse(f"{self.name} is not from 0 to 1", "write for instance 0.5")
        return number

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse(f"{self.name} is neither true nor false", "write true or false, without quotes")
        return self.value

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Something to mend on this line."""
        return Problem(message, remedy, self.file, self.line)

    def refuse(self, message: str, remedy: str) -> NoReturn:
        """End the reading here."""
        raise InputError(self.problem(message, remedy))


def root(located: Located) -> Node:
    """The whole document."""
    return Node(located, (), located.value)


def read_assertions(owner: Node) -> tuple[Assertion, ...]:
    """Every check of a test, a turn or a suite; one written under two keys alike counts once."""
    found = list(_inline_rubrics(owner))
    seen: set[str] = set()
    for entries in _lists(owner):
        written = [text_of(entry.value) for entry in entries]
        found += [
            read_assertion(entry) for entry, text in zip(entries, written, strict=True) if text not in seen
        ]
        seen.update(written)
    return tuple(found)


def read_assertion(node: Node) -> Assertion:
    """One check. A bare line of text is a rubric."""
    if isinstance(node.value, str):
        return Assertion("rubrics", "", {"criteria": node.value}, file=node.file, line=node.line)
    fields = node.mapping()
    written = _written_type(node)
    kind, denied = normal_type(written)
    negate = node.get("negate")
    return Assertion(
        type=kind,
        written=written,
        fields=fields,
        members=_members(node) if kind == "composite" else (),
        name=_text(node, "name", "metric"),
        weight=_number(node, "weight"),
        required=_required(node),
        min_score=_number(node, "min_score"),
        negate=denied != (negate.flag() if negate else False),
        file=node.file,
        line=node.line,
    )


def _lists(owner: Node) -> Iterator[list[Node]]:
    places = (owner, owner.get("execution"))
    for place in places:
        for key in ASSERTION_KEYS:
            entries = place.get(key) if place else None
            if entries is not None:
                yield entries.items()


def _inline_rubrics(owner: Node) -> Iterator[Assertion]:
    rubrics = owner.get("rubrics")
    if rubrics is not None:
        fields = {"criteria": [item.value for item in rubrics.items()]}
        yield Assertion("rubrics", "rubrics", fields, file=rubrics.file, line=rubrics.line)


def _written_type(node: Node) -> str:
    kind = node.get("type")
    if kind is not None:
        return kind.text()
    return "include" if node.get("include") else ""


def _members(node: Node) -> tuple[Assertion, ...]:
    members = node.get(*ASSERTION_KEYS)
    return tuple(read_assertion(item) for item in members.items()) if members else ()


def _required(node: Node) -> bool | float | None:
    required = node.get("required")
    if required is None or isinstance(required.value, bool):
        return required.value if required else None
    return required.number()


def _text(node: Node, *names: str) -> str | None:
    found = node.get(*names)
    return text_of(found.value) if found else None


def _number(node: Node, name: str) -> float | None:
    found = node.get(name)
    return found.number() if found else None


def read_execution(owner: Node) -> Execution:
    """The execution block of a suite or a test; target, targets and threshold may stand beside it."""
    block = owner.get("execution") or Node(owner.located, owner.loc, {})
    fields = block.mapping()
    workers, cache = block.get("workers"), block.get("cache")
    fail_on_error = block.get("fail_on_error", "failOnError")
    skip_defaults = block.get("skip_defaults", "skipDefaults")
    return Execution(
        target=_target(block) or _target(owner),
        targets=_targets(block) or _targets(owner),
        workers=workers.count() if workers else None,
        skip_defaults=skip_defaults.flag() if skip_defaults else False,
        cache=cache.flag() if cache else None,
        trials=_trials(block) or _trials(owner),
        budget_usd=_execution_number(block, "budget_usd", "budgetUsd"),
        fail_on_error=fail_on_error.flag() if fail_on_error else None,
        threshold=_share(block) if block.get("threshold") else _share(owner),
        fields=fields,
    )


def _target(place: Node) -> str | None:
    """The one target; one written as a mapping is left to `targets`."""
    target = place.get("target")
    return target.value if target and isinstance(target.value, str) else None


def _targets(place: Node) -> tuple[Any, ...]:
    targets = place.get("targets")
    return tuple(item.value for item in targets.items()) if targets else ()


def _trials(place: Node) -> Trials | None:
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
        _execution_number(block, "cost_limit_usd", "costLimitUsd"),
    )


def _share(place: Node) -> float | None:
    threshold = place.get("threshold")
    return threshold.share() if threshold else None


def _execution_number(place: Node, *names: str) -> float | None:
    found = place.get(*names)
    return found.number() if found else None


_VALUE_KEYS = ("value", "text", "path")


def read_messages(node: Node | None, role: str = "user") -> tuple[Message, ...]:
    """The messages; what is not written as one becomes the content of one message of this role."""
    if node is None:
        return ()
    if isinstance(node.value, list) and _are_messages(node.value):
        return tuple(_message(item, role) for item in node.items())
    if _has(node.value, "role"):
        return (_message(node, role),)
    return (Message(role, node.value, _blocks(node), node.line),)


def _are_messages(items: list[Any]) -> bool:
    """False for the content of one message: blocks, or structured data."""
    return any(_has(item, "role") for item in items) or (
        bool(items) and all(_has(item, "content") for item in items)
    )


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _message(node: Node, role: str) -> Message:
    node.mapping()
    written = node.get("role")
    content = node.get("content")
    return Message(
        role=written.text() if written else role,
        content=content.value if content else None,
        blocks=_blocks(content) if content else (),
        line=node.line,
    )


def _blocks(content: Node) -> tuple[Block, ...]:
    if isinstance(content.value, list) and any(_is_block(item) for item in content.value):
        return tuple(_block(item) for item in content.items())
    return (Block("text", text_of(content.value)),)


def _is_block(value: Any) -> bool:
    return _has(value, "type") and any(key in value for key in _VALUE_KEYS)


def _block(node: Node) -> Block:
    if isinstance(node.value, str):
        return Block("text", node.value)
    kind, value = node.get("type"), node.get(*_VALUE_KEYS)
    if kind is None or value is None:
        node.refuse("a block without a type or a value", "write type: text or type: file, and value:")
    return Block(kind.text(), text_of(value.value))
