"""The rate limits of one model: what was taken within the last minute, and what is left of it."""

from collections import deque
from typing import NamedTuple

WINDOW_S = 60.0


class Meter(NamedTuple):
    """One limit as a provider's headers tell it."""

    limit: int
    remaining: int
    reset_s: float


class Standing(NamedTuple):
    """All limits of a model at one moment."""

    requests: Meter
    input_tokens: Meter


# A provider names its limits even to a customer who never meets them: too high to slow a benchmark.
_ABUNDANT_REQUESTS = Meter(1_000_000, 999_999, 0.06)
_ABUNDANT_TOKENS = Meter(10_000_000_000, 9_999_999_000, 0.006)
UNLIMITED = Standing(_ABUNDANT_REQUESTS, _ABUNDANT_TOKENS)


class Window:
    """At most `limit` within any minute."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken: deque[tuple[float, int]] = deque()
        self._sum = 0

    def wait_s(self, amount: int, now: float) -> float:
        """Seconds until so much fits; 0 when it does. What exceeds the limit itself never does."""
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

    def meter(self, now: float) -> Meter:
        """What is left, and when all of it will be back."""
        self._forget(now)
        reset_s = self._taken[-1][0] + WINDOW_S - now if self._taken else 0.0
        return Meter(self.limit, max(0, self.limit - self._sum), reset_s)

    def _forget(self, now: float) -> None:
        while self._taken and self._taken[0][0] <= now - WINDOW_S:
            self._sum -= self._taken.popleft()[1]


class Limits:
    """Requests and input tokens of one model, each limited or not."""

    def __init__(self, rpm: int | None, input_tpm: int | None) -> None:
        self._requests = Window(rpm) if rpm else None
        self._input_tokens = Window(input_tpm) if input_tpm else None

    def refuse(self, input_tokens: int, now: float) -> tuple[str, float] | None:
        """Count a call, or say which limit it breaks and for how many seconds."""
        asked = [("rpm", self._requests, 1), ("input_tpm", self._input_tokens, input_tokens)]
        kept = [(name, window, amount) for name, window, amount in asked if window]
        for name, window, amount in kept:
            if wait_s := window.wait_s(amount, now):
                return name, wait_s
        for _, window, amount in kept:
            window.take(amount, now)
        return None

    def standing(self, now: float) -> Standing:
        """For the headers of an answer."""
        if self._requests is None and self._input_tokens is None:
            return UNLIMITED
        requests = self._requests.meter(now) if self._requests else _ABUNDANT_REQUESTS
        tokens = self._input_tokens.meter(now) if self._input_tokens else _ABUNDANT_TOKENS
        return Standing(requests, tokens)
