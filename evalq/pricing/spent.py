"""The tokens one call spent, by the kinds they are billed as, and what a provider says they cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalq.definitions.judge import JudgeConfig
from evalq.records import Usage

# xAI states what it billed in ticks of 1e-10 dollars.
_TICKS_FIELD = "cost_in_usd_ticks"
_TICKS_PER_DOLLAR = Decimal(10**10)
# Where providers put the tokens written into their prompt cache; Usage has no field of its own for them.
_WRITTEN = (
    ("cache_creation_input_tokens",),
    ("prompt_tokens_details", "cache_write_tokens"),
    ("input_tokens_details", "cache_write_tokens"),
)
_WRITTEN_1H = ("cache_creation", "ephemeral_1h_input_tokens")


@dataclass(frozen=True)
class Spent:
    """Tokens of one call, every one counted once."""

    input: int
    cached: int
    written: int
    written_1h: int
    output: int

    @property
    def all_input(self) -> int:
        """The size of the request, by which tiers go."""
        return self.input + self.cached + self.written + self.written_1h


def spent(usage: Usage) -> Spent:
    """Split a usage; its input includes what was cached, its output what was thought."""
    cached = min(usage.cached_input_tokens, usage.input_tokens)
    written = min(max(_count(usage.raw, path) for path in _WRITTEN), usage.input_tokens - cached)
    written_1h = min(_count(usage.raw, _WRITTEN_1H), written)
    plain = usage.input_tokens - cached - written
    return Spent(plain, cached, written - written_1h, written_1h, usage.output_tokens)


def stated_usd(judge: JudgeConfig, usage: Usage) -> Decimal | None:
    """The dollars in the provider's own account of the call, if it gives them; a price of one's own wins."""
    ticks = usage.raw.get(_TICKS_FIELD)
    if judge.provider != "xai" or judge.price is not None or type(ticks) is not int or ticks < 0:
        return None
    return ticks / _TICKS_PER_DOLLAR


def _count(raw: Mapping[str, Any], path: tuple[str, ...]) -> int:
    value: Any = raw
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if type(value) is int and value > 0 else 0
