"""The metered call: permit, reserve, ask, settle, for every attempt alike, judging and grading alike."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random

from tenacity import AsyncRetrying, retry_if_exception

from evalq.calling.failpoints import failpoint
from evalq.calling.pricing import stated_cost_usd, worst_case_usd
from evalq.calling.providers import Adapter
from evalq.calling.rate_limit import MAX_WAIT_S, Gatekeeper, Permit
from evalq.calling.spool import Spool
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack
from evalq.records import Completion, Prompt, Purpose
from evalq.store import calls
from evalq.store.batches import Batches
from evalq.store.database import Database
from evalq.store.jobs import Job, storable

MAX_ATTEMPTS = 6
_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 20.0
_OUTAGE_S = 6.0
"""A restart or a failover usually takes less."""

_CAP_POLL_S = 0.1
_CAP_PATIENCE_S = 5.0
"""Calls in flight settle below their worst case and make room: waiting a little beats going back in line."""

_CAP_FULL_S = 1.0
_RETRY_BUDGET_EMPTY_S = 15.0


@dataclass(frozen=True)
class ConnectedJudge:
    """A judge that can be asked."""

    judge: JudgeConfig
    adapter: Adapter


@dataclass(frozen=True)
class CallControl:
    """What the calls of a process share; `slots` bounds how many are in flight."""

    db: Database
    batches: Batches
    gatekeeper: Gatekeeper
    spool: Spool
    slots: asyncio.Semaphore


@dataclass(frozen=True)
class Meter:
    """Asks on behalf of one job: within limits and caps, journalled, repeated by kind of fault."""

    control: CallControl
    job: Job

    async def ask(
        self, asked: ConnectedJudge, prompt: Prompt, purpose: Purpose, *, margin_usd: Decimal = Decimal(0)
    ) -> Completion:
        """The answer, after as many attempts as are safe; `margin_usd` must stay free under the cap."""
        key = question_key(prompt, asked.judge)
        before = calls.Tries()
        if self.job.attempt > 1:
            db = self.control.db
            if paid := await asyncio.to_thread(calls.paid_reply, db, self.job, key):
                return paid
            before = await asyncio.to_thread(calls.tries_before, db, self.job, key)
        call = calls.Call(asked.judge, purpose, key, 0, worst_case_usd(asked.judge, prompt), margin_usd)
        rng = Random(f"{self.job.id}/{self.job.attempt}/{key}")  # noqa: S311 - spreads waits, keeps no secret
        return await with_retries(
            lambda n: self._attempt(asked, prompt, replace(call, attempt=before.made + before.throttled + n)),
            sleep=self.control.gatekeeper.sleep,
            rng=rng,
            before=before,
            ambiguous_repeats=self.job.ambiguous_repeats,
        )

    async def _attempt(self, asked: ConnectedJudge, prompt: Prompt, call: calls.Call) -> Completion:
        """One call: nothing is sent without permit and reservation, nothing answered without settling."""
        control = self.control
        control.spool.require_room()
        # All within the slot: no permit grows old waiting for one, and a kill loses at most one a slot.
        async with control.slots:
            permit = await control.gatekeeper.take(asked.judge, prompt)
            try:
                call_id = await self._reserve(call)
            except BaseException:
                await control.gatekeeper.give_back(permit)
                raise
            failpoint("before_send", self.job.case.id)
            try:
                answer = await asked.adapter.complete(_number_call(prompt, call))
            except ProviderFault as fault:
                await self._settle_fault(permit, call_id, fault)
                raise
            completion = _price_answer(asked.judge, answer, call)
            failpoint("after_answer", self.job.case.id)
            await control.spool.settle(call_id, calls.answered(completion))
        await control.gatekeeper.answered(permit, completion)
        return completion

    async def _reserve(self, call: calls.Call) -> int:
        """Set a call's worst case aside and open its journal row; return its id.

        Raises CapReached when it would not fit even alone, PutBack when it must wait or the bake-off stopped.
        """
        for _ in range(round(_CAP_PATIENCE_S / _CAP_POLL_S)):
            call_id = await self.control.batches.reserve(self.job, call)
            if call_id is not None:
                return call_id
            await self.control.gatekeeper.sleep(_CAP_POLL_S)
        raise PutBack("calls in flight hold the rest of the cap", wait_s=_CAP_FULL_S)

    async def _settle_fault(self, permit: Permit, call_id: int, fault: ProviderFault) -> None:
        """Settle a failed call; PutBack when the gate has no retry left, fatal when the judge is dead."""
        await self.control.spool.settle(call_id, calls.failed(fault))
        gate = await self.control.gatekeeper.failed(permit, fault)
        if gate.is_dead:
            since = f"no call has been answered for {gate.failing_s:.0f} s, {gate.failures} have failed"
            raise ProviderFault("fatal", f"{fault.message}; {since}") from fault
        if is_repeatable(fault) and not gate.is_within_budget:
            reason = f"{permit.judge.name} fails too often to be asked again at once"
            raise PutBack(reason, wait_s=_RETRY_BUDGET_EMPTY_S) from fault


async def with_retries(
    call: Callable[[int], Awaitable[Completion]],
    *,
    sleep: Callable[[float], Awaitable[None]],
    rng: Random,
    before: calls.Tries | None = None,
    ambiguous_repeats: int = 1,
) -> Completion:
    """Run `call(n)` until it answers, the fault is not worth repeating, or patience ends.

    `before` counts the calls that earlier holders of the job made for the same question. A call that may have
    been billed is repeated at most `ambiguous_repeats` times. A 429 is not an attempt: the call was not
    processed, and being slow never fails a case.
    """
    attempts = _Attempts(before or calls.Tries(), ambiguous_repeats)
    if attempts.are_spent:
        raise ProviderFault("permanent", f"given up after {attempts.made} calls, some perhaps billed")
    retrying = AsyncRetrying(
        retry=retry_if_exception(is_repeatable),
        stop=lambda _: attempts.are_spent,
        wait=lambda _: _backoff_s(attempts, rng),
        sleep=sleep,
        reraise=True,
    )
    return await retrying(attempts.run, call)


@dataclass
class _Attempts:
    """The attempts at one question: those of earlier holders of the job, and the faults since."""

    before: calls.Tries
    ambiguous_repeats: int
    faults: list[ProviderFault] = field(default_factory=list)

    async def run(self, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make the next attempt, and keep its fault."""
        try:
            return await call(len(self.faults) + 1)
        except ProviderFault as fault:
            self.faults.append(fault)
            raise

    @property
    def since(self) -> int:
        """Calls that failed since; throttled ones do not count."""
        return sum(fault.kind != "rate" for fault in self.faults)

    @property
    def made(self) -> int:
        """All calls that failed."""
        return self.before.made + self.since

    @property
    def are_spent(self) -> bool:
        """Whether no further attempt is allowed."""
        perhaps_billed = self.before.ambiguous + sum(fault.kind == "ambiguous" for fault in self.faults)
        limit = max(MAX_ATTEMPTS, self.ambiguous_repeats + 1)
        return self.made >= limit or perhaps_billed > self.ambiguous_repeats


def is_repeatable(fault: BaseException) -> bool:
    """Whether another attempt may succeed."""
    return isinstance(fault, ProviderFault) and fault.kind in ("rate", "transient", "ambiguous")


def _backoff_s(attempts: _Attempts, rng: Random) -> float:
    """Full-jitter backoff, but never shorter than the provider asked for: jitter only adds to that.

    A call that may have been billed has few repeats, so its repeat waits until a short outage is over.
    """
    fault = attempts.faults[-1]
    asked_s = fault.retry_after_s or 0.0
    if asked_s > MAX_WAIT_S:
        raise PutBack(f"the provider asks to wait {asked_s:.0f} s", wait_s=asked_s)
    backoff_s = min(_FIRST_BACKOFF_S * 2.0 ** max(attempts.since - 1, 0), _LONGEST_BACKOFF_S) * rng.random()
    if fault.kind == "ambiguous":
        backoff_s = _OUTAGE_S * (1 + rng.random())
    return max(backoff_s, asked_s * (1 + 0.1 * rng.random()))


def question_key(prompt: Prompt, judge: JudgeConfig) -> str:
    """The name of a question to a judge: equal for every attempt, on every worker."""
    about = prompt.about
    turns = [f"{turn.role}: {turn.text}" for turn in prompt.turns]
    parts = [judge.gate, about.task, about.case_id, str(about.sample), prompt.system, *turns, prompt.user]
    if prompt.reply_schema is not None:  # two graders may differ in nothing else
        parts.append(json.dumps(prompt.reply_schema, sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _price_answer(judge: JudgeConfig, answer: Completion, call: calls.Call) -> Completion:
    """The answer as it is stored, with its cost: the whole reservation when nothing states it."""
    usd = stated_cost_usd(judge, answer)
    return replace(
        answer,
        text=storable(answer.text) or "",
        cost_usd=call.usd if usd is None else usd,
        is_cost_assumed=usd is None and call.usd > 0,
    )


def _number_call(prompt: Prompt, call: calls.Call) -> Prompt:
    return replace(prompt, about=replace(prompt.about, attempt=call.attempt, call_key=call.key))
