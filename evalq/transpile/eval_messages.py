"""Reads what is asked and what is expected: a text, a message, a list of messages, or structured content."""

from typing import Any

from evalq.transpile.eval_file import Block, Message
from evalq.transpile.nodes import Node
from evalq.transpile.value_text import text_of

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
