"""The rates of one model: dollars per million tokens of each kind, by the size of the request."""

from dataclasses import dataclass
from decimal import Decimal

from evalq.definitions.judge import Price
from evalq.pricing.spent import Spent

MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Rate:
    """A base, and what every token costs once the request's input exceeds a start; starts ascend."""

    base: Decimal
    tiers: tuple[tuple[int, Decimal], ...] = ()

    def at(self, input_tokens: int) -> Decimal:
        """The price in a request of exactly this size."""
        price = self.base
        for start, dearer in self.tiers:
            if input_tokens > start:
                price = dearer
        return price

    def highest(self, input_tokens: int) -> Decimal:
        """The highest price in any request of at most this size."""
        return max((self.base, *(price for start, price in self.tiers if input_tokens > start)))


@dataclass(frozen=True)
class Rates:
    """A model's rates. `written`: into the provider's prompt cache; `cached`: read from it."""

    input: Rate
    output: Rate
    cached: Rate
    written: Rate
    written_1h: Rate

    def dollars(self, tokens: Spent) -> Decimal:
        """The price of one call: its whole input decides the tier of everything in it."""
        size = tokens.all_input
        return (
            self.input.at(size) * tokens.input
            + self.cached.at(size) * tokens.cached
            + self.written.at(size) * tokens.written
            + self.written_1h.at(size) * tokens.written_1h
            + self.output.at(size) * tokens.output
        ) / MILLION

    def highest_input(self, size: int, *, with_writes: bool) -> Decimal:
        """The most an input token can cost in a request of at most this size."""
        kinds = (self.input, self.written, self.written_1h) if with_writes else (self.input,)
        return max(rate.highest(size) for rate in kinds)


def flat(price: Price) -> Rates:
    """One price for all input and one for all output."""
    every_input = Rate(price.input)
    return Rates(every_input, Rate(price.output), every_input, every_input, every_input)
