"""What a test asks and expects, flattened to a prompt, a list of files and a text."""

from evalq.transpile.eval_file import EvalTest, Message


def prompt_of(test: EvalTest) -> str:
    """The text of the last user message that has any; a conversation's is that of its last turn."""
    asked = [message.text for message in all_messages(test) if message.role == "user"]
    return next((text for text in reversed(asked) if text), "")


def files_of(test: EvalTest) -> tuple[str, ...]:
    """Every attached file, of all messages; those listed as input_files come first."""
    attached = (path for message in all_messages(test) for path in message.files)
    return (*test.input_files, *attached)


def expected_output_of(test: EvalTest) -> str | None:
    """The last message expected that has a text; None where nothing is expected, or only files are named."""
    messages = test.expected_messages
    if not messages and test.turns:
        messages = test.turns[-1].expected_messages
    texts = [message.text for message in messages if _has_text(message)]
    return next((text for text in reversed(texts) if text), "" if texts else None)


def all_messages(test: EvalTest) -> tuple[Message, ...]:
    """All that is asked, in order: the suite's messages, the test's, and those of its turns."""
    turns = (message for turn in test.turns for message in turn.messages)
    return (*test.suite_messages, *test.messages, *turns)


def _has_text(message: Message) -> bool:
    return any(block.type == "text" for block in message.blocks)
