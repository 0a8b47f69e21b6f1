"""Values kept for a short while: made once, made again when they are old, and never too many."""

from itertools import count

from evalq.web.view_cache import MOST_VALUES, ViewCache


class Clock:
    """A clock that stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_made_again_when_it_is_old() -> None:
    clock, made = Clock(), count()
    cache = ViewCache(clock)
    assert [cache.get("a", lambda: next(made), age_s=1.0) for _ in range(3)] == [0, 0, 0]
    clock.now = 1.5
    assert cache.get("a", lambda: next(made), age_s=1.0) == 1
    assert cache.get("a", lambda: next(made), age_s=9.0) == 1


def test_the_oldest_value_goes_first() -> None:
    made = count()
    cache = ViewCache(Clock())
    for number in range(MOST_VALUES + 1):
        cache.get(number, lambda: next(made), age_s=1.0)
    assert cache.get(MOST_VALUES, lambda: next(made), age_s=1.0) == MOST_VALUES
    assert cache.get(0, lambda: next(made), age_s=1.0) == MOST_VALUES + 1
