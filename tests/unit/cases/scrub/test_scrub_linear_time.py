"""No text makes a detector slow: time grows as the text does, whatever the text is made of."""

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.cases.scrub import DETECTORS
from evalq.cases.scrub.scrub import Pseudonyms, scrub_text
from evalq.cases.scrub.span import Find, Kind, Place

# What the patterns are made of, again and again: the beginnings of matches that never come to an end.
HOSTILE = [
    *(
        "a",
        "1",
        "0",
        "+",
        "+1",
        "0 ",
        "1 ",
        "1.",
        "1-",
        "1:",
        "::",
        "a:",
        "(0",
        "4000 ",
        "123-45-",
        "\n",
        " ",
    ),
    *(
        "@",
        "a@",
        "a.",
        "a@a.",
        "a@a.a",
        "%40",
        "a%40a.",
        "eyJ",
        "eyJaaaaaaaaaa.",
        "sk-",
        "sk-a",
        "ghp_",
        "xox",
    ),
    *(
        "://",
        "://a@",
        "a://a:",
        "password=",
        "password: ",
        "password:a&",
        "pass",
        "bearer ",
        "authorization: ",
    ),
    *("tel ", "tel 1", "DE89 ", "passport a", "born ", "born 1.", "12 Main ", "Aa ", "Aa-", "Am Aa ", "1/"),
    *("12 đường ", "-----BEGIN PRIVATE KEY-----", "[email-1]"),
]
LENGTH, TIMES = 8_000, 8
AT_ONCE_S = 0.03


def cpu_s(work: Callable[[], object]) -> float:
    """In the processor's own time: what else runs on the machine counts for little."""
    began = time.process_time()
    work()
    return time.process_time() - began


def growth(find: Find, unit: str) -> float:
    """How much longer a text eight times as long takes: 8 if linear, 64 if quadratic; 0 if no time at all."""
    short = (unit * LENGTH)[:LENGTH]
    long = (unit * LENGTH * TIMES)[: LENGTH * TIMES]
    if cpu_s(lambda: list(find(long))) < AT_ONCE_S:
        return 0
    least = min(cpu_s(lambda: list(find(long))) for _ in range(3))
    return least / min(cpu_s(lambda: list(find(short))) for _ in range(3))


@pytest.mark.parametrize("kind", DETECTORS)
def test_time_grows_no_faster_than_the_text(kind: Kind) -> None:
    worst = max((growth(DETECTORS[kind], unit), unit) for unit in HOSTILE)
    assert worst[0] < TIMES * 3, worst


def test_the_measure_tells_a_detector_that_is_not_linear() -> None:
    def to_the_end_each_time(text: str) -> Iterator[Place]:
        return ((at, at + 1) for at in range(0, len(text), 16) if text[at:].count("b"))

    assert growth(to_the_end_each_time, "a") > TIMES * 3


def test_a_megabyte_of_everything_hostile_takes_eight_times_an_eighth_of_it() -> None:
    text = ("".join(HOSTILE) * 5_000)[:1_000_000]
    whole = cpu_s(lambda: scrub_text(text, Pseudonyms()))
    assert whole / cpu_s(lambda: scrub_text(text[:125_000], Pseudonyms())) < 8 * 3


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=6).map("".join))
def test_no_mixture_of_them_is_slow_either(unit: str) -> None:
    assert max(growth(find, unit) for find in DETECTORS.values()) < TIMES * 3
