"""Which failed calls are repeated, how often and after how long."""

from collections.abc import Callable
from random import Random

from tenacity import RetryCallState, Retrying, retry_if_exception

from evalq.errors import ProviderFault
from evalq.records import Completion

MAX_ATTEMPTS = 6
MAX_AMBIGUOUS_REPEATS = 1
"""An ambiguous call may have been billed: it is repeated at most so often."""

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 60.0


def with_retries(
    call: Callable[[int], Completion], *, sleep: Callable[[float], None], rng: Random
) -> Completion:
    """Run `call(attempt)` until it answers, the fault is not worth repeating, or patience ends."""
    ambiguous = 0

    def is_worth_repeating(exc: BaseException) -> bool:
        nonlocal ambiguous
        if not isinstance(exc, ProviderFault):
            return False
        ambiguous += exc.kind == "ambiguous"
        return exc.kind in ("rate", "transient") or (
            exc.kind == "ambiguous" and ambiguous <= MAX_AMBIGUOUS_REPEATS
        )

    def wait_s(state: RetryCallState) -> float:
        backoff = min(_FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1), _LONGEST_WAIT_S) * rng.random()
        fault = state.outcome.exception() if state.outcome else None
        asked = fault.retry_after_s if isinstance(fault, ProviderFault) and fault.retry_after_s else 0.0
        # Jitter only adds to what the provider asked for: earlier than that is never right.
        return max(backoff, asked * (1 + 0.1 * rng.random()))

    retrying = Retrying(
        retry=retry_if_exception(is_worth_repeating),
        stop=lambda state: state.attempt_number >= MAX_ATTEMPTS,
        wait=wait_s,
        sleep=sleep,
        reraise=True,
    )
    for attempt in retrying:
        with attempt:
            return call(attempt.retry_state.attempt_number)
    raise AssertionError("tenacity returns or raises")
