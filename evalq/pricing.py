"""What calls cost: a judge's price, an answer's dollars, a prompt's worst case."""

from decimal import Decimal

from evalq.definitions.judge import JudgeConfig, Price
from evalq.records import Prompt, Usage

_MILLION = Decimal(1_000_000)
_FREE = Price(input=Decimal(0), output=Decimal(0))
# Protocol overhead of a chat request (roles, separators), generous for every provider.
_OVERHEAD_TOKENS = 64
# What an answer is taken to be long when estimating; the worst case uses max_tokens.
_USUAL_OUTPUT_TOKENS = 200


def price_of(judge: JudgeConfig) -> Price | None:
    """Dollars per million tokens. Systems of the user's own cost nothing unless a price is set."""
    if judge.price is None and judge.provider in ("python", "command"):
        return _FREE
    return judge.price


def cost_usd(judge: JudgeConfig, usage: Usage) -> Decimal:
    """The dollars of one call."""
    return _dollars(price_of(judge) or _FREE, usage.input_tokens, usage.output_tokens)


def worst_case_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """The most one call can cost: no tokenizer makes more tokens than there are UTF-8 bytes."""
    size = len(prompt.system.encode()) + len(prompt.user.encode())
    return _dollars(price_of(judge) or _FREE, size + _OVERHEAD_TOKENS, prompt.max_tokens)


def estimate_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """What one call will probably cost: about four characters a token, an answer of usual length."""
    size = (len(prompt.system) + len(prompt.user)) // 4
    return _dollars(price_of(judge) or _FREE, size, min(prompt.max_tokens, _USUAL_OUTPUT_TOKENS))


def _dollars(price: Price, input_tokens: int, output_tokens: int) -> Decimal:
    return (price.input * input_tokens + price.output * output_tokens) / _MILLION
