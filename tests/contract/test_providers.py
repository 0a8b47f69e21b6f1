"""One suite for everything that can sit as a judge: the same trouble has the same name everywhere."""

import asyncio
import logging
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asking import complete
from pydantic import TypeAdapter

from evalq.calling.providers import Adapter, connect
from evalq.definitions.judge import JudgeConfig
from evalq.engines.simulator.process import Simulator, running_simulator
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt

KEY = "sk-canary-5f3a9e17c2"
CANARY = "zanzibar-canary-prompt-41"
KEY_NAMES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_KEY",
    "xai": "XAI_API_KEY",
    "google": "GEMINI_API_KEY",
    "http": "HTTP_KEY",
}
WIRES = tuple(KEY_NAMES)
ENVIRON = dict.fromkeys(KEY_NAMES.values(), KEY)
PROMPT = Prompt(f"Be brief, {CANARY}.", f'{CANARY}: say "hello"', 100, CaseContext("t", "c"))

KINDS = {
    "429:seconds=3": "rate",
    "408": "transient",
    "409": "transient",
    "503": "transient",
    "529": "transient",
    "500": "ambiguous",
    "502": "ambiguous",
    "504": "ambiguous",
    "reset_before": "ambiguous",
    "reset_after": "ambiguous",
    "reset_body": "ambiguous",
    "eof": "ambiguous",
    "hang": "ambiguous",
    "drip": "ambiguous",
    "malformed": "ambiguous",
    "html": "ambiguous",
    "wrong_shape": "ambiguous",
    "400": "permanent",
    "404": "permanent",
    "413": "permanent",
    "422": "permanent",
    "redirect": "permanent",
    "401": "fatal",
    "402": "fatal",
    "403": "fatal",
    "bad_key": "fatal",
    "quota": "fatal",
}
STATES = {
    "ok": "answered",
    "empty": "empty",
    "blocked": "blocked",
    "refusal": "refused",
    "truncated": "truncated",
}
# Where a protocol cannot tell: Gemini has no refusals but by a filter, plain JSON nothing but the answer.
OTHERWISE = {
    ("google", "refusal"): "blocked",
    ("http", "wrong_shape"): "malformed",
    ("http", "empty"): "malformed",
    ("http", "blocked"): "empty",
    ("http", "refusal"): "empty",
    ("http", "truncated"): "answered",
}

every_wire = pytest.mark.parametrize("provider", WIRES)
every_fault = pytest.mark.parametrize("fault", [*STATES, *KINDS])


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    profiles: dict[str, Any] = {
        model_name(provider, fault): {"faults": {fault: 1.0}}
        for provider in WIRES
        for fault in [*STATES, *KINDS, "429:date=3", "429:ms=1500", "429:none"]
        if fault != "ok"
    }
    profiles["thinker"] = {"thinking_tokens": 50, "latency_ms": 20}
    profiles["slow"] = {"latency_ms": 50}
    with running_simulator({"profiles": profiles}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def table() -> Iterator[dict[tuple[str, str], str]]:
    found: dict[tuple[str, str], str] = {}
    yield found
    print(f"\n{'fault':14}" + "".join(f"{provider:11}" for provider in WIRES))
    for fault in [*STATES, *KINDS]:
        print(f"{fault:14}" + "".join(f"{found.get((fault, provider), '-'):11}" for provider in WIRES))


def model_name(provider: str, fault: str) -> str:
    return f"{provider}-{fault}".replace(":", "-").replace("=", "-")


def judge(provider: str, url: str, model: str = "m", **fields: Any) -> JudgeConfig:
    config: dict[str, Any] = {"name": f"my-{provider}", "provider": provider, "deadline_s": 1.0}
    if provider == "http":
        messages = [{"role": "system", "content": "{system}"}, {"role": "user", "content": "{user}"}]
        config |= {
            "url": f"{url}/v1/chat/completions",
            "body": {"model": model, "messages": messages},
            "answer": "$.choices[0].message.content",
        }
    else:
        config |= {"model": model, "base_url": f"{url}/v1" if provider in ("openai", "xai") else url}
    if provider in ("openai", "http"):
        config["api_key_env"] = KEY_NAMES[provider]
    return TypeAdapter[JudgeConfig](JudgeConfig).validate_python(config | fields)


def adapter(provider: str, url: str, model: str = "m", **fields: Any) -> Adapter:
    return connect(judge(provider, url, model, **fields), ENVIRON)


def outcome(asked: Adapter, prompt: Prompt = PROMPT) -> Completion | ProviderFault:
    try:
        return complete(asked, prompt)
    except ProviderFault as fault:
        return fault


def everything_said(fault: ProviderFault) -> str:
    shown = "".join(traceback.format_exception(fault))
    return f"{shown}{fault!s}{fault!r}{fault.args!r}{fault.__dict__!r}{pickle.dumps(fault)!r}"


@every_fault
@every_wire
def test_trouble_has_the_same_name_everywhere(
    provider: str, fault: str, sim: Simulator, table: dict[tuple[str, str], str]
) -> None:
    model = model_name(provider, fault)
    asked = adapter(provider, sim.url, model)
    found = outcome(asked)
    name = found.kind if isinstance(found, ProviderFault) else found.state
    table[fault, provider] = name
    assert name == OTHERWISE.get((provider, fault), (STATES | KINDS)[fault])
    assert sim.ledger()["by_model"][model]["requests"] == 1, "sent again, or followed elsewhere"
    if isinstance(found, ProviderFault):
        assert_safe_to_keep(found)


def assert_safe_to_keep(fault: ProviderFault) -> None:
    said = everything_said(fault)
    assert KEY not in said
    assert KEY[-8:] not in said
    assert CANARY not in said
    assert len(fault.message) < 400
    again = pickle.loads(pickle.dumps(fault))
    assert vars(again) == vars(fault)
    assert str(again) == str(fault)


@pytest.mark.parametrize(
    ("form", "seconds"), [("seconds=3", 3), ("ms=1500", 1.5), ("date=3", 3.5), ("none", None)]
)
@every_wire
def test_a_rate_fault_says_when_to_come_back(
    provider: str, form: str, seconds: float | None, sim: Simulator
) -> None:
    found = outcome(adapter(provider, sim.url, model_name(provider, f"429:{form}")))
    assert isinstance(found, ProviderFault)
    assert found.kind == "rate"
    assert found.retry_after_s == (pytest.approx(seconds, abs=0.6) if seconds else None)


@every_wire
def test_a_bad_key_names_the_variable_that_holds_it(provider: str, sim: Simulator) -> None:
    found = outcome(adapter(provider, sim.url, model_name(provider, "401")))
    assert isinstance(found, ProviderFault)
    assert KEY_NAMES[provider] in found.message


@every_wire
def test_an_unreadable_reply_can_be_looked_up(provider: str, sim: Simulator) -> None:
    found = outcome(adapter(provider, sim.url, model_name(provider, "malformed")))
    assert isinstance(found, ProviderFault)
    assert bool(found.request_id) == (provider != "google")


@pytest.mark.parametrize("provider", [wire for wire in WIRES if wire != "http"])
def test_tokens_are_those_the_provider_bills(provider: str, sim: Simulator) -> None:
    since = sim.ledger()["requests"]
    answer = complete(adapter(provider, sim.url, "thinker"), PROMPT)
    [billed] = sim.calls(since)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (
        billed["input_tokens"],
        billed["output_tokens"],
    )
    assert answer.usage.thinking_tokens == 50
    assert answer.usage.raw
    assert answer.model == "thinker"
    assert answer.request_id
    assert answer.latency_ms >= 20
    assert answer.cost_usd == 0


@pytest.mark.parametrize("provider", ["anthropic", "openai", "xai"])
def test_headers_tell_the_limits(provider: str, sim: Simulator) -> None:
    sim.set_profiles({f"limited-{provider}": {"rpm": 700, "input_tpm": 80_000}})
    hints = complete(adapter(provider, sim.url, f"limited-{provider}"), PROMPT).rate_hints
    assert hints is not None
    assert (hints.rpm, hints.input_tpm) == (700, 80_000)
    assert (hints.output_tpm is not None) == (provider == "anthropic")


@every_wire
def test_many_coroutines_on_many_loops_share_one_adapter(provider: str, sim: Simulator) -> None:
    shared = adapter(provider, sim.url, "slow", deadline_s=60.0)

    async def ask(number: int) -> str:
        prompt = Prompt("", f'say "answer {number}"', 50, CaseContext("t", str(number)))
        return (await shared.complete(prompt)).text

    async def ask_many(first: int) -> list[str]:
        return await asyncio.gather(*[ask(number) for number in range(first, first + 128)])

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda first: asyncio.run(ask_many(first)), (0, 128)))
    assert answers == [[f"answer {first + at}" for at in range(128)] for first in (0, 128)]


@every_wire
def test_a_missing_key_is_named_before_anything_is_sent(provider: str, sim: Simulator) -> None:
    for environ in ({}, {KEY_NAMES[provider]: "  "}, {KEY_NAMES[provider]: f"{KEY}\r\nx: y"}):
        with pytest.raises(ProviderFault, match=KEY_NAMES[provider]) as caught:
            connect(judge(provider, sim.url), environ)
        assert caught.value.kind == "fatal"
        assert KEY not in everything_said(caught.value)


def test_a_server_of_the_users_own_needs_no_key(sim: Simulator) -> None:
    assert complete(connect(judge("openai", sim.url, api_key_env=None), {}), PROMPT).text == "hello"


@every_wire
def test_an_unreachable_server_is_transient(provider: str) -> None:
    for url in ("http://127.0.0.1:1", "http://no-such-host.invalid"):
        found = outcome(adapter(provider, url))
        assert isinstance(found, ProviderFault)
        assert (found.kind, "nothing was sent" in found.message) == ("transient", True)


@every_wire
def test_no_log_holds_key_prompt_or_answer(
    provider: str, sim: Simulator, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("anthropic").setLevel(logging.DEBUG)
        for model in ("m", model_name(provider, "400"), model_name(provider, "eof")):
            outcome(adapter(provider, sim.url, model))
    assert KEY not in caplog.text
    assert CANARY not in caplog.text
    assert "hello" not in caplog.text


def test_half_a_character_in_a_prompt_is_permanent(sim: Simulator) -> None:
    for provider in ("anthropic", "openai", "xai", "http"):
        found = outcome(adapter(provider, sim.url), Prompt("", "\ud800", 10, CaseContext("t", "c")))
        assert isinstance(found, ProviderFault)
        assert found.kind == "permanent"


def test_no_sdk_is_imported_before_a_judge_needs_it() -> None:
    program = (
        "import sys\n"
        "from importlib import import_module\n"
        "for name in ('anthropic', 'openai', 'google', 'http'):\n"
        "    import_module(f'evalq.calling.providers.{name}')\n"
        "print([m for m in ('anthropic', 'openai', 'google.genai', 'jsonpath_ng') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def local_judge(provider: str, **fields: Any) -> JudgeConfig:
    return TypeAdapter[JudgeConfig](JudgeConfig).validate_python(
        {"name": "local", "provider": provider} | fields
    )


def echoing(source: str) -> JudgeConfig:
    return local_judge("command", command=[sys.executable, "-c", source])


LOCAL_FAULTS = [
    (local_judge("python", callable="json:loads"), "permanent"),
    (local_judge("simulated", model="s", time_scale=0, misbehaviour={"error": 1.0}), "transient"),
    (echoing("import sys; sys.exit(3)"), "permanent"),
    (local_judge("command", command=["/no/such/program"]), "fatal"),
    (
        local_judge("command", command=[sys.executable, "-c", "import time; time.sleep(9)"], timeout_s=0.5),
        "ambiguous",
    ),
]


@pytest.mark.parametrize(("config", "kind"), LOCAL_FAULTS, ids=lambda item: getattr(item, "provider", item))
def test_local_judges_fail_by_the_same_kinds(config: JudgeConfig, kind: str) -> None:
    found = outcome(connect(config, ENVIRON))
    assert isinstance(found, ProviderFault)
    assert found.kind == kind
    assert KEY not in pickle.dumps(found).decode("latin-1")
    assert vars(pickle.loads(pickle.dumps(found))) == vars(found)


LOCAL_ANSWERS = [
    (local_judge("python", callable="json:dumps"), "answered"),
    (local_judge("simulated", model="s", time_scale=0, misbehaviour={"empty": 1.0}), "empty"),
    (echoing("""print('{"answer": "yes"}')"""), "answered"),
    (echoing("""print('{"answer": " "}')"""), "empty"),
    (echoing("print('hello')"), "answered"),
]


@pytest.mark.parametrize(("config", "state"), LOCAL_ANSWERS, ids=lambda item: getattr(item, "provider", item))
def test_local_judges_answer_in_the_same_states(config: JudgeConfig, state: str) -> None:
    found = outcome(connect(config, ENVIRON))
    assert isinstance(found, Completion)
    assert found.state == state
    assert found.is_answer == (state == "answered")
