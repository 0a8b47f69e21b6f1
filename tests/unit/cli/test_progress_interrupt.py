"""Ctrl-C in two steps, with real signals."""

import signal

import pytest

from evalq.cli.progress import first_interrupt

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def test_nothing_is_requested_before_a_signal() -> None:
    with first_interrupt() as interrupt:
        assert not interrupt()


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_asks_to_stop_and_raises_nothing(number: signal.Signals) -> None:
    with first_interrupt() as interrupt:
        signal.raise_signal(number)
        assert interrupt()
    assert interrupt.requested


@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_aborts(second: signal.Signals) -> None:
    with first_interrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(second)
    assert interrupt()


def test_the_handlers_of_before_are_back_afterwards_even_after_an_error() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with pytest.raises(ValueError, match="inside"), first_interrupt():
        raise ValueError("inside")
    assert [signal.getsignal(number) for number in SIGNALS] == before
