"""The wire protocols the simulator speaks, found by the path of a request."""

from evalq.engines.simulator.protocols.anthropic import Anthropic
from evalq.engines.simulator.protocols.gemini import Gemini
from evalq.engines.simulator.protocols.openai import OpenAI
from evalq.engines.simulator.protocols.wire import Wire

WIRES: dict[str, Wire] = {
    "/chat/completions": OpenAI(),
    "/v1/messages": Anthropic(),
    ":generateContent": Gemini(),
}


def wire_of(path: str) -> Wire | None:
    """The protocol that ends its paths like this one, whatever is in front; None when none does."""
    return next((wire for ending, wire in WIRES.items() if path.endswith(ending)), None)
