"""A model's profile: how fast it answers, what it says, how it fails; and the file that holds profiles."""

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.judge import Proportion

STATUSES = (
    "400",
    "401",
    "402",
    "403",
    "404",
    "408",
    "409",
    "413",
    "422",
    "429",
    "500",
    "502",
    "503",
    "504",
    "529",
)
_ANSWERS = ("malformed", "html", "wrong_shape", "empty", "blocked", "refusal", "truncated")
_LOSSES = ("reset_after", "reset_body", "drip")
_UNBILLED = ("reset_before", "eof", "hang", "redirect", "quota", "bad_key")
BILLED = frozenset((*_ANSWERS, *_LOSSES))
KINDS = (*STATUSES, *_ANSWERS, *_LOSSES, *_UNBILLED)
"""What a profile may name. A 429 may say when to come back: `429:seconds=3`, `429:date=3`, `429:ms=1500`."""

_RETRY_UNITS = {"seconds": 1.0, "date": 1.0, "ms": 0.001}
_AT_ONCE = frozenset(
    ("quota", "bad_key", "redirect", "reset_before", "temperature", "unreadable", "streamed")
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail. `name` is for the ledger, `kind` is what is done, `retry_form` how a 429 says when."""

    name: str
    kind: str
    retry_form: str = ""
    retry_s: float = 0.0

    @property
    def is_billed(self) -> bool:
        """Whether the provider counts the tokens, whatever the client receives."""
        return self.kind in BILLED

    @property
    def is_at_once(self) -> bool:
        """Whether the provider answers before a model begins, and so without latency."""
        return self.kind in _AT_ONCE or self.kind.startswith("4")


@lru_cache(maxsize=1024)  # the same few names are asked for with every call
def parse_fault(name: str) -> Fault | None:
    """The fault of that name, None for `ok`; ValueError for an unknown name."""
    if name == "ok":
        return None
    kind, _, option = name.partition(":")
    if kind not in KINDS:
        raise ValueError(f"there is no fault {kind[:40]!r}; known: ok, {', '.join(KINDS)}")
    if kind != "429":
        return _without_option(name, kind, option)
    form, _, amount = (option or "seconds=1").partition("=")
    if form == "none":
        return Fault(name, kind)
    if form not in _RETRY_UNITS or not amount.replace(".", "", 1).isdecimal():
        raise ValueError(f"{name[:40]!r} says no time; write 429:seconds=3, :date=3, :ms=1500 or :none")
    return Fault(name, kind, form, float(amount) * _RETRY_UNITS[form])


def _without_option(name: str, kind: str, option: str) -> Fault:
    if option:
        raise ValueError(f"the fault {kind} takes no option; write {kind!r} instead of {name[:40]!r}")
    return Fault(name, kind)


ANY_MODEL = "*"
"""The profile of this name applies to every model without its own."""

Milliseconds = Annotated[FiniteFloat, Field(ge=0, le=600_000)]


class Quantiles(Definition):
    """A log-normal latency by two of its quantiles, in milliseconds; equal ones make it fixed."""

    p50: Milliseconds
    p95: Milliseconds


def _expand_latency(value: Any) -> Any:
    if isinstance(value, str | bool | list):
        raise ValueError("not a latency; write milliseconds, or {p50: 300, p95: 900}")
    return {"p50": value, "p95": value} if isinstance(value, int | float) else value


def _number_to_name(value: Any) -> Any:
    """YAML reads 500 as a number; as a fault it is a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_fault_name(name: str) -> str:
    parse_fault(name)
    return name


FaultName = Annotated[str, BeforeValidator(_number_to_name), AfterValidator(_check_fault_name)]


class Profile(Definition):
    """One model's behaviour. Everything drawn by chance is drawn from the model and the prompt."""

    latency_ms: Annotated[Quantiles, BeforeValidator(_expand_latency)] = Quantiles(p50=0, p95=0)
    answer: Literal["echo", "verdict", "cases"] = "echo"
    fixed: str | None = None
    accuracy: Proportion = 1.0
    valid: Proportion = 0.5
    output_tokens: int | None = Field(default=None, ge=0)
    thinking_tokens: int = Field(default=0, ge=0)
    faults: dict[FaultName, Proportion] = Field(default={})
    schedule: list[FaultName] = Field(default=[])
    require_key: str | None = None
    rpm: int | None = Field(default=None, gt=0)
    input_tpm: int | None = Field(default=None, gt=0)
    refuse_temperature: bool = False

    @model_validator(mode="after")
    def _faults_are_shares_or_a_schedule(self) -> Self:
        if self.faults and self.schedule:
            raise ValueError("faults and schedule exclude each other; keep one of them")
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ValueError("the shares of the faults add up to more than 1; lower them")
        return self


class KnownSet(Definition):
    """An evalset whose prompts the simulator recognises, by names or paths."""

    task: str
    eval_set: str


class SimulatorConfig(Definition):
    """A simulator's file: profiles by model, and the evalsets it knows the answers to."""

    profiles: dict[str, Profile] = Field(default={})
    cases: list[KnownSet] = Field(default=[])


WINDOW_S = 60.0


class LimitMeter(NamedTuple):
    """One limit as a provider's headers state it."""

    limit: int
    remaining: int
    reset_s: float


class LimitStatus(NamedTuple):
    """All limits of a model at one moment."""

    requests: LimitMeter
    input_tokens: LimitMeter


# Providers state limits in every answer; these are too high to slow a benchmark.
_ABUNDANT_REQUESTS = LimitMeter(1_000_000, 999_999, 0.06)
_ABUNDANT_TOKENS = LimitMeter(10_000_000_000, 9_999_999_000, 0.006)
UNLIMITED = LimitStatus(_ABUNDANT_REQUESTS, _ABUNDANT_TOKENS)


class Window:
    """At most `limit` within any minute."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken: deque[tuple[float, int]] = deque()
        self._sum = 0

    def wait_s(self, amount: int, now: float) -> float:
        """Seconds until the amount fits, 0 if it fits now; a whole window if it exceeds the limit itself."""
        self._forget(now)
        excess = self._sum + amount - self.limit
        if excess <= 0:
            return 0.0
        for at, taken in self._taken:
            excess -= taken
            if excess <= 0:
                return at + WINDOW_S - now
        return WINDOW_S

    def take(self, amount: int, now: float) -> None:
        """Count it."""
        self._taken.append((now, amount))
        self._sum += amount

    def meter(self, now: float) -> LimitMeter:
        """What is left, and when all of it will be back."""
        self._forget(now)
        reset_s = self._taken[-1][0] + WINDOW_S - now if self._taken else 0.0
        return LimitMeter(self.limit, max(0, self.limit - self._sum), reset_s)

    def _forget(self, now: float) -> None:
        while self._taken and self._taken[0][0] <= now - WINDOW_S:
            self._sum -= self._taken.popleft()[1]


class RateLimits:
    """Requests and input tokens of one model, each limited or not."""

    def __init__(self, rpm: int | None, input_tpm: int | None) -> None:
        self._requests = Window(rpm) if rpm else None
        self._input_tokens = Window(input_tpm) if input_tpm else None

    def refuse(self, input_tokens: int, now: float) -> tuple[str, float] | None:
        """Count a call, or return which limit it breaks and for how many seconds."""
        asked = [("rpm", self._requests, 1), ("input_tpm", self._input_tokens, input_tokens)]
        kept = [(name, window, amount) for name, window, amount in asked if window]
        for name, window, amount in kept:
            if wait_s := window.wait_s(amount, now):
                return name, wait_s
        for _, window, amount in kept:
            window.take(amount, now)
        return None

    def standing(self, now: float) -> LimitStatus:
        """For the headers of an answer."""
        if self._requests is None and self._input_tokens is None:
            return UNLIMITED
        requests = self._requests.meter(now) if self._requests else _ABUNDANT_REQUESTS
        tokens = self._input_tokens.meter(now) if self._input_tokens else _ABUNDANT_TOKENS
        return LimitStatus(requests, tokens)
