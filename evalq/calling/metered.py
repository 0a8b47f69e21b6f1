"""The metered call: permit, reserve, ask, settle, for every attempt alike, judging and grading alike."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from tenacity import RetryCallState, Retrying, retry_if_exception

from evalq.calling.failpoints import failpoint
from evalq.calling.pricing import cost_usd, worst_case_usd
from evalq.calling.providers import Adapter
from evalq.calling.rate_limit import Gatekeeper, Permit
from evalq.calling.spool import Spool
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack
from evalq.records import Completion, Prompt, Purpose
from evalq.store import calls
from evalq.store.database import Database
from evalq.store.jobs import Job, storable

_POLL_S = 0.1
_PATIENCE_S = 5.0
"""Room comes back when a call settles below its worst case: waiting beats going back in line."""

_BACK_IN_LINE_S = 1.0


def reserve(db: Database, job: Job, call: calls.Call) -> int:
    """Set a call's worst case aside and open its journal row; return its id.

    Raises CapReached when it would not fit even alone, PutBack when it must wait or the bake-off stopped.
    """
    for _ in range(round(_PATIENCE_S / _POLL_S)):
        call_id = calls.reserve(db, job, call)
        if call_id is not None:
            return call_id
        time.sleep(_POLL_S)
    raise PutBack("calls in flight hold the rest of the cap", wait_s=_BACK_IN_LINE_S)


MAX_ATTEMPTS = 6
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 20.0

PATIENCE_S = 20.0
"""The longest wait in a slot; for more the job goes back to ready."""


def is_repeatable(fault: ProviderFault) -> bool:
    """Faults that another attempt may mend."""
    return fault.kind in ("rate", "transient", "ambiguous")


def with_retries(
    call: Callable[[int], Completion],
    *,
    sleep: Callable[[float], None],
    rng: Random,
    made: int = 0,
    ambiguous: int = 0,
    ambiguous_repeats: int = 1,
) -> Completion:
    """Run `call(n)` until it answers, the fault is not worth repeating, or patience ends.

    `made` calls, `ambiguous` of them, were made for the same question by earlier holders of the job. An
    ambiguous call may have been billed: it is repeated `ambiguous_repeats` times at most.
    """
    limit = max(MAX_ATTEMPTS, ambiguous_repeats + 1)
    if made >= limit or ambiguous > ambiguous_repeats:
        raise ProviderFault("permanent", f"given up after {made} calls, {ambiguous} of them perhaps billed")

    def is_worth_repeating(exc: BaseException) -> bool:
        nonlocal ambiguous
        if not isinstance(exc, ProviderFault):
            return False
        ambiguous += exc.kind == "ambiguous"
        return is_repeatable(exc) and ambiguous <= ambiguous_repeats

    retrying = Retrying(
        retry=retry_if_exception(is_worth_repeating),
        stop=lambda state: made + state.attempt_number >= limit,
        wait=lambda state: _wait_s(state.attempt_number, _asked_s(state), rng),
        sleep=sleep,
        reraise=True,
    )
    for attempt in retrying:
        with attempt:
            return call(attempt.retry_state.attempt_number)
    raise AssertionError("tenacity returns or raises")


def _asked_s(state: RetryCallState) -> float:
    """How long the provider asked to be left alone."""
    fault = state.outcome.exception() if state.outcome else None
    return fault.retry_after_s or 0.0 if isinstance(fault, ProviderFault) else 0.0


def _wait_s(attempt: int, asked_s: float, rng: Random) -> float:
    """Full-jitter backoff, but never earlier than the provider asked: jitter only adds to that."""
    if asked_s > PATIENCE_S:
        raise PutBack(f"the provider asks to wait {asked_s:.0f} s", wait_s=asked_s)
    backoff = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S) * rng.random()
    return max(backoff, asked_s * (1 + 0.1 * rng.random()))


_BUDGET_EMPTY_S = 15.0


@dataclass(frozen=True)
class ConnectedJudge:
    """A judge that can be asked."""

    judge: JudgeConfig
    adapter: Adapter


@dataclass(frozen=True)
class Meter:
    """Asks on behalf of one job: within limits and caps, journalled, repeated by kind of fault."""

    db: Database
    gatekeeper: Gatekeeper
    spool: Spool
    job: Job

    def ask(
        self, caller: ConnectedJudge, prompt: Prompt, purpose: Purpose, *, margin_usd: Decimal = Decimal(0)
    ) -> Completion:
        """The answer, after as many attempts as are safe."""
        key = question_key(prompt, caller.judge)
        if paid := calls.paid_reply(self.db, self.job, key):
            return paid
        before = calls.tries_before(self.db, self.job, key)
        call = calls.Call(caller.judge, purpose, key, 0, worst_case_usd(caller.judge, prompt), margin_usd)
        rng = Random(f"{self.job.id}/{self.job.attempt}/{key}")  # noqa: S311 - spreads waits, keeps no secret
        return with_retries(
            lambda n: self._attempt(caller, prompt, replace(call, attempt=before.made + n)),
            sleep=self.gatekeeper.sleep,
            rng=rng,
            made=before.made,
            ambiguous=before.ambiguous,
            ambiguous_repeats=self.job.ambiguous_repeats,
        )

    def _attempt(self, caller: ConnectedJudge, prompt: Prompt, call: calls.Call) -> Completion:
        """One call: nothing is sent without permit and reservation, nothing answered without settling."""
        self.spool.require_room()
        permit = self.gatekeeper.take(caller.judge, prompt)
        try:
            call_id = reserve(self.db, self.job, call)
        except BaseException:
            self.gatekeeper.give_back(permit)
            raise
        failpoint("before_send", self.job.case.id)
        try:
            answer = caller.adapter.complete(_numbered(prompt, call))
        except ProviderFault as fault:
            self._settle_fault(permit, call_id, fault)
            raise
        completion = replace(
            answer, text=storable(answer.text) or "", cost_usd=cost_usd(caller.judge, answer.usage)
        )
        failpoint("after_answer", self.job.case.id)
        self.spool.settle(call_id, calls.answered(completion))
        self.gatekeeper.answered(permit, completion)
        return completion

    def _settle_fault(self, permit: Permit, call_id: int, fault: ProviderFault) -> None:
        self.spool.settle(call_id, calls.failed(fault))
        may_repeat = self.gatekeeper.failed(permit, fault)
        if is_repeatable(fault) and not may_repeat:
            name = permit.judge.provider
            raise PutBack(
                f"{name} fails too often to be asked again at once", wait_s=_BUDGET_EMPTY_S
            ) from fault


def question_key(prompt: Prompt, judge: JudgeConfig) -> str:
    """Names a question to a judge: equal for every attempt, on whichever worker."""
    about = prompt.about
    said = [f"{turn.role}: {turn.text}" for turn in prompt.turns]
    parts = (judge.gate, about.task, about.case_id, str(about.sample), prompt.system, *said, prompt.user)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _numbered(prompt: Prompt, call: calls.Call) -> Prompt:
    return replace(prompt, about=replace(prompt.about, attempt=call.attempt, call_key=call.key))
