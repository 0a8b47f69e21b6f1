"""What becomes of each fault: its kind, how many calls are made, how the job ends; printed as a table."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from evalq.calling.metered import CallControl, ConnectedJudge, Meter
from evalq.calling.providers import connect
from evalq.definitions.judge import AnthropicJudge, GoogleJudge, JudgeConfig, OpenAIJudge, Price
from evalq.engines.simulator.process import Simulator, running_simulator
from evalq.errors import ProviderFault, PutBack
from evalq.records import CaseContext, Prompt
from evalq.store import jobs
from evalq.store.database import Database

AGAIN_LATER = ("rate", 1, "put back: gate closed")
REPEATED = ("transient", 6, "errored: call_transient")
ONCE_MORE = ("ambiguous", 2, "errored: call_ambiguous")
NEVER = ("permanent", 1, "errored: call_permanent")
PAUSED = ("fatal", 1, "judge paused")

POLICY: dict[str, tuple[str, int, str]] = {
    "ok": ("-", 1, "graded"),
    "empty": ("-", 1, "errored: empty"),
    "blocked": ("-", 1, "errored: blocked"),
    "refusal": ("-", 1, "errored: refused"),
    "truncated": ("-", 1, "errored: truncated"),
    "429:seconds=3": AGAIN_LATER,
    "429:date=30": AGAIN_LATER,
    "429:ms=1500": AGAIN_LATER,
    "503": REPEATED,
    "529": REPEATED,
    "500": ONCE_MORE,
    "502": ONCE_MORE,
    "reset_before": ONCE_MORE,
    "reset_after": ONCE_MORE,
    "reset_body": ONCE_MORE,
    "eof": ONCE_MORE,
    "hang": ONCE_MORE,
    "drip": ONCE_MORE,
    "malformed": ONCE_MORE,
    "html": ONCE_MORE,
    "wrong_shape": ONCE_MORE,
    "400": NEVER,
    "404": NEVER,
    "413": NEVER,
    "redirect": NEVER,
    "401": PAUSED,
    "403": PAUSED,
    "quota": PAUSED,
}
# Gemini has no word for a refusal: it blocks.
EXCEPTIONS = {("google", "refusal"): ("-", 1, "errored: blocked")}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with running_simulator() as simulator:
        yield simulator


def judges(simulator: Simulator, fault: str) -> list[JudgeConfig]:
    """One judge per protocol that meets this fault at every call."""
    known: dict[str, Any] = {
        "model": f"m-{fault}",
        "price": Price(input=1, output=1),
        "deadline_s": 0.5,
        "api_key_env": "KEY",
    }
    return [
        AnthropicJudge(name="anthropic", provider="anthropic", base_url=simulator.url, **known),
        OpenAIJudge(name="openai", provider="openai", base_url=simulator.openai_url, **known),
        GoogleJudge(name="google", provider="google", base_url=simulator.url, **known),
    ]


async def outcome_of(meter: Meter, judge: JudgeConfig) -> tuple[str, str]:
    """The kind of the fault and the end of the job, as workers/jobs.py decides it."""
    prompt = Prompt("system", 'say "hello"', 64, CaseContext("t", "c"))
    asked = ConnectedJudge(judge, connect(judge, {"KEY": "sk-test"}))
    try:
        completion = await meter.ask(asked, prompt, "answer")
    except ProviderFault as fault:
        return fault.kind, "judge paused" if fault.kind == "fatal" else f"errored: call_{fault.kind}"
    except PutBack:
        return "rate", "put back: gate closed"
    return "-", "graded" if completion.is_answer else f"errored: {completion.state}"


def test_every_fault_is_met_as_the_policy_says(
    db: Database,
    control: CallControl,
    runner: asyncio.Runner,
    valkey: "redis.Redis",
    record: Callable[..., int],
    job_ids: Callable[[int], list[int]],
    simulator: Simulator,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = jobs.claim(db, job_ids(record(1))[0], lease_s=600)
    assert job
    meter = Meter(control, job)
    met: dict[tuple[str, str], tuple[str, int, str]] = {}
    for fault in POLICY:
        for judge in judges(simulator, fault):
            simulator.reset()
            simulator.set_profiles({judge.model: {"schedule": [fault] * 9}} if fault != "ok" else {})
            valkey.flushdb()
            kind, end = runner.run(outcome_of(meter, judge))
            met[judge.name, fault] = (kind, simulator.ledger()["requests"], end)
    with capsys.disabled():
        print("\n" + table(met))
    expected = {(name, fault): EXCEPTIONS.get((name, fault), POLICY[fault]) for name, fault in met}
    assert met == expected


def table(met: dict[tuple[str, str], tuple[str, int, str]]) -> str:
    lines = [f"{'fault':<15}{'SDK':<11}{'kind':<11}{'calls':<7}outcome"]
    lines += [
        f"{fault:<15}{name:<11}{kind:<11}{calls:<7}{end}" for (name, fault), (kind, calls, end) in met.items()
    ]
    return "\n".join(lines)
