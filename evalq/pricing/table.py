"""The price table that comes with genai-prices: read once, on first use, and never from the network."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from evalq.pricing.rates import Rate, Rates

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

_TABLE_NAMES = {"xai": "x-ai"}
# OpenRouter's prices are collected day by day, so its newest start is the table's age; the starts of
# others may be announcements and lie ahead.
_DAILY = "openrouter"


@lru_cache(maxsize=1024)
def rates_of(provider: str, model: str, tier: str, day: date) -> Rates | None:
    """A model's rates on a day, in a service tier ("" is the usual one); None when the table has none."""
    name = _TABLE_NAMES.get(provider, provider)
    try:
        _, info = _table().find_provider_model(model, None, name, None)
    except LookupError:
        return None
    at = datetime.combine(day, time(12), UTC)
    if tier and not _is_priced_in(info, tier, at):
        return None
    return _rates(info.get_prices(at, {"service_tier": tier} if tier else None))


@cache
def table_date() -> date | None:
    """The newest day on which the table saw a price change."""
    from genai_prices.types import StartDateConstraint

    conditions = (
        condition.constraint
        for provider in _table().providers
        if provider.id == _DAILY
        for model in provider.models
        if isinstance(model.prices, list)
        for condition in model.prices
    )
    days = (limit.start_date for limit in conditions if isinstance(limit, StartDateConstraint))
    return max(days, default=None)


@cache
def _table() -> "DataSnapshot":
    """The table as installed, whatever else in this process may have loaded over it."""
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _is_priced_in(info: "ModelInfo", tier: str, at: datetime) -> bool:
    return any(
        variant.when == {"service_tier": tier}
        and (variant.constraint is None or variant.constraint.active(at))
        for variant in info.price_variants or ()
    )


def _rates(price: "ModelPrice") -> Rates | None:
    """The kinds of tokens we count; a kind without its own price costs what the kind it is part of costs."""
    every_input, output = _rate(price.input_mtok), _rate(price.output_mtok)
    if every_input is None or output is None:
        return None
    written = _rate(price.cache_write_mtok) or every_input
    cached = _rate(price.cache_read_mtok) or every_input
    return Rates(every_input, output, cached, written, _rate(price.cache_write_1h_mtok) or written)


def _rate(price: "Decimal | TieredPrices | None") -> Rate | None:
    if price is None or isinstance(price, Decimal):
        return None if price is None else Rate(price)
    return Rate(price.base, tuple((tier.start, tier.price) for tier in price.tiers))
