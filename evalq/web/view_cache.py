"""Values that several tabs ask for at once, computed once in a short while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_Value = TypeVar("_Value")

MOST_VALUES = 16


class ViewCache:
    """The last few values with the time they were made; the oldest goes first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], _Value], *, age_s: float) -> _Value:
        """The value of a key, made now unless there is one no older than `age_s`."""
        now = self._clock()
        with self._lock:
            made_at, value = self._values.get(key, (float("-inf"), None))
        if now - made_at <= age_s:
            found: _Value = value
            return found
        # Outside the lock: one slow page does not hold up the others.
        fresh = make()
        with self._lock:
            self._values[key] = (self._clock(), fresh)
            self._values.move_to_end(key)
            while len(self._values) > MOST_VALUES:
                self._values.popitem(last=False)
        return fresh
