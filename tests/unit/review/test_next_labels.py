"""Which answers to label next: balanced, telling first, the same every time."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.review.labels import Answer, contested_cases
from evalq.review.next_labels import choose_next

JUDGES = ("a", "b", "c")


def bakeoff(n_cases: int = 90, seed: int = 0) -> list[Answer]:
    drawn = random.Random(seed)
    return [
        Answer(
            place * 3 + at,
            judge,
            f"c{place:03}",
            1,
            "rare" if place % 10 == 0 else "common",
            "passed" if drawn.random() < (0.9, 0.6, 0.3)[at] else "failed",
        )
        for place in range(n_cases)
        for at, judge in enumerate(JUDGES)
    ]


def choose(answers: list[Answer], count: int = 40, seed: int = 0) -> list[int]:
    return [one.job_id for one in choose_next(answers, contested_cases(answers), count=count, seed=seed)]


def test_judges_and_verdicts_share_the_labels() -> None:
    answers = bakeoff()
    by_id = {one.job_id: one for one in answers}
    chosen = Counter((by_id[job_id].judge, by_id[job_id].passed) for job_id in choose(answers, 36))
    assert set(chosen.values()) == {6}
    assert len(chosen) == 6


def test_cases_on_which_judges_disagree_come_first_and_twice_as_often() -> None:
    answers = [one for one in bakeoff(300) if one.judge != "c"]
    contested = contested_cases(answers)
    by_id = {one.job_id: one for one in answers}
    is_contested = [by_id[job_id].case_id in contested for job_id in choose(answers, 36)]
    assert all(is_contested[:4])
    counts = Counter(is_contested)
    assert counts[True] == 2 * counts[False]


def test_the_reason_is_said() -> None:
    answers = bakeoff(30)
    contested = contested_cases(answers)
    for one in choose_next(answers, contested, count=40, seed=0):
        assert one.reason.startswith("judges disagree" if one.case_id in contested else "judges agree")


def test_strata_are_labelled_in_proportion_to_their_size() -> None:
    answers = [Answer(at, "a", f"c{at}", 1, "x" if at % 4 else "y", "passed") for at in range(80)]
    chosen = set(choose(answers, 40))
    assert Counter(one.stratum for one in answers if one.job_id in chosen) == {"x": 30, "y": 10}


def test_a_stratum_without_labels_goes_first() -> None:
    answers = [
        Answer(at, "a", f"c{at}", 1, "x" if at % 2 else "y", "passed", (True,) if at % 2 and at < 30 else ())
        for at in range(60)
    ]
    chosen = set(choose(answers, 12))
    assert {one.stratum for one in answers if one.job_id in chosen} == {"y"}


def test_what_is_labelled_counts_and_is_not_asked_again() -> None:
    answers = bakeoff(300)
    first = set(choose(answers, 30))
    labelled = [replace(one, votes=(True,)) if one.job_id in first else one for one in answers]
    second = choose(labelled, 30)
    assert not first & set(second)
    both = Counter((one.judge, one.passed) for one in answers if one.job_id in first | set(second))
    assert set(both.values()) == {10}


def test_another_seed_is_another_draw_and_the_same_seed_the_same() -> None:
    answers = bakeoff()
    assert choose(answers, seed=1) == choose(answers, seed=1)
    assert set(choose(answers, seed=1)) != set(choose(answers, seed=2))


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_there_are_never_more_than_asked_for_nor_than_there_are(count: int) -> None:
    answers = bakeoff(5)
    assert len(choose(answers, count)) == min(count, len(answers))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 40), st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter(count: int, seed: int, shuffler: random.Random) -> None:
    answers = bakeoff(20, seed)
    assert choose(shuffler.sample(answers, len(answers)), count, seed) == choose(answers, count, seed)
