"""What passes between the parts of the simulator: what was asked, what is replied, how it is delivered."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from evalq.simulator.ledger import Tally

Finish = Literal["stop", "length", "empty", "blocked", "refusal"]
How = Literal["send", "reset", "send_half", "eof", "hang", "drip"]

CHARS_PER_TOKEN = 4
_ENVELOPE_TOKENS = 8


@dataclass(slots=True)
class Asked:
    """A request as far as the simulator reads it. `user` is the last thing the user said."""

    model: str
    system: str
    user: str
    prompt: str
    max_tokens: int | None = None
    has_temperature: bool = False
    is_structured: bool = False
    is_streamed: bool = False

    @property
    def input_tokens(self) -> int:
        """About four characters a token, a few tokens for the envelope."""
        return len(self.prompt) // CHARS_PER_TOKEN + _ENVELOPE_TOKENS


@dataclass(slots=True)
class Reply:
    """What the model said, and the tokens that are billed for it; thinking is billed beside the answer."""

    text: str
    finish: Finish
    input_tokens: int
    answer_tokens: int
    thinking_tokens: int

    @property
    def output_tokens(self) -> int:
        """Everything billed as output."""
        return self.answer_tokens + self.thinking_tokens


class Delivery(NamedTuple):
    """What a connection is to do with a request, and after how long; `tally` is closed when it is done."""

    how: How
    data: bytes = b""
    delay_s: float = 0.0
    tally: Tally | None = None


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("parts"))
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))
