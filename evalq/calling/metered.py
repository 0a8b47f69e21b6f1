"""The metered call: reserve, ask, settle, for every attempt alike, judging and grading alike."""

import time
from dataclasses import dataclass, replace
from random import Random

from evalq.calling import budget
from evalq.calling.retry import with_retries
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault
from evalq.pricing import cost_usd, worst_case_usd
from evalq.providers import Adapter
from evalq.records import Ask, Completion, Prompt, Purpose
from evalq.store import calls
from evalq.store.database import Database
from evalq.store.jobs import Job


@dataclass(frozen=True)
class Caller:
    """A judge that can be asked."""

    judge: JudgeConfig
    adapter: Adapter


def metered(db: Database, job: Job, caller: Caller, *, purpose: Purpose) -> Ask:
    """An `ask` on behalf of one job: within the cap, journalled, repeated by kind of fault."""

    def ask(prompt: Prompt) -> Completion:
        rng = Random(f"{job.id}/{job.attempt}/{purpose}")  # noqa: S311 - spreads waits, keeps no secret
        return with_retries(
            lambda attempt: _attempt(db, job, caller, prompt, purpose, attempt), sleep=time.sleep, rng=rng
        )

    return ask


def _attempt(
    db: Database, job: Job, caller: Caller, prompt: Prompt, purpose: Purpose, attempt: int
) -> Completion:
    """One call: nothing is sent without a reservation, nothing answered without being settled."""
    usd = worst_case_usd(caller.judge, prompt)
    call_id = budget.reserve(db, job, caller.judge, purpose=purpose, attempt=attempt, usd=usd)
    try:
        answer = caller.adapter.complete(replace(prompt, about=replace(prompt.about, attempt=attempt)))
    except ProviderFault as fault:
        calls.settle_fault(db, call_id, fault)
        raise
    completion = replace(answer, cost_usd=cost_usd(caller.judge, answer.usage))
    calls.settle(db, call_id, completion)
    return completion
