"""A replayed answer keeps the grades that only people or a sandbox can give."""

from evalq.bakeoff.replay import pair_grades
from evalq.bakeoff.rescore import UNRUN
from evalq.grading.grade import outcome_of
from evalq.records import Grade

WORDS = Grade("contains", True, 1.0, kind="contains")


def verdict(then: list[Grade], now: list[Grade]) -> str:
    pairs = pair_grades(then, now)
    return outcome_of([pair.now for pair in pairs if pair.now], None).verdict


def test_code_that_failed_then_still_fails_the_answer_now() -> None:
    then = Grade("code", False, 0.0, "1 of 2 cases passed", kind="function_output")
    now = Grade("code", None, None, UNRUN, kind="function_output")
    assert verdict([WORDS, then], [WORDS, now]) == "failed"
    assert [pair.is_carried_over for pair in pair_grades([WORDS, then], [WORDS, now])] == [False, True]


def test_what_people_decided_still_counts_now() -> None:
    then = Grade("taste", True, 1.0, "4 of 5", kind="human")
    now = Grade("taste", None, None, "waits for review", kind="human", pending=True)
    [_, pair] = pair_grades([WORDS, then], [WORDS, now])
    assert (pair.now, pair.differs) == (then, False)
    assert verdict([WORDS, then], [WORDS, now]) == "passed"


def test_a_grade_nobody_has_given_leaves_the_verdict_open() -> None:
    waits = Grade("taste", None, None, "waits for review", kind="human", pending=True)
    unrun = Grade("code", None, None, UNRUN, kind="function_output")
    assert verdict([WORDS], [WORDS, waits]) == "pending_review"
    assert verdict([WORDS], [WORDS, unrun]) == "errored"
