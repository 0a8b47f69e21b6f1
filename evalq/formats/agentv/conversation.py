"""The conversation that a test of an EVAL.yaml sends, attached files included, and the answer it expects."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_yaml import Block, EvalTest, PromptMessage
from evalq.formats.paths import Attachments, Place

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class SentMessage:
    """One message as it is sent; `typed` is its text without the attached files."""

    role: str
    content: str
    typed: str


def build_conversation(test: EvalTest, attachments: Attachments) -> list[SentMessage]:
    """Build all messages of a test; raise InputError unless the last one is the user's."""
    messages = [*test.suite_messages, *test.messages, *_replay_turns(test, attachments)]
    sent: list[SentMessage] = []
    for message in _attach_files(messages, test.input_files):
        if message.role not in ROLES:
            lost = f"test {test_label(test)}: a message of role {message.role!r} is left out"
            attachments.warnings.add(Problem(lost, "", test.file, message.line or test.line))
            continue
        content = _build_content(message, test, attachments)
        if content.strip():
            sent.append(SentMessage(message.role, content, message.text.strip()))
    if not any(message.role == "user" for message in sent):
        raise InputError(test.problem(f"test {test_label(test)} asks nothing", "add input:"))
    if sent[-1].role != "user":
        remedy = "end its input with a message of the user's"
        raise InputError(test.problem(f"test {test_label(test)} does not end with the user's word", remedy))
    return sent


def expected_text(test: EvalTest, attachments: Attachments) -> str | None:
    """Return the last expected message that is not empty, with its files; structured content is JSON."""
    texts = [_build_content(message, test, attachments) for message in _expected_messages(test)]
    written = [text for text in texts if text.strip()]
    return written[-1] if written else None


def expected_value(test: EvalTest) -> Any:
    """Return the expected answer as a value: structured content itself, or a text parsed as JSON."""
    messages = _expected_messages(test)
    content = messages[-1].content if messages else None
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def test_label(test: EvalTest) -> str:
    """Name a test in a message: by its id, else by its number in the file."""
    return repr(test.id) if test.id is not None else f"number {test.index}"


def _expected_messages(test: EvalTest) -> tuple[PromptMessage, ...]:
    if not test.expected_messages and test.turns:
        return test.turns[-1].expected_messages
    return test.expected_messages


def _replay_turns(test: EvalTest, attachments: Attachments) -> list[PromptMessage]:
    """Return the turns of a conversation as if the expected answers had been given."""
    messages: list[PromptMessage] = []
    for number, turn in enumerate(test.turns, start=1):
        messages += turn.messages
        if number == len(test.turns):
            break
        label = test_label(test)
        if not turn.expected_messages:
            message = f"test {label} is a conversation, and what is answered to turn {number} is open"
            raise InputError(test.problem(message, "add expected_output: to every turn but the last"))
        messages += [replace(one, role="assistant") for one in turn.expected_messages]
        if turn.assertions:
            lost = f"test {label}: the checks of turn {number} are left out; only the last is answered"
            attachments.warnings.add(test.problem(lost))
    return messages


def _attach_files(messages: Sequence[PromptMessage], files: Iterable[str]) -> list[PromptMessage]:
    """Put the files of the whole test at the beginning of the user's last message."""
    attached = list(messages)
    blocks = tuple(Block("file", path) for path in files)
    for at in reversed(range(len(attached))):
        if attached[at].role == "user":
            attached[at] = replace(attached[at], blocks=(*blocks, *attached[at].blocks))
            break
    return attached


def _build_content(message: PromptMessage, test: EvalTest, attachments: Attachments) -> str:
    """Join the blocks of a message, with blank lines around files; pictures are left out."""
    place = Place(test.file, message.line or test.line)
    content = ""
    for block in message.blocks:
        if block.type == "file":
            content += _set_apart(content, attachments.block(block.value, place))
        elif block.type == "text":
            content += _set_apart(content, block.value) if content.endswith("---") else block.value
        else:
            lost = f"test {test_label(test)}: a block of type {block.type!r} is left out"
            attachments.warnings.add(Problem(lost, "", place.file, place.line))
    return content


def _set_apart(before: str, text: str) -> str:
    return f"\n\n{text}" if before.strip() and text else text
