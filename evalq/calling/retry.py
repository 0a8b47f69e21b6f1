"""Which failed calls are repeated, how often and after how long."""

from collections.abc import Callable
from random import Random

from tenacity import RetryCallState, Retrying, retry_if_exception

from evalq.errors import ProviderFault, PutBack
from evalq.records import Completion

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
