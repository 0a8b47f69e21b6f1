import re
from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic import TypeAdapter

from evalq.calling.pricing import cost_usd, estimate_usd, is_priced, price_of, prices_as_of, worst_case_usd
from evalq.definitions.judge import CommandJudge, JudgeConfig, OpenAIJudge, Price, PythonJudge, SimulatedJudge
from evalq.records import CaseContext, Prompt, Usage

JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)
PRICE = Price(input=Decimal("3"), output=Decimal("15"))
PRICED = SimulatedJudge(name="s", provider="simulated", model="s", price=PRICE)
UNPRICED = OpenAIJudge(name="o", provider="openai", model="m", base_url="http://127.0.0.1:8000/v1")
OWN: list[JudgeConfig] = [
    SimulatedJudge(name="s", provider="simulated", model="s"),
    PythonJudge(name="p", provider="python", callable="m:f"),
    CommandJudge(name="c", provider="command", command=["c"]),
]


def prompt(text: str, max_tokens: int = 1000) -> Prompt:
    return Prompt("", text, max_tokens, CaseContext("t", "c"))


def test_dollars_are_exact_per_million_tokens() -> None:
    assert cost_usd(PRICED, Usage(1_000_000, 1_000_000)) == Decimal(18)
    assert cost_usd(PRICED, Usage(1, 1)) == Decimal("0.000018")
    assert cost_usd(PRICED, Usage()) == 0


@pytest.mark.parametrize("judge", OWN)
def test_a_system_of_ones_own_is_free_unless_priced(judge: JudgeConfig) -> None:
    assert cost_usd(judge, Usage(10**9, 10**9)) == 0
    assert price_of(judge.model_copy(update={"price": PRICE})) == PRICE


def test_a_model_without_a_price_has_none_rather_than_zero() -> None:
    assert price_of(UNPRICED) is None
    assert not is_priced(UNPRICED)
    assert is_priced(PRICED)
    assert price_of(PRICED) == PRICE


def test_an_unpriced_model_let_through_adds_nothing_to_the_bill() -> None:
    assert cost_usd(UNPRICED, Usage(10, 10)) == 0
    assert worst_case_usd(UNPRICED, prompt("x")) == estimate_usd(UNPRICED, prompt("x")) == 0


def test_the_worst_case_counts_every_byte_the_overhead_and_all_the_answer_may_be() -> None:
    expected = (Decimal(3) * (len("việt".encode()) + 64) + Decimal(15) * 1000) / 1_000_000
    assert worst_case_usd(PRICED, prompt("việt")) == expected


def test_the_system_prompt_is_paid_for_too() -> None:
    asked = Prompt("12345678", "", 0, CaseContext("t", "c"))
    assert worst_case_usd(PRICED, asked) == Decimal(3) * (8 + 64) / 1_000_000
    assert estimate_usd(PRICED, asked) == Decimal(3) * 2 / 1_000_000


@pytest.mark.parametrize(("max_tokens", "counted"), [(50, 10), (200, 40), (5000, 200)])
def test_an_estimate_takes_an_answer_of_usual_length(max_tokens: int, counted: int) -> None:
    estimate = estimate_usd(PRICED, prompt("x" * 400, max_tokens))
    assert estimate == (Decimal(3) * 100 + Decimal(15) * counted) / 1_000_000


@pytest.mark.parametrize("text", ["", "hello", "mười quả trứng", "😀" * 500])
def test_no_estimate_exceeds_the_worst_case(text: str) -> None:
    assert estimate_usd(PRICED, prompt(text)) <= worst_case_usd(PRICED, prompt(text))


def model(provider: str, name: str, **fields: object) -> JudgeConfig:
    judge: JudgeConfig = JUDGE.validate_python({"name": "m", "provider": provider, "model": name, **fields})
    return judge


LARGE = model("google", "gemini-2.5-pro")


def test_a_providers_model_has_the_price_of_the_table_and_the_table_its_day() -> None:
    assert is_priced(LARGE)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", prices_as_of() or "")


def test_ones_own_price_comes_before_the_tables() -> None:
    assert price_of(LARGE.model_copy(update={"price": PRICE})) == PRICE


@pytest.mark.parametrize(
    "judge",
    [
        model("openai", "no-such-model"),
        model("google", "gemini-embedding-001"),
        model("openai", "gpt-5.4", params={"service_tier": "no-such-tier"}),
        model("openai", "gpt-5.4", params={"service_tier": 7}),
        model("anthropic", "claude-opus-4-7", params={"speed": "fast"}),
        model("openai", "gpt-5.4", base_url="http://127.0.0.1:8000/v1"),
    ],
    ids=["unknown", "answers nothing", "unknown tier", "no tier", "repriced", "another server"],
)
def test_what_the_table_does_not_know_has_no_price(judge: JudgeConfig) -> None:
    assert not is_priced(judge)


def test_a_service_tier_has_a_price_of_its_own() -> None:
    usual = price_of(model("openai", "gpt-5.4", params={"service_tier": "default"}))
    cheaper = price_of(model("openai", "gpt-5.4", params={"service_tier": "flex"}))
    assert usual == price_of(model("openai", "gpt-5.4"))
    assert usual is not None
    assert cheaper is not None
    assert cheaper.input < usual.input


def test_a_large_request_is_dearer_in_every_token() -> None:
    small, large = cost_usd(LARGE, Usage(200_000, 100)), cost_usd(LARGE, Usage(200_001, 100))
    assert large > Decimal("1.4") * small
    assert estimate_usd(LARGE, prompt("x" * 1_000_000)) > 5 * estimate_usd(LARGE, prompt("x" * 200_000))


def test_cached_input_is_cheaper_and_input_written_to_the_cache_dearer() -> None:
    claude = model("anthropic", "claude-opus-4-7")
    plain = cost_usd(claude, Usage(1000, 10))
    written = {"cache_creation_input_tokens": 1000}
    for_an_hour = {**written, "cache_creation": {"ephemeral_1h_input_tokens": 1000}}
    assert cost_usd(claude, Usage(1000, 10, cached_input_tokens=900)) < plain
    assert (
        plain
        < cost_usd(claude, Usage(1000, 10, raw=written))
        < cost_usd(claude, Usage(1000, 10, raw=for_an_hour))
    )


@pytest.mark.parametrize("raw", [{"prompt_tokens_details": None}, {"cache_creation_input_tokens": -5}])
def test_an_account_that_makes_no_sense_adds_nothing(raw: dict[str, object]) -> None:
    assert cost_usd(LARGE, Usage(1000, 10, raw=raw)) == cost_usd(LARGE, Usage(1000, 10))


def test_what_a_provider_says_it_billed_is_believed_unless_one_has_a_price_of_ones_own() -> None:
    grok, billed = model("xai", "grok-4.3"), Usage(1000, 10, raw={"cost_in_usd_ticks": 12_345})
    assert cost_usd(grok, billed) == Decimal("0.0000012345")
    assert cost_usd(LARGE, billed) == cost_usd(LARGE, Usage(1000, 10))
    assert cost_usd(grok.model_copy(update={"price": PRICE}), billed) == Decimal("0.00315")


@pytest.mark.parametrize(
    "params",
    [{"max_tokens": 9000}, {"n": 3}, {"user": "x" * 999}, {"max_tokens": 9000, "n": 3}],
    ids=" ".join,
)
def test_parameters_of_ones_own_count_in_the_worst_case(params: dict[str, object]) -> None:
    plain = model("openai", "gpt-5.4")
    assert worst_case_usd(plain.model_copy(update={"params": params}), prompt("x")) > worst_case_usd(
        plain, prompt("x")
    )


def test_a_reply_schema_is_read_and_paid_for() -> None:
    asked = replace(prompt("x"), reply_schema={"type": "object"})
    assert worst_case_usd(LARGE, asked) > worst_case_usd(LARGE, prompt("x"))


def test_thinking_beside_the_answer_is_set_aside_where_the_provider_reports_it_so() -> None:
    def output(name: str) -> Decimal:
        judge = model("xai", name, price={"input": 0, "output": 1_000_000}, thinking_tokens=0)
        return worst_case_usd(judge, prompt("x", 10))

    assert output("grok-4.3") == 2 * output("grok-4-1-fast-non-reasoning") == 20


@pytest.mark.parametrize(
    "judge",
    [LARGE, model("anthropic", "claude-opus-4-7", params={"cache_control": {"type": "ephemeral"}})],
    ids=["tiers", "cache writes"],
)
def test_no_call_costs_more_than_its_worst_case(judge: JudgeConfig) -> None:
    asked = prompt("x" * 300_000, 1000)
    usage = Usage(300_000, 1000, raw={"cache_creation_input_tokens": 300_000})
    assert cost_usd(judge, usage) <= worst_case_usd(judge, asked)
