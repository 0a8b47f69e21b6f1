"""What a test of an EVAL.yaml asks: its messages, with the text of attached files in them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_file import Block, EvalTest, Message
from evalq.formats.paths import Attachments, Place

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Said:
    """One message as it is sent, and the part of it that somebody typed."""

    role: str
    content: str
    typed: str


def conversation_of(test: EvalTest, attachments: Attachments) -> list[Said]:
    """All that is asked, the user's last; InputError for a test that cannot be asked like that."""
    messages = [*test.suite_messages, *test.messages, *_earlier_turns(test, attachments)]
    messages = _with_files(messages, test.input_files)
    said = [one for message in messages if (one := _said(message, test, attachments)) is not None]
    if not any(one.role == "user" for one in said):
        raise InputError(test.problem(f"test {called(test)} asks nothing", "add input:"))
    if said[-1].role != "user":
        remedy = "end its input with a message of the user's"
        raise InputError(test.problem(f"test {called(test)} does not end with the user's word", remedy))
    return said


def expected_text(test: EvalTest, attachments: Attachments) -> str | None:
    """The last message expected, files and all, structured content as JSON; None where nothing is."""
    messages = test.expected_messages
    if not messages and test.turns:
        messages = test.turns[-1].expected_messages
    texts = [text for message in messages if (text := _content(message, test, attachments)).strip()]
    return texts[-1] if texts else None


def expected_value(test: EvalTest) -> Any:
    """What is expected as a value: structured content itself, or the value of a text that is JSON."""
    messages = test.expected_messages or (test.turns[-1].expected_messages if test.turns else ())
    content = messages[-1].content if messages else None
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _earlier_turns(test: EvalTest, attachments: Attachments) -> list[Message]:
    """The turns of a conversation as if its expected answers had been given."""
    messages: list[Message] = []
    for number, turn in enumerate(test.turns, start=1):
        messages += turn.messages
        if number == len(test.turns):
            break
        if not turn.expected_messages:
            message = f"test {called(test)} is a conversation, and what is answered to turn {number} is open"
            raise InputError(test.problem(message, "add expected_output: to every turn but the last"))
        messages += [replace(one, role="assistant") for one in turn.expected_messages]
        if turn.assertions:
            lost = f"test {called(test)}: the checks of turn {number} are left out; only the last is answered"
            attachments.losses.note(test.problem(lost))
    return messages


def _with_files(messages: Sequence[Message], files: Iterable[str]) -> list[Message]:
    """Files of the whole test stand before the user's last word."""
    blocks = tuple(Block("file", path) for path in files)
    last = max((at for at, one in enumerate(messages) if one.role == "user"), default=None)
    if last is None or not blocks:
        return list(messages)
    mine = messages[last]
    return [*messages[:last], replace(mine, blocks=(*blocks, *mine.blocks)), *messages[last + 1 :]]


def _said(message: Message, test: EvalTest, attachments: Attachments) -> Said | None:
    if message.role not in ROLES:
        lost = f"test {called(test)}: a message of role {message.role!r} is left out"
        attachments.losses.note(Problem(lost, "", test.file, message.line or test.line))
        return None
    content = _content(message, test, attachments)
    return Said(message.role, content, message.text.strip()) if content.strip() else None


def _content(message: Message, test: EvalTest, attachments: Attachments) -> str:
    """Texts as they stand, files between blank lines; pictures are lost."""
    place = Place(test.file, message.line or test.line)
    content = ""
    for block in message.blocks:
        if block.type == "file":
            content += _apart(content, attachments.block(block.value, place))
        elif block.type == "text":
            content += _apart(content, block.value) if content.endswith("---") else block.value
        else:
            lost = f"test {called(test)}: a block of type {block.type!r} is left out"
            attachments.losses.note(Problem(lost, "", place.file, place.line))
    return content


def _apart(before: str, text: str) -> str:
    return f"\n\n{text}" if before.strip() and text else text


def called(test: EvalTest) -> str:
    """How a message names a test: by its id, or else by its place in the file."""
    return repr(test.id) if test.id is not None else f"number {test.index}"
