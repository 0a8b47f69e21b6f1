"""What calls cost: a judge's price, an answer's dollars, a prompt's worst case."""

from datetime import UTC, datetime
from decimal import Decimal

from evalq.definitions.judge import JudgeConfig, ModelJudge, Price
from evalq.pricing.bounds import input_bound, may_write_cache, output_bound
from evalq.pricing.rates import MILLION, Rates, flat
from evalq.pricing.spent import spent, stated_usd
from evalq.pricing.table import rates_of, table_date
from evalq.records import Prompt, Usage

_FREE = flat(Price(input=Decimal(0), output=Decimal(0)))
# What an answer is taken to be long when estimating; the worst case uses max_tokens.
_USUAL_OUTPUT_TOKENS = 200
_USUAL_TIERS = ("auto", "default", "standard", "standard_only")
# What a request may ask for that changes its price in a way the table does not know.
_REPRICING = ("speed", "inference_geo")


def price_of(judge: JudgeConfig) -> Price | None:
    """Dollars per million tokens of a request of ordinary size; None when nobody told us."""
    rates = _rates(judge)
    return Price(input=rates.input.base, output=rates.output.base) if rates else None


def is_priced(judge: JudgeConfig) -> bool:
    """A cap can hold only for judges of which this is true."""
    return _rates(judge) is not None


def prices_as_of() -> str | None:
    """The day of the price table, ISO; prices of evalq.yaml are as new as their file."""
    day = table_date()
    return day.isoformat() if day else None


def cost_usd(judge: JudgeConfig, usage: Usage) -> Decimal:
    """The dollars of one call: the provider's own statement where it makes one, else its tokens' price."""
    rates = _rates(judge)
    if rates is None:
        return Decimal(0)
    stated = stated_usd(judge, usage)
    return rates.dollars(spent(usage)) if stated is None else stated


def worst_case_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """The most one call can cost: every byte a token, the whole answer used, the dearest tier in reach."""
    rates = _rates(judge) or _FREE
    size = input_bound(judge, prompt)
    per_input = rates.highest_input(size, with_writes=may_write_cache(judge))
    return (per_input * size + rates.output.highest(size) * output_bound(judge, prompt)) / MILLION


def estimate_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """What one call will probably cost: about four characters a token, an answer of usual length."""
    rates = _rates(judge) or _FREE
    size = (len(prompt.system) + sum(len(turn.text) for turn in prompt.turns) + len(prompt.user)) // 4
    answer = min(prompt.max_tokens // 5, _USUAL_OUTPUT_TOKENS)
    return (rates.input.at(size) * size + rates.output.at(size) * answer) / MILLION


def _rates(judge: JudgeConfig) -> Rates | None:
    """The judge's own price over the table's; what is no provider's model costs nothing unless priced."""
    if judge.price is not None:
        return flat(judge.price)
    if not isinstance(judge, ModelJudge):
        return _FREE
    tier = judge.params.get("service_tier") or ""
    # A server of someone's own may serve a model of a well-known name at any price.
    if judge.base_url or not isinstance(tier, str) or any(name in judge.params for name in _REPRICING):
        return None
    today = datetime.now(UTC).date()
    return rates_of(judge.provider, judge.model, "" if tier in _USUAL_TIERS else tier, today)
