"""Failpoints: read from the environment under test settings only."""

import pytest

from evalq.calling.failpoints import Failpoints, read_failpoints

TESTING = {"EVALQ_TESTING": "1"}


def test_failpoints_do_nothing_in_earnest() -> None:
    assert read_failpoints({"EVALQ_FAILPOINTS": "after_claim=1"}) == Failpoints()
    assert read_failpoints({"EVALQ_FAILPOINTS": "after_claim=1", "EVALQ_TESTING": "0"}) == Failpoints()
    assert not Failpoints().is_reached("after_claim", "case")


def test_a_counted_failpoint_is_reached_once_at_its_turn() -> None:
    points = read_failpoints({**TESTING, "EVALQ_FAILPOINTS": "after_claim=2"})
    arrivals = [points.is_reached("after_claim", None) for _ in range(4)]
    assert arrivals == [False, True, False, False]
    assert not points.is_reached("before_send", None)


def test_a_failpoint_of_a_case_is_reached_whenever_the_case_arrives() -> None:
    points = read_failpoints({**TESTING, "EVALQ_FAILPOINTS": "before_outcome@case-7 after_claim=9"})
    assert points.is_reached("before_outcome", "case-7")
    assert points.is_reached("before_outcome", "case-7")
    assert not points.is_reached("before_outcome", "case-8")
    assert not points.is_reached("before_outcome", None)


@pytest.mark.parametrize("text", ["after_clain=1", "nowhere@case"])
def test_an_unknown_failpoint_names_the_known_ones(text: str) -> None:
    with pytest.raises(ValueError, match="known: before_claim, after_claim"):
        read_failpoints({**TESTING, "EVALQ_FAILPOINTS": text})
