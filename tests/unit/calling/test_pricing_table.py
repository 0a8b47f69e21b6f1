import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from evalq.calling.pricing import (
    TieredRate,
    cost_usd,
    estimate_usd,
    is_priced,
    price_of,
    prices_as_of,
    rates_of,
    worst_case_usd,
)
from evalq.definitions.catalogue import all_judges
from evalq.definitions.judge import JudgeConfig, ModelJudge, Price
from evalq.records import CaseContext, Prompt, Usage

JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)
SHIPPED = {name: judge for name, judge in all_judges({}).items() if isinstance(judge, ModelJudge)}
MODELS = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-5.4-mini",
    "xai": "grok-4.3",
    "google": "gemini-2.5-flash",
}
SEED = {
    "haiku-4.5": ("1", "5"),
    "sonnet-4.6": ("3", "15"),
    "opus-4.7": ("5", "25"),
    "grok-4-fast-reasoning": ("0.2", "0.5"),
    "grok-4.3": ("1.25", "2.5"),
    "gpt-5.4-mini": ("0.75", "4.5"),
    "gemini-2.5-flash": ("0.3", "2.5"),
}
every_provider = pytest.mark.parametrize("provider", MODELS)


def judge(provider: str, model: str = "", **fields: object) -> JudgeConfig:
    known = {"name": "j", "provider": provider, "model": model or MODELS[provider]}
    return JUDGE.validate_python(known | fields)


def prompt(text: str, max_tokens: int = 1000, **fields: Any) -> Prompt:
    return Prompt("", text, max_tokens, CaseContext("t", "c"), **fields)


@pytest.mark.parametrize("name", SEED)
def test_the_judges_of_the_first_comparison_have_the_price_in_the_table(name: str) -> None:
    price = price_of(SHIPPED[name])
    assert price is not None
    assert (price.input, price.output) == tuple(map(Decimal, SEED[name]))


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("size", [1, 150_000, 199_999, 200_000, 200_001, 272_001, 900_000])
def test_a_call_costs_what_the_arithmetic_of_the_table_says(name: str, size: int) -> None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    table = {"xai": "x-ai"}.get(SHIPPED[name].provider, SHIPPED[name].provider)
    tokens = Tokens(input_tokens=size, cache_read_tokens=size // 3, output_tokens=777)
    expected = calc_price(tokens, SHIPPED[name].model, provider_id=table).total_price
    assert cost_usd(SHIPPED[name], Usage(size, 777, cached_input_tokens=size // 3)) == expected


def test_a_large_request_is_dearer_from_its_first_token_on() -> None:
    grok = SHIPPED["grok-4.3"]
    assert cost_usd(grok, Usage(100_000)) == Decimal("0.125")
    assert cost_usd(grok, Usage(300_000)) == Decimal("0.75")


def test_cached_input_is_cheaper_and_what_is_thought_is_part_of_the_output() -> None:
    haiku = SHIPPED["haiku-4.5"]
    assert cost_usd(haiku, Usage(1_000_000, cached_input_tokens=1_000_000)) == Decimal("0.1")
    assert cost_usd(haiku, Usage(0, 500, thinking_tokens=400)) == Decimal("0.0025")


def test_a_usage_that_contradicts_itself_is_not_paid_for_twice() -> None:
    haiku = SHIPPED["haiku-4.5"]
    assert cost_usd(haiku, Usage(10, cached_input_tokens=99)) == Decimal("0.000001")
    raw = {"cache_creation_input_tokens": 99, "cache_creation": {"ephemeral_1h_input_tokens": 999}}
    assert cost_usd(haiku, Usage(10, raw=raw)) == Decimal("0.00002")


@pytest.mark.parametrize(
    ("name", "raw", "dollars"),
    [
        ("haiku-4.5", {"cache_creation_input_tokens": 1000}, "0.00125"),
        (
            "haiku-4.5",
            {"cache_creation_input_tokens": 1000, "cache_creation": {"ephemeral_1h_input_tokens": 1000}},
            "0.002",
        ),
        ("gpt-6-sol", {"prompt_tokens_details": {"cache_write_tokens": 1000}}, "0.0025"),
        ("gpt-6-sol", {"prompt_tokens_details": None}, "0.002"),
        ("gpt-6-sol", {"prompt_tokens_details": {"cache_write_tokens": None}}, "0.002"),
    ],
)
def test_writing_the_prompt_cache_has_its_own_price(name: str, raw: dict[str, Any], dollars: str) -> None:
    assert cost_usd(SHIPPED[name], Usage(1000, raw=raw)) == Decimal(dollars)


@every_provider
def test_a_price_of_ones_own_wins_over_the_table(provider: str) -> None:
    own = Price(input=Decimal(7), output=Decimal(9))
    priced = judge(provider, price=own)
    assert price_of(priced) == own
    ticks = {"cost_in_usd_ticks": 1}
    assert cost_usd(priced, Usage(1_000_000, 1_000_000, cached_input_tokens=5, raw=ticks)) == 16


@every_provider
def test_the_server_of_somebody_else_has_no_price_whatever_its_model_is_called(provider: str) -> None:
    assert is_priced(judge(provider))
    served = judge(provider, base_url="http://127.0.0.1:8000/v1")
    assert price_of(served) is None
    assert not is_priced(served)


@every_provider
def test_a_model_the_table_does_not_know_has_no_price(provider: str) -> None:
    assert not is_priced(judge(provider, "no-such-model"))


def test_a_model_that_writes_no_text_has_no_price() -> None:
    assert not is_priced(judge("google", "gemini-embedding-001"))


@pytest.mark.parametrize("tier", ["auto", "default"])
def test_the_usual_service_tier_has_the_usual_price(tier: str) -> None:
    assert price_of(judge("openai", params={"service_tier": tier})) == price_of(judge("openai"))


def test_another_service_tier_has_its_own_price_or_none() -> None:
    usual = price_of(judge("openai", "gpt-5.4"))
    prior = price_of(judge("openai", "gpt-5.4", params={"service_tier": "priority"}))
    assert usual is not None
    assert prior is not None
    assert prior.output == 2 * usual.output
    assert not is_priced(judge("openai", "gpt-5.4", params={"service_tier": "golden"}))
    assert not is_priced(judge("openai", "gpt-5.4", params={"service_tier": 1}))


@pytest.mark.parametrize("params", [{"speed": "fast"}, {"inference_geo": "us"}])
def test_what_changes_the_price_unknown_to_the_table_leaves_none(params: dict[str, str]) -> None:
    assert not is_priced(judge("anthropic", params=params))


def test_what_xai_says_it_billed_is_what_it_cost() -> None:
    usage = Usage(1000, 1000, raw={"cost_in_usd_ticks": 12_345_678})
    assert cost_usd(SHIPPED["grok-4.3"], usage) == Decimal("0.0012345678")
    assert cost_usd(SHIPPED["gpt-5.4-mini"], usage) == Decimal("0.00525")


@pytest.mark.parametrize("ticks", [None, "12", True, -1, 1.5])
def test_a_statement_that_is_no_amount_is_passed_over(ticks: object) -> None:
    usage = Usage(1000, raw={"cost_in_usd_ticks": ticks})
    assert cost_usd(SHIPPED["grok-4.3"], usage) == Decimal("0.00125")


def test_the_worst_case_sets_aside_as_much_again_for_thinking_beside_the_answer() -> None:
    asked = prompt("", 1_000_000)
    own = {"google": {"thinking_config": {"thinking_level": "low"}}}
    judges = {p: judge(p, params=own.get(p, {})) for p in MODELS}
    answers = {p: worst_case_usd(j, asked) - worst_case_usd(j, prompt("", 0)) for p, j in judges.items()}
    assert answers == {
        "anthropic": 5,
        "openai": Decimal("4.5"),
        "xai": 2 * Decimal("2.5"),
        "google": 2 * Decimal("2.5"),
    }
    quick = judge("xai", "grok-4-fast-non-reasoning")
    assert worst_case_usd(quick, asked) - worst_case_usd(quick, prompt("", 0)) == Decimal("0.5")


def test_the_worst_case_knows_what_the_parameters_of_the_judge_may_add() -> None:
    plain = worst_case_usd(judge("openai"), prompt("x"))
    longer = worst_case_usd(judge("openai", params={"max_completion_tokens": 5000}), prompt("x"))
    copied = worst_case_usd(judge("openai", params={"n": 3}), prompt("x"))
    assert longer == plain + Decimal("4.5") * 4000 / 1_000_000
    assert copied > plain + Decimal("4.5") * 2000 / 1_000_000
    schema = {"type": "object", "description": "d" * 100}
    assert worst_case_usd(judge("openai"), prompt("x", reply_schema=schema)) > plain


def test_the_worst_case_pays_for_cache_writes_where_they_can_happen() -> None:
    asked, size = prompt("x" * 936, 0), 1000
    assert worst_case_usd(judge("anthropic"), asked) == Decimal(1) * size / 1_000_000
    asking = judge("anthropic", params={"cache_control": {"type": "ephemeral", "ttl": "1h"}})
    assert worst_case_usd(asking, asked) > Decimal(2) * size / 1_000_000
    assert (
        worst_case_usd(judge("openai", "gpt-6-sol", thinking_tokens=0), asked)
        == Decimal("2.5") * size / 1_000_000
    )


def test_the_worst_case_takes_the_dearest_tier_in_reach() -> None:
    near, far = worst_case_usd(SHIPPED["grok-4.3"], prompt("x" * 199_000)), prompt("x" * 200_000)
    assert worst_case_usd(SHIPPED["grok-4.3"], far) > Decimal("1.9") * near


@given(
    name=st.sampled_from(sorted(SHIPPED)),
    text=st.text(max_size=50),
    times=st.integers(0, 9000),
    share=st.floats(0, 1),
    cached=st.floats(0, 1),
)
def test_no_call_costs_more_than_its_worst_case(
    name: str, text: str, times: int, share: float, cached: float
) -> None:
    asked = prompt(text * times, 100)
    tokens = int((len(asked.user.encode()) + 64) * share)
    usage = Usage(tokens, 100, cached_input_tokens=int(tokens * cached))
    assert cost_usd(SHIPPED[name], usage) <= worst_case_usd(SHIPPED[name], asked)
    assert estimate_usd(SHIPPED[name], asked) <= worst_case_usd(SHIPPED[name], asked)


def test_a_rate_in_reach_is_never_below_the_one_that_applies() -> None:
    cheaper_in_bulk = TieredRate(Decimal(3), ((10, Decimal(5)), (20, Decimal(1))))
    assert [cheaper_in_bulk.at(size) for size in (10, 11, 21)] == [3, 5, 1]
    assert [cheaper_in_bulk.highest(size) for size in (10, 11, 21)] == [3, 5, 5]


def test_a_price_announced_for_a_day_applies_from_that_day_on() -> None:
    before = rates_of("google", "gemini-4-argon", "", date(2026, 11, 30))
    after = rates_of("google", "gemini-4-argon", "", date(2026, 12, 1))
    assert before is not None
    assert after is not None
    assert before.output.base < after.output.base


def test_the_table_has_a_day_that_is_not_ahead_of_us() -> None:
    day = prices_as_of()
    assert day is not None
    assert date(2026, 10, 1) <= date.fromisoformat(day) <= datetime.now().astimezone().date() + timedelta(1)


def test_a_model_is_looked_up_once() -> None:
    price_of(SHIPPED["opus-5"])
    before = rates_of.cache_info()
    for _ in range(100):
        cost_usd(SHIPPED["opus-5"], Usage(1, 1))
    after = rates_of.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 100)


def test_the_table_is_read_only_when_a_price_is_looked_up_in_it() -> None:
    program = """
import sys
from evalq.definitions.catalogue import all_judges
from evalq.calling.pricing import price_of
judges = all_judges({})
price_of(judges["sim-grader"])
print("genai_prices" in sys.modules)
price_of(judges["opus-5"])
print("genai_prices" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
