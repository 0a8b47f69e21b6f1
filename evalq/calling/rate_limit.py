"""One limiter for the fleet: a permit per call, taken in one script at the broker, breaker included."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack, Unreachable
from evalq.records import Completion, Prompt, RateHints

MAX_WAIT_S = 20.0
"""The longest a job waits in its slot; for more it goes back to ready, and the slot to someone else."""

BURST_MS = 1000
_CLOSED_WITHOUT_WORD_S = 2.0
_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS = 60_000, 10, 5_000
_RETRY_CAPACITY, _RETRY_GAIN = 50, 0.1
_BROKER_AWAY_S = 5.0
_ENVELOPE_TOKENS = 16

CallResult = Literal["ok", "rate", "failed", "other", "unused"]


class Scripts(Protocol):
    """The broker, as far as the limiter needs it: runs a script, raises Unreachable when it is away."""

    def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        """Run one Lua script atomically."""
        ...


@dataclass(frozen=True)
class Permit:
    """The right to make one call now, and what was set aside for it."""

    call: str
    judge: JudgeConfig
    input_tokens: int
    output_tokens: int


class Gatekeeper:
    """Gives permits at the gates of judges."""

    def __init__(self, scripts: Scripts, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._scripts = scripts
        self.sleep = sleep

    def take(self, judge: JudgeConfig, prompt: Prompt) -> Permit:
        """Wait for a permit. Raises PutBack when the wait is long or the broker away: no limiter, no call."""
        permit = Permit(uuid4().hex, judge, _tokens(prompt), prompt.max_tokens)
        waited_s = 0.0
        while True:
            granted, wait_s = self._ask(permit)
            if waited_s + wait_s > MAX_WAIT_S:
                self.give_back(permit)
                raise PutBack(f"the gate of {judge.name} is closed for {wait_s:.0f} s", wait_s=wait_s)
            if granted and wait_s == 0:
                return permit
            self._rest(permit, wait_s)
            waited_s += wait_s
            if granted and not self._is_shut(permit):
                return permit
            if granted:
                self.give_back(permit)

    def _rest(self, permit: Permit, wait_s: float) -> None:
        """Sleep; whoever is woken to stop gives the permit back."""
        try:
            self.sleep(wait_s)
        except PutBack:
            self.give_back(permit)
            raise

    def answered(self, permit: Permit, completion: Completion) -> None:
        """Settle a call that was answered with the tokens it really took."""
        used = completion.usage
        self._settle(permit, "ok", used.input_tokens, used.output_tokens, hints=completion.rate_hints)

    def failed(self, permit: Permit, fault: ProviderFault) -> bool:
        """Settle a call that failed; says whether a repeat is within the provider's retry budget."""
        outcome: CallResult = "rate" if fault.kind == "rate" else "other"
        if fault.kind in ("transient", "ambiguous"):
            outcome = "failed"
        closed_s = fault.retry_after_s or _CLOSED_WITHOUT_WORD_S if fault.kind == "rate" else 0.0
        used = (permit.input_tokens, permit.output_tokens) if fault.kind == "ambiguous" else (0, 0)
        return self._settle(permit, outcome, *used, closed_s=closed_s)

    def give_back(self, permit: Permit) -> None:
        """Settle a permit whose call was never made, or that was never granted."""
        self._settle(permit, "unused", 0, 0)

    def _ask(self, permit: Permit) -> tuple[bool, float]:
        judge = permit.judge
        limits = [judge.rpm or 0, judge.input_tpm or 0, judge.output_tpm or 0, judge.concurrency or 0]
        life_ms = (getattr(judge, "deadline_s", 120.0) + 60) * 1000
        args = [
            permit.call,
            permit.input_tokens,
            permit.output_tokens,
            *limits,
            BURST_MS,
            MAX_WAIT_S * 1000,
            life_ms,
        ]
        granted, wait_ms, _ = self._run("take_permit", gate_keys(judge.gate), args)
        return bool(granted), wait_ms / 1000

    def _is_shut(self, permit: Permit) -> bool:
        """After a wait: a 429 may have closed the gate, or the breaker opened, in the meantime."""
        return bool(self._run("gate_is_shut", gate_keys(permit.judge.gate)[:1], []))

    def _settle(
        self,
        permit: Permit,
        outcome: CallResult,
        used_input: int,
        used_output: int,
        *,
        closed_s: float = 0.0,
        hints: RateHints | None = None,
    ) -> bool:
        judge, hints = permit.judge, hints or RateHints()
        args = [permit.call, outcome, permit.input_tokens, used_input, permit.output_tokens, used_output]
        args += [judge.input_tpm or 0, judge.output_tpm or 0, closed_s * 1000]
        args += [hints.rpm or 0, hints.input_tpm or 0, hints.output_tpm or 0]
        args += [_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS, _RETRY_CAPACITY, _RETRY_GAIN]
        keys = [*gate_keys(judge.gate), f"evalq:retries:{judge.provider}"]
        return bool(self._run("settle_permit", keys, args))

    def _run(self, name: str, keys: list[str], args: list[Any]) -> Any:
        try:
            return self._scripts.run_script(_script(name), keys, args)
        except Unreachable as exc:
            raise PutBack(f"no limiter, no call: {exc}", wait_s=_BROKER_AWAY_S) from exc


def gate_keys(gate: str) -> list[str]:
    """The broker's keys of a gate: its state, its calls in flight, its waiting callers."""
    return [f"evalq:gate:{gate}", f"evalq:gate:{gate}:calls", f"evalq:gate:{gate}:waiting"]


def _tokens(prompt: Prompt) -> int:
    """Three characters a token and an envelope: rather too many, the settlement gives them back."""
    return (len(prompt.system) + len(prompt.user)) // 3 + _ENVELOPE_TOKENS


@cache
def _script(name: str) -> str:
    return (Path(__file__).parent / f"{name}.lua").read_text("utf-8")
