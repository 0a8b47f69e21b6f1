"""One limiter for the fleet: a permit per call, taken in one script at the broker, breaker included."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol
from uuid import uuid4

from evalq.definitions.judge import JudgeConfig
from evalq.errors import ProviderFault, PutBack, Unreachable
from evalq.records import Completion, Prompt, RateHints

MAX_WAIT_S = 20.0
"""The longest a job waits in its slot; a longer wait puts it back to ready and frees the slot."""

_BURST_MS = 1000
_PACE_WAIT_S = 10.0
"""The longest wait in a slot for the learned pace: a slow judge must not fill the slots that others need."""

_FEWEST_FAILURES = 5
_UNREACHABLE_S = 10.0
_THROTTLED_TIMES = 10
"""A throttled judge is alive: it may go without an answer this many times longer than a failing one."""

_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS = 60_000, 10, 5_000
_RETRY_CAPACITY, _RETRY_GAIN = 50, 0.1
_BROKER_AWAY_S = 5.0
_CHARS_PER_TOKEN = 3
_ENVELOPE_TOKENS = 16

CallResult = Literal["ok", "rate", "failed", "other", "unused"]


class Scripts(Protocol):
    """What the limiter needs of the broker: run a script, raise Unreachable when it is away."""

    def run_script(self, text: str, keys: list[str], args: list[Any]) -> Any:
        """Run one Lua script atomically."""
        ...


@dataclass(frozen=True)
class Permit:
    """The right to make one call now, and the tokens set aside for it."""

    call: str
    judge: JudgeConfig
    input_tokens: int
    output_tokens: int
    epoch: int = 0
    """How often the gate's pace had been lowered when the permit was granted."""


@dataclass(frozen=True)
class GateState:
    """What a gate says of a failed call: whether to repeat it, and whether anything is answered at all."""

    is_within_budget: bool
    is_dead: bool
    failures: int
    failing_s: float


class Gatekeeper:
    """Gives permits at the gates of judges; `dead_after_s` without an answer a failing judge is dead."""

    def __init__(
        self, scripts: Scripts, *, sleep: Callable[[float], None] = time.sleep, dead_after_s: float = 60.0
    ) -> None:
        self._scripts = scripts
        self._dead_after_s = dead_after_s
        self.sleep = sleep

    def take(self, judge: JudgeConfig, prompt: Prompt) -> Permit:
        """Wait for a permit. Raises PutBack when the wait is long or the broker away: no limiter, no call."""
        permit = Permit(uuid4().hex, judge, estimate_tokens(prompt), prompt.max_tokens)
        waited_s = 0.0
        while True:
            answer = self._ask(permit)
            permit = replace(permit, epoch=answer.epoch)
            if answer.is_paced or waited_s + answer.wait_s > MAX_WAIT_S:
                self.give_back(permit)
                reason = f"the gate of {judge.name} is closed for {answer.wait_s:.0f} s"
                raise PutBack(reason, wait_s=answer.wait_s)
            if answer.granted and answer.wait_s == 0:
                return permit
            self._sleep_or_give_back(permit, answer.wait_s)
            waited_s += answer.wait_s
            if answer.granted and not self._is_shut(permit):
                return permit
            if answer.granted:
                self.give_back(permit)

    def answered(self, permit: Permit, completion: Completion) -> None:
        """Settle a call that was answered with the tokens it really took."""
        used = completion.usage
        self._settle(permit, "ok", (used.input_tokens, used.output_tokens), hints=completion.rate_hints)

    def failed(self, permit: Permit, fault: ProviderFault) -> GateState:
        """Settle a call that failed."""
        match fault.kind:
            case "rate":
                return self._settle(
                    permit,
                    "rate",
                    closed_s=fault.retry_after_s or 0.0,
                    hints=fault.rate_hints,
                    dead_after_s=self._dead_after_s * _THROTTLED_TIMES,
                )
            case "transient":
                usual_s = self._dead_after_s
                dead_after_s = min(_UNREACHABLE_S, usual_s) if fault.is_unreachable else usual_s
                return self._settle(permit, "failed", dead_after_s=dead_after_s)
            case "ambiguous":
                return self._settle(permit, "failed", (permit.input_tokens, permit.output_tokens))
            case "permanent" | "fatal":
                return self._settle(permit, "other")

    def give_back(self, permit: Permit) -> None:
        """Settle a permit whose call was never made, or that was never granted."""
        self._settle(permit, "unused")

    def _ask(self, permit: Permit) -> "_Answer":
        judge = permit.judge
        life_s = getattr(judge, "deadline_s", 120.0) + 60
        args = [permit.call, permit.input_tokens, permit.output_tokens]
        args += [judge.rpm or 0, judge.input_tpm or 0, judge.output_tpm or 0, judge.concurrency or 0]
        args += [_BURST_MS, MAX_WAIT_S * 1000, life_s * 1000, _PACE_WAIT_S * 1000]
        granted, wait_ms, reason, epoch = self._run("take_permit", _gate_keys(judge.gate), args)
        return _Answer(bool(granted), wait_ms / 1000, reason in ("pace", b"pace"), epoch)

    def _sleep_or_give_back(self, permit: Permit, wait_s: float) -> None:
        """Sleep; when the worker stops in between, give the permit back."""
        try:
            self.sleep(wait_s)
        except PutBack:
            self.give_back(permit)
            raise

    def _is_shut(self, permit: Permit) -> bool:
        """Whether a 429 closed the gate, or the breaker opened, during the wait."""
        return bool(self._run("gate_is_shut", _gate_keys(permit.judge.gate)[:1], [permit.epoch]))

    def _settle(
        self,
        permit: Permit,
        result: CallResult,
        used_tokens: tuple[int, int] = (0, 0),
        *,
        closed_s: float = 0.0,
        hints: RateHints | None = None,
        dead_after_s: float | None = None,
    ) -> GateState:
        judge, hints = permit.judge, hints or RateHints()
        used_input, used_output = used_tokens
        args = [permit.call, result, permit.input_tokens, used_input, permit.output_tokens, used_output]
        args += [judge.input_tpm or 0, judge.output_tpm or 0, closed_s * 1000]
        args += [hints.rpm or 0, hints.input_tpm or 0, hints.output_tpm or 0]
        args += [_BREAKER_WINDOW_MS, _BREAKER_CALLS, _COOL_DOWN_MS, _RETRY_CAPACITY, _RETRY_GAIN]
        args += [judge.rpm or 0, permit.epoch, (dead_after_s or self._dead_after_s) * 1000, _FEWEST_FAILURES]
        keys = [*_gate_keys(judge.gate), f"evalq:retries:{judge.gate}"]
        within, is_dead, failures, failing_ms = self._run("settle_permit", keys, args)
        return GateState(bool(within), bool(is_dead), failures, failing_ms / 1000)

    def _run(self, name: str, keys: list[str], args: list[Any]) -> Any:
        try:
            return self._scripts.run_script(_read_script(name), keys, args)
        except Unreachable as exc:
            raise PutBack(f"no limiter, no call: {exc}", wait_s=_BROKER_AWAY_S) from exc


@dataclass(frozen=True)
class _Answer:
    """The gate's answer: granted or not, after which wait; `is_paced`: too many wait for the pace."""

    granted: bool
    wait_s: float
    is_paced: bool
    epoch: int


def estimate_tokens(prompt: Prompt) -> int:
    """The tokens of a prompt, rather too many: the settlement gives the surplus back."""
    chars = len(prompt.system) + len(prompt.user) + sum(len(turn.text) for turn in prompt.turns)
    return chars // _CHARS_PER_TOKEN + _ENVELOPE_TOKENS


def _gate_keys(gate: str) -> list[str]:
    """The broker's keys of a gate: its state, its calls in flight, its waiting callers."""
    return [f"evalq:gate:{gate}", f"evalq:gate:{gate}:calls", f"evalq:gate:{gate}:waiting"]


@cache
def _read_script(name: str) -> str:
    return (Path(__file__).parent / f"{name}.lua").read_text("utf-8")
