"""The metered call: permit, reserve, ask, settle, for every attempt alike, judging and grading alike."""

import hashlib
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from evalq.calling import budget
from evalq.calling.rate_limit import Gatekeeper, Permit
from evalq.calling.retry import is_repeatable, with_retries
from evalq.calling.spool import Spool
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack
from evalq.failpoints import failpoint
from evalq.pricing import cost_usd, worst_case_usd
from evalq.providers import Adapter
from evalq.records import Completion, Prompt, Purpose
from evalq.store import calls
from evalq.store.database import Database
from evalq.store.jobs import Job, storable

_BUDGET_EMPTY_S = 15.0


@dataclass(frozen=True)
class Caller:
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
        self, caller: Caller, prompt: Prompt, purpose: Purpose, *, margin_usd: Decimal = Decimal(0)
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

    def _attempt(self, caller: Caller, prompt: Prompt, call: calls.Call) -> Completion:
        """One call: nothing is sent without permit and reservation, nothing answered without settling."""
        self.spool.require_room()
        permit = self.gatekeeper.take(caller.judge, prompt)
        try:
            call_id = budget.reserve(self.db, self.job, call)
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
