"""What calls cost: a judge's price, an answer's dollars, a prompt's worst case."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from evalq.calling.providers.request_bodies import ModelRequest, build_request
from evalq.definitions.judge import JudgeConfig, ModelJudge, Price
from evalq.records import Completion, Prompt, Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

_MILLION = Decimal(1_000_000)

# Protocol overhead of a chat request (roles, separators), generous for every provider.
_OVERHEAD_TOKENS = 64
# What providers add around a reply schema to explain it to the model.
_SCHEMA_OVERHEAD_TOKENS = 512
# What providers tell a model about its tools, beside their declarations.
_TOOLS_OVERHEAD_TOKENS = 1024
# The length of an answer when estimating; the worst case uses max_tokens.
_USUAL_OUTPUT_TOKENS = 200

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

_TABLE_NAMES = {"xai": "x-ai"}
# OpenRouter's prices are collected day by day, so its newest start is the table's age; the starts of
# others may be announcements and lie ahead.
_DAILY = "openrouter"
_USUAL_TIERS = ("auto", "default", "standard", "standard_only")
# Parameters that change a request's price in a way the table does not know.
_REPRICING = ("speed", "inference_geo")


def price_of(judge: JudgeConfig) -> Price | None:
    """Dollars per million tokens of a request of ordinary size; None for a judge without a price."""
    rates = _rates_of_judge(judge)
    if rates is None:
        return None
    return Price(input=rates.input.base, output=rates.output.base)


def is_priced(judge: JudgeConfig) -> bool:
    """Whether a cap can hold for this judge."""
    return _rates_of_judge(judge) is not None


def prices_as_of() -> str | None:
    """The day of the price table, ISO; prices in evalq.yaml are as new as their file."""
    day = _table_date()
    return day.isoformat() if day else None


def cost_usd(judge: JudgeConfig, usage: Usage) -> Decimal:
    """The dollars of one call: as the provider states them if it does, else by its tokens."""
    rates = _rates_of_judge(judge)
    if rates is None:
        return Decimal(0)
    stated = _stated_usd(judge, usage)
    return rates.dollars(_split_usage(usage)) if stated is None else stated


def stated_cost_usd(judge: JudgeConfig, answer: Completion) -> Decimal | None:
    """The dollars of an answer, by what the judge states: a cost, or tokens; None if it states neither."""
    if answer.stated_usd is not None:
        return answer.stated_usd
    if answer.usage.is_stated or _stated_usd(judge, answer.usage) is not None:
        return cost_usd(judge, answer.usage)
    return None


def worst_case_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """The most one call can cost: every byte a token, the whole answer used, the dearest tier in reach.

    InputError for a judge whose parameters leave its calls without a bound.
    """
    rates = _rates_of_judge(judge) or _FREE
    size, output_tokens, with_writes = _text_bound(prompt), prompt.max_tokens, True
    if isinstance(judge, ModelJudge):
        request = build_request(judge, prompt)
        size += _extra_bound(judge, prompt, request)
        output_tokens, with_writes = request.output_tokens, request.may_write_cache
    per_input = rates.highest_input(size, with_writes=with_writes)
    return (per_input * size + rates.output.highest(size) * output_tokens) / _MILLION


def estimate_usd(judge: JudgeConfig, prompt: Prompt) -> Decimal:
    """What one call will probably cost, as a guess."""
    input_usd, output_usd = guess_usd(judge, prompt)
    return input_usd + output_usd


def guess_usd(judge: JudgeConfig, prompt: Prompt) -> tuple[Decimal, Decimal]:
    """Dollars of one call's input and output, guessed: four characters a token, an answer of usual length."""
    size = (len(prompt.system) + sum(len(turn.text) for turn in prompt.turns) + len(prompt.user)) // 4
    answer = min(prompt.max_tokens // 5, _USUAL_OUTPUT_TOKENS)
    return tokens_usd(judge, Decimal(size), Decimal(answer))


def tokens_usd(judge: JudgeConfig, input_tokens: Decimal, output_tokens: Decimal) -> tuple[Decimal, Decimal]:
    """Dollars of the input and of the output of a call with so many tokens, none of them cached."""
    rates = _rates_of_judge(judge) or _FREE
    size = int(input_tokens)
    input_usd = rates.input.at(size) * input_tokens / _MILLION
    return input_usd, rates.output.at(size) * output_tokens / _MILLION


def _text_bound(prompt: Prompt) -> int:
    """No tokenizer makes more tokens than there are UTF-8 bytes."""
    size = len(prompt.system.encode()) + len(prompt.user.encode()) + _OVERHEAD_TOKENS
    return size + sum(len(turn.text.encode()) + _OVERHEAD_TOKENS for turn in prompt.turns)


def _extra_bound(judge: ModelJudge, prompt: Prompt, request: ModelRequest) -> int:
    """What the model reads beside the prompt's texts: parameters, a reply schema, tools."""
    size = request.extra_bytes
    if prompt.reply_schema is not None:
        size += _SCHEMA_OVERHEAD_TOKENS
    if "tools" in judge.params or "functions" in judge.params:
        size += _TOOLS_OVERHEAD_TOKENS
    return size


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one call, every one counted once."""

    input: int
    cached: int
    written: int
    written_1h: int
    output: int

    @property
    def all_input(self) -> int:
        """The size of the request, which decides the tier."""
        return self.input + self.cached + self.written + self.written_1h


def _split_usage(usage: Usage) -> TokenCounts:
    """Split a usage; its input includes cached tokens, its output includes thinking."""
    cached = min(usage.cached_input_tokens, usage.input_tokens)
    written = min(max(_read_count(usage.raw, path) for path in _WRITTEN), usage.input_tokens - cached)
    written_1h = min(_read_count(usage.raw, _WRITTEN_1H), written)
    plain = usage.input_tokens - cached - written
    return TokenCounts(plain, cached, written - written_1h, written_1h, usage.output_tokens)


def _stated_usd(judge: JudgeConfig, usage: Usage) -> Decimal | None:
    """The dollars xAI itself states, if it does; a price in the judge's definition wins over them."""
    ticks = usage.raw.get(_TICKS_FIELD)
    if judge.provider != "xai" or judge.price is not None or type(ticks) is not int or ticks < 0:
        return None
    return ticks / _TICKS_PER_DOLLAR


def _read_count(raw: Mapping[str, Any], path: tuple[str, ...]) -> int:
    value: Any = raw
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if type(value) is int and value > 0 else 0


@dataclass(frozen=True)
class TieredRate:
    """Dollars per million tokens: a base, and dearer tiers once the request's input exceeds a start.

    Starts ascend.
    """

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
class ModelRates:
    """A model's rates. `written`: into the provider's prompt cache; `cached`: read from it."""

    input: TieredRate
    output: TieredRate
    cached: TieredRate
    written: TieredRate
    written_1h: TieredRate

    def dollars(self, tokens: TokenCounts) -> Decimal:
        """The price of one call: its whole input decides the tier of everything in it."""
        size = tokens.all_input
        return (
            self.input.at(size) * tokens.input
            + self.cached.at(size) * tokens.cached
            + self.written.at(size) * tokens.written
            + self.written_1h.at(size) * tokens.written_1h
            + self.output.at(size) * tokens.output
        ) / _MILLION

    def highest_input(self, size: int, *, with_writes: bool) -> Decimal:
        """The most an input token can cost in a request of at most this size."""
        kinds = (self.input, self.written, self.written_1h) if with_writes else (self.input,)
        return max(rate.highest(size) for rate in kinds)


def _flat_rates(price: Price) -> ModelRates:
    """One price for all input and one for all output."""
    every_input = TieredRate(price.input)
    return ModelRates(every_input, TieredRate(price.output), every_input, every_input, every_input)


_FREE = _flat_rates(Price(input=Decimal(0), output=Decimal(0)))


def _rates_of_judge(judge: JudgeConfig) -> ModelRates | None:
    """The judge's own price, else the table's; a judge that is not a provider's model is free by default."""
    if judge.price is not None:
        return _flat_rates(judge.price)
    if not isinstance(judge, ModelJudge):
        return _FREE
    tier = judge.params.get("service_tier") or ""
    # A private server may serve a model of a well-known name at any price.
    if judge.base_url or not isinstance(tier, str) or any(name in judge.params for name in _REPRICING):
        return None
    if tier in _USUAL_TIERS:
        tier = ""
    return rates_of(judge.provider, judge.model, tier, datetime.now(UTC).date())


@lru_cache(maxsize=1024)
def rates_of(provider: str, model: str, tier: str, day: date) -> ModelRates | None:
    """A model's rates on a day, in a service tier ("" is the usual one); None if the table has none."""
    name = _TABLE_NAMES.get(provider, provider)
    try:
        _, info = _table().find_provider_model(model, None, name, None)
    except LookupError:
        return None
    at = datetime.combine(day, time(12), UTC)
    if not tier:
        return _rates_of_row(info.get_prices(at, None))
    if not _is_priced_in(info, tier, at):
        return None
    return _rates_of_row(info.get_prices(at, {"service_tier": tier}))


def _is_priced_in(info: "ModelInfo", tier: str, at: datetime) -> bool:
    for variant in info.price_variants or ():
        is_active = variant.constraint is None or variant.constraint.active(at)
        if is_active and variant.when == {"service_tier": tier}:
            return True
    return False


def _rates_of_row(price: "ModelPrice") -> ModelRates | None:
    """The kinds of tokens we count; a kind without its own price costs what the kind it is part of costs."""
    every_input, output = _read_rate(price.input_mtok), _read_rate(price.output_mtok)
    if every_input is None or output is None:
        return None
    written = _read_rate(price.cache_write_mtok) or every_input
    written_1h = _read_rate(price.cache_write_1h_mtok) or written
    cached = _read_rate(price.cache_read_mtok) or every_input
    return ModelRates(every_input, output, cached, written, written_1h)


def _read_rate(price: "Decimal | TieredPrices | None") -> TieredRate | None:
    if price is None:
        return None
    if isinstance(price, Decimal):
        return TieredRate(price)
    return TieredRate(price.base, tuple((tier.start, tier.price) for tier in price.tiers))


@cache
def _table_date() -> date | None:
    """The newest day on which the table saw a price change."""
    from genai_prices.types import StartDateConstraint

    days: list[date] = []
    for provider in _table().providers:
        for model in provider.models if provider.id == _DAILY else ():
            for condition in model.prices if isinstance(model.prices, list) else ():
                if isinstance(condition.constraint, StartDateConstraint):
                    days.append(condition.constraint.start_date)
    return max(days, default=None)


@cache
def _table() -> "DataSnapshot":
    """The table as installed, whatever else in this process may have replaced it by a newer download."""
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)
