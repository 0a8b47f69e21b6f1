"""Reads checks: a list of mappings and bare lines of text, under any of the keys they have had."""

from collections.abc import Iterator

from evalq.transpile.dialects import ASSERTION_KEYS, normal_type
from evalq.transpile.eval_file import Assertion
from evalq.transpile.nodes import Node
from evalq.transpile.value_text import text_of


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
