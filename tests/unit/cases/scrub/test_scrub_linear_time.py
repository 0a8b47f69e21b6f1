"""No text makes a detector slow: time grows as the text does, whatever the text is made of."""

from collections.abc import Iterator

import pytest

from benchmarks.scrubbing import HOSTILE, TIMES, growth
from evalq.cases.scrub import DETECTORS
from evalq.cases.scrub.scrub import Pseudonyms, find_spans, replace_spans
from evalq.cases.scrub.span import Kind, Place


@pytest.mark.parametrize("kind", DETECTORS)
def test_time_grows_no_faster_than_the_text(kind: Kind) -> None:
    worst = max((growth(DETECTORS[kind], unit), unit) for unit in HOSTILE)
    assert worst[0] < TIMES * 3, worst


def test_the_measure_tells_a_detector_that_is_not_linear() -> None:
    def to_the_end_each_time(text: str) -> Iterator[Place]:
        return ((at, at + 1) for at in range(0, len(text), 16) if text[at:].count("b"))

    assert growth(to_the_end_each_time, "a") > TIMES * 3


def test_a_megabyte_of_everything_hostile_comes_to_an_end() -> None:
    text = ("".join(HOSTILE) * 5_000)[:1_000_000]
    assert replace_spans("", text, find_spans(text), Pseudonyms())
