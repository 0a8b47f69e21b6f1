"""One limiter for the fleet: a permit per call, taken in one script at the broker, breaker included."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import NoReturn
from uuid import uuid4

from evalq.calling.gate_batches import (
    MAX_WAIT_S,
    CallResult,
    GateAnswer,
    GateBatches,
    GateState,
    PermitRequest,
    Scripts,
    Settlement,
)
from evalq.calling.gate_queue import GateQueue
from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack, Unreachable
from evalq.records import Completion, Prompt, RateHints

__all__ = ["MAX_WAIT_S", "GateState", "Gatekeeper", "Permit", "Scripts", "estimate_tokens"]

log = logging.getLogger(__name__)

FIRST_ROOM = 32
"""Calls in flight at a gate whose limit is learned, to begin with."""

_UNREACHABLE_S = 10.0
_THROTTLED_TIMES = 10
"""A throttled judge is alive: it may go without an answer this many times longer than a failing one."""

_BROKER_AWAY_S = 5.0
_BUSY_S = 5.0
_SHORTEST_LINE = 16
_CHARS_PER_TOKEN = 3
_ENVELOPE_TOKENS = 16


@dataclass(frozen=True)
class Permit:
    """The right to make one call now, and the tokens set aside for it."""

    call: str
    judge: JudgeConfig
    input_tokens: int
    output_tokens: int
    epoch: int = 0
    """How often the gate's pace had been lowered when the permit was granted."""


class Gatekeeper:
    """Gives permits at the gates of judges; `dead_after_s` without an answer a failing judge is dead.

    If it `is_adaptive`, a gate without a limit of calls in flight learns one: see settle_permits.lua.
    What its callers ask within a tick shares a round trip. Belongs to the event loop that uses it.
    """

    def __init__(
        self,
        scripts: Scripts,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        dead_after_s: float = 60.0,
        is_adaptive: bool = False,
    ) -> None:
        self._batches = GateBatches(scripts)
        self._first_room = FIRST_ROOM if is_adaptive else None
        self._queues: dict[str, GateQueue] = defaultdict(lambda: GateQueue(sleep))
        self._dead_after_s = dead_after_s
        self._in_passing: set[asyncio.Task[GateState]] = set()
        self.sleep = sleep

    async def take(self, judge: JudgeConfig, prompt: Prompt) -> Permit:
        """Wait for a permit. Raises PutBack when the wait is long or the broker away: no limiter, no call."""
        permit = Permit(uuid4().hex, judge, estimate_tokens(prompt), prompt.max_tokens)
        try:
            return await self._wait_for(permit)
        except asyncio.CancelledError:
            # Perhaps granted in a batch that is under way; what was not granted is not given back.
            self._settle_in_passing(self._settlement(permit, "unused"))
            raise

    async def _wait_for(self, permit: Permit) -> Permit:
        waited_s = 0.0
        while True:
            answer = await self._ask(permit, is_waiting=waited_s > 0)
            permit = replace(permit, epoch=answer.epoch)
            if answer.is_paced or waited_s + answer.wait_s > MAX_WAIT_S:
                await self._send_away(permit, f"closed for {answer.wait_s:.0f} s", wait_s=answer.wait_s)
            if answer.granted and answer.wait_s == 0:
                self._queues[permit.judge.gate].call_next()  # there may be more places
                return permit
            waited_s += await self._wait_or_give_back(permit, answer)
            if answer.granted and await self._is_still_good(permit):
                return permit
            if answer.granted:
                await self.give_back(permit)

    async def _wait_or_give_back(self, permit: Permit, answer: GateAnswer) -> float:
        """Wait as the gate says, or in line for a place; return for how long, in seconds.

        When the worker stops in between, give the permit back.
        """
        queue = self._queues[permit.judge.gate]
        if answer.places and len(queue) >= max(_SHORTEST_LINE, 2 * answer.places):
            await self._send_away(permit, f"busy with {answer.places} calls", wait_s=_BUSY_S)
        try:
            if answer.places:
                return await queue.wait()
            await self.sleep(answer.wait_s)
            return answer.wait_s
        except PutBack:
            await self.give_back(permit)
            raise

    async def _send_away(self, permit: Permit, why: str, *, wait_s: float) -> NoReturn:
        """Give up on a permit whose wait would be long: the slot is free for other judges."""
        await self.give_back(permit)
        raise PutBack(f"the gate of {permit.judge.name} is {why}", wait_s=wait_s)

    async def answered(self, permit: Permit, completion: Completion) -> None:
        """Settle an answered call with the tokens it really took, without waiting for the broker.

        A settlement that is lost frees its place when the call's life ends, like that of a killed worker.
        """
        used = completion.usage
        settlement = self._settlement(
            permit, "ok", (used.input_tokens, used.output_tokens), hints=completion.rate_hints
        )
        if self._first_room:
            settlement = replace(settlement, latency=completion.latency_ms)
        self._settle_in_passing(settlement)
        self._queues[permit.judge.gate].call_next()
        await asyncio.sleep(0)  # now it is in line, in front of any permit that this caller asks for next

    async def failed(self, permit: Permit, fault: ProviderFault) -> GateState:
        """Settle a call that failed; what it teaches is known to the whole fleet when this returns."""
        reserved = (permit.input_tokens, permit.output_tokens)
        match fault.kind:
            case "rate":
                settlement = replace(
                    self._settlement(permit, "rate", hints=fault.rate_hints),
                    closed=(fault.retry_after_s or 0.0) * 1000 or None,
                    dead_after=self._dead_after_s * _THROTTLED_TIMES * 1000,
                )
            case "transient":
                settlement = self._settlement(permit, "failed")
                if fault.is_unreachable:
                    sooner_s = min(_UNREACHABLE_S, self._dead_after_s)
                    settlement = replace(settlement, dead_after=sooner_s * 1000)
            case "ambiguous":
                settlement = self._settlement(permit, "failed", reserved)
            case "permanent" | "fatal":
                settlement = self._settlement(permit, "other")
        state = await self._settle(settlement)
        self._queues[permit.judge.gate].call_next()
        return state

    async def give_back(self, permit: Permit) -> None:
        """Settle a permit whose call was never made, or that was never granted."""
        await self._settle(self._settlement(permit, "unused"))

    async def drain(self) -> None:
        """Wait until everything settled in passing has reached the broker, or failed to."""
        while self._in_passing:
            await asyncio.wait(self._in_passing)

    async def _ask(self, permit: Permit, *, is_waiting: bool = False, held: int | None = None) -> GateAnswer:
        judge = permit.judge
        request = PermitRequest(
            judge.gate,
            permit.call,
            permit.input_tokens,
            permit.output_tokens,
            life=(getattr(judge, "deadline_s", 120.0) + 60) * 1000,
            rpm=judge.rpm or None,
            input_tpm=judge.input_tpm or None,
            output_tpm=judge.output_tpm or None,
            concurrency=judge.concurrency or None,
            first_room=self._first_room,
            is_waiting=is_waiting or None,
            held=held,
        )
        try:
            return await self._batches.take(request)
        except Unreachable as exc:
            raise _put_back(exc) from exc

    async def _is_still_good(self, permit: Permit) -> bool:
        """Whether no 429 closed the gate, and no breaker opened, during the wait."""
        return (await self._ask(permit, held=permit.epoch)).granted

    def _settlement(
        self,
        permit: Permit,
        result: CallResult,
        used_tokens: tuple[int, int] = (0, 0),
        *,
        hints: RateHints | None = None,
    ) -> Settlement:
        judge, hints = permit.judge, hints or RateHints()
        input_used, output_used = used_tokens
        return Settlement(
            judge.gate,
            permit.call,
            result,
            permit.epoch,
            permit.input_tokens,
            input_used,
            permit.output_tokens,
            output_used,
            dead_after=self._dead_after_s * 1000,
            rpm=judge.rpm or None,
            input_tpm=judge.input_tpm or None,
            output_tpm=judge.output_tpm or None,
            hinted_rpm=hints.rpm or None,
            hinted_input=hints.input_tpm or None,
            hinted_output=hints.output_tpm or None,
        )

    async def _settle(self, settlement: Settlement) -> GateState:
        try:
            return await self._batches.settle(settlement)
        except Unreachable as exc:
            raise _put_back(exc) from exc

    def _settle_in_passing(self, settlement: Settlement) -> None:
        task = asyncio.create_task(self._batches.settle(settlement))
        self._in_passing.add(task)
        task.add_done_callback(self._end_in_passing)

    def _end_in_passing(self, task: "asyncio.Task[GateState]") -> None:
        self._in_passing.discard(task)
        if not task.cancelled() and (fault := task.exception()):
            log.warning("a permit could not be settled and is freed when its call's life ends: %s", fault)


def _put_back(exc: Unreachable) -> PutBack:
    return PutBack(f"no limiter, no call: {exc}", wait_s=_BROKER_AWAY_S)


def estimate_tokens(prompt: Prompt) -> int:
    """The tokens of a prompt, rather too many: the settlement gives the surplus back."""
    chars = len(prompt.system) + len(prompt.user) + sum(len(turn.text) for turn in prompt.turns)
    return chars // _CHARS_PER_TOKEN + _ENVELOPE_TOKENS
