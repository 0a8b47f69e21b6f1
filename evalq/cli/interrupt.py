"""Ctrl-C in two steps: the first asks to stop spending, the second aborts."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """For those who poll."""
        return self.requested

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first one is noted, the next one aborts."""
        del number, frame
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def first_interrupt() -> Iterator[Interrupt]:
    """Turn the first SIGINT or SIGTERM into a request while the block runs."""
    interrupt = Interrupt()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, interrupt.on_signal) for number in numbers}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
