"""Sliding windows, with a clock of our own."""

from evalq.engines.simulator.profile import UNLIMITED, RateLimits, Window


def test_a_window_lets_its_limit_through_and_tells_when_the_next_fits() -> None:
    window = Window(2)
    for now in (0.0, 10.0):
        assert window.wait_s(1, now) == 0.0
        window.take(1, now)
    assert window.wait_s(1, 15.0) == 45.0
    assert window.wait_s(2, 15.0) == 55.0
    assert window.wait_s(1, 60.0) == 0.0


def test_what_exceeds_the_limit_never_fits() -> None:
    assert Window(10).wait_s(11, 0.0) == 60.0


def test_a_meter_tells_what_is_left_and_when_all_is_back() -> None:
    window = Window(100)
    assert window.meter(0.0) == (100, 100, 0.0)
    window.take(30, 0.0)
    window.take(30, 20.0)
    assert window.meter(20.0) == (100, 40, 60.0)
    assert window.meter(60.0) == (100, 70, 20.0)


def test_without_limits_nothing_is_refused() -> None:
    limits = RateLimits(None, None)
    assert all(limits.refuse(10**6, 0.0) is None for _ in range(1000))
    assert limits.standing(0.0) is UNLIMITED


def test_the_limit_that_is_broken_is_named() -> None:
    limits = RateLimits(2, 100)
    assert limits.refuse(90, 0.0) is None
    assert limits.refuse(20, 6.0) == ("input_tpm", 54.0)
    assert limits.refuse(10, 6.0) is None
    assert limits.refuse(1, 6.0) == ("rpm", 54.0)


def test_a_refused_call_takes_nothing() -> None:
    limits = RateLimits(2, 100)
    limits.refuse(1000, 0.0)
    standing = limits.standing(0.0)
    assert (standing.requests.remaining, standing.input_tokens.remaining) == (2, 100)


def test_one_limit_alone_is_told_beside_an_abundant_one() -> None:
    assert RateLimits(5, None).standing(0.0) == (((5, 5, 0.0)), UNLIMITED.input_tokens)
    assert RateLimits(None, 5).standing(0.0) == (UNLIMITED.requests, ((5, 5, 0.0)))
