import asyncio
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from evalq.calling.metered import MAX_ATTEMPTS, question_key, with_retries
from evalq.definitions.judge import SimulatedJudge
from evalq.errors import FaultKind, ProviderFault, PutBack
from evalq.records import CaseContext, Completion, Prompt
from evalq.store.calls import Tries

ANSWER = Completion("answered", "yes")


@dataclass
class Provider:
    """Raises its faults one after the other, the last for ever, then answers; notes calls and waits."""

    faults: list[Exception]
    is_endless: bool = False
    attempts: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def call(self, attempt: int) -> Completion:
        self.attempts.append(attempt)
        if len(self.faults) >= attempt:
            raise self.faults[attempt - 1]
        if self.is_endless:
            raise self.faults[-1]
        return ANSWER

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def ask(self, seed: int = 0) -> Completion:
        return asyncio.run(with_retries(self.call, sleep=self.wait, rng=Random(seed)))


def fault(kind: FaultKind, retry_after_s: float | None = None) -> ProviderFault:
    return ProviderFault(kind, "simulated", retry_after_s=retry_after_s)


def test_an_answer_at_once_needs_one_call_and_no_wait() -> None:
    provider = Provider([])
    assert provider.ask() == ANSWER
    assert (provider.attempts, provider.waits) == ([1], [])


@pytest.mark.parametrize("kind", ["rate", "transient", "ambiguous"])
def test_a_fault_that_may_pass_is_followed_by_another_attempt(kind: FaultKind) -> None:
    provider = Provider([fault(kind)])
    assert provider.ask() == ANSWER
    assert provider.attempts == [1, 2]


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        ("transient", MAX_ATTEMPTS),
        ("ambiguous", 2),
        ("permanent", 1),
        ("fatal", 1),
    ],
)
def test_patience_depends_on_the_kind_of_fault(kind: FaultKind, calls: int) -> None:
    provider = Provider([fault(kind)], is_endless=True)
    with pytest.raises(ProviderFault) as caught:
        provider.ask()
    assert caught.value.kind == kind
    assert len(provider.attempts) == calls
    assert len(provider.waits) == calls - 1


def test_being_throttled_is_not_an_attempt() -> None:
    provider = Provider([fault("rate")] * 100 + [fault("transient")] * (MAX_ATTEMPTS - 1))
    assert provider.ask() == ANSWER
    assert len(provider.attempts) == 100 + MAX_ATTEMPTS


@pytest.mark.parametrize("seed", range(20))
def test_the_repeat_of_a_call_perhaps_billed_waits_until_a_short_outage_is_over(seed: int) -> None:
    provider = Provider([fault("ambiguous")])
    provider.ask(seed)
    [wait_s] = provider.waits
    assert wait_s > 5


def test_what_may_have_been_billed_is_repeated_once_whatever_lies_between() -> None:
    provider = Provider([fault("ambiguous"), fault("transient"), fault("ambiguous")])
    with pytest.raises(ProviderFault, match="ambiguous"):
        provider.ask()
    assert provider.attempts == [1, 2, 3]


def test_what_is_no_fault_of_the_provider_is_not_repeated() -> None:
    provider = Provider([ValueError("ours")])
    with pytest.raises(ValueError, match="ours"):
        provider.ask()
    assert provider.attempts == [1]


@pytest.mark.parametrize("seed", range(20))
def test_what_the_provider_asked_for_is_waited_and_jitter_only_adds(seed: int) -> None:
    provider = Provider([fault("rate", retry_after_s=10.0)])
    provider.ask(seed)
    [wait_s] = provider.waits
    assert 10.0 <= wait_s <= 11.0


def test_a_wait_longer_than_a_slot_may_be_held_puts_the_job_back() -> None:
    provider = Provider([fault("rate", retry_after_s=600.0)])
    with pytest.raises(PutBack) as caught:
        provider.ask()
    assert (caught.value.wait_s, provider.waits) == (600.0, [])


@pytest.mark.parametrize(("made", "ambiguous"), [(MAX_ATTEMPTS, 0), (2, 2)])
def test_what_earlier_holders_of_the_job_tried_counts(made: int, ambiguous: int) -> None:
    provider = Provider([])
    before = Tries(made, ambiguous)
    with pytest.raises(ProviderFault, match="given up"):
        asyncio.run(with_retries(provider.call, sleep=provider.wait, rng=Random(0), before=before))
    assert provider.attempts == []


@pytest.mark.parametrize("seed", range(20))
def test_waits_double_at_most_and_are_spread_below_that(seed: int) -> None:
    provider = Provider([fault("transient")] * (MAX_ATTEMPTS - 1))
    provider.ask(seed)
    bounds = [0.5 * 2**n for n in range(MAX_ATTEMPTS - 1)]
    assert all(0 <= wait_s <= bound for wait_s, bound in zip(provider.waits, bounds, strict=True))


def test_two_callers_do_not_wait_in_step_and_one_does_so_again() -> None:
    providers = [Provider([fault("transient")] * 3) for _ in range(3)]
    for provider, seed in zip(providers, (1, 1, 2), strict=True):
        provider.ask(seed)
    assert providers[0].waits == providers[1].waits != providers[2].waits


@pytest.mark.parametrize("repeats", [0, 1, 9])
def test_a_call_perhaps_billed_is_repeated_as_often_as_allowed(repeats: int) -> None:
    provider = Provider([fault("ambiguous")], is_endless=True)
    with pytest.raises(ProviderFault, match="simulated"):
        asyncio.run(
            with_retries(provider.call, sleep=provider.wait, rng=Random(0), ambiguous_repeats=repeats)
        )
    assert len(provider.attempts) == min(1 + repeats, max(MAX_ATTEMPTS, repeats + 1))


def test_questions_that_differ_in_the_form_of_the_reply_are_two_questions() -> None:
    judge = SimulatedJudge(name="j", provider="simulated", model="m")
    asked = Prompt("system", "user", 16, CaseContext("t", "c"))
    yes_no = replace(asked, reply_schema={"type": "object", "required": ["passed"]})
    score = replace(asked, reply_schema={"type": "object", "required": ["score"]})
    assert len({question_key(prompt, judge) for prompt in (asked, yes_no, score)}) == 3
    assert question_key(yes_no, judge) == question_key(replace(yes_no), judge)
