"""Votes and majorities, labels found among answers, and cells labelled evenly or not."""

from dataclasses import replace

import pytest

from evalq.errors import InputError
from evalq.review.estimates import Cell, Kinds, cells_by, covering, is_even, stratified_rate, weighed_quality
from evalq.review.labels import Answer, Label, LabelFile, Vote, contested_cases, votes_of

ANSWERS = [
    Answer(1, "a", "c1", 1, "", "passed"),
    Answer(2, "a", "c2", 1, "", "errored"),
    Answer(3, "b", "c1", 1, "", "failed"),
    Answer(4, "b", "c2", 1, "", None),
]


def label(
    judge: str = "a", case_id: str = "c1", sample: int = 1, passed: bool = True, **more: object
) -> Label:
    return Label(
        judge, case_id, sample, passed, str(more.get("labeller", "x")), int(str(more.get("line", 1)))
    )


@pytest.mark.parametrize(
    ("votes", "human", "is_tied"),
    [
        *[((), None, False), ((True,), True, False), ((True, False), None, True)],
        *[((False, True, False), False, False), ((True, True, False), True, False)],
    ],
)
def test_the_majority_counts_and_an_even_split_is_no_label(
    votes: tuple[bool, ...], human: bool | None, is_tied: bool
) -> None:
    answer = replace(ANSWERS[0], votes=votes)
    assert (answer.human, answer.is_tied) == (human, is_tied)


def test_only_graded_answers_make_a_case_contested() -> None:
    assert contested_cases(ANSWERS) == {"c1"}
    assert contested_cases(ANSWERS[:2]) == frozenset()


def test_the_later_of_two_labels_by_one_person_stands_and_anothers_is_a_vote_of_its_own() -> None:
    labels = (label(), label(passed=False), label(labeller="y"))
    assert votes_of(LabelFile("l", labels), ANSWERS, bakeoff_id=7) == [
        Vote(1, "x", False),
        Vote(1, "y", True),
    ]


def test_every_label_without_a_graded_answer_is_named() -> None:
    labels = (
        label(line=1),
        label(judge="aa", line=2),
        label(case_id="c22", line=3),
        label(sample=2, line=4),
        label(case_id="c2", line=5),
        label(judge="b", case_id="c2", line=6),
        label(case_id="zzzzzz", line=7),
    )
    with pytest.raises(InputError) as caught:
        votes_of(LabelFile("l", labels), ANSWERS, bakeoff_id=7)
    assert [str(problem) for problem in caught.value.problems] == [
        "l:2: judge 'aa' is not in bake-off 7; did you mean 'a'? (known: a, b)",
        "l:3: bake-off 7 has no case 'c22'; did you mean 'c2'?",
        "l:4: a gave no answer 2 to case 'c1'; the first sample is 1",
        "l:5: the answer of a to case 'c2' could not be graded; leave this line out",
        "l:6: the answer of b to case 'c2' is not graded yet; leave this line out",
        "l:7: bake-off 7 has no case 'zzzzzz'",
    ]


def test_only_the_first_of_many_problems_are_spelled_out() -> None:
    labels = tuple(label(judge="z", line=line) for line in range(1, 61))
    with pytest.raises(InputError) as caught:
        votes_of(LabelFile("l", labels), ANSWERS, bakeoff_id=7)
    assert len(caught.value.problems) == 51
    assert str(caught.value.problems[-1]) == "l: and 10 more problems"


def test_labels_are_even_when_every_kind_has_its_share() -> None:
    assert is_even([Cell(100, 10, 5, True), Cell(50, 5, 1, False)])
    assert is_even([Cell(100, 9, 5, True), Cell(50, 6, 1, False)])
    assert is_even([Cell(100, 10, 5, True)])
    assert is_even([Cell(10, 10, 5, True), Cell(5, 5, 1, False)])
    assert not is_even([Cell(80, 20, 5, True), Cell(20, 20, 1, False)])


def test_the_finest_kinds_that_all_have_a_label_are_used() -> None:
    answers = [
        Answer(at, "a", f"c{at}", 1, "", "passed" if at % 2 else "failed", (True,) if at < 4 else ())
        for at in range(8)
    ]
    kinds = Kinds(frozenset({"c0", "c1", "c6", "c7"}))
    assert covering(kinds.of_one_judge(), answers) is not None
    assert len(cells_by(kinds.of_one_judge()[0], answers)) == 4
    far = Kinds(frozenset({"c6", "c7"}))
    kind = covering(far.of_one_judge(), answers)
    assert kind is not None
    assert set(cells_by(kind, answers)) == {True, False}
    assert covering(far.of_one_judge(), [replace(one, votes=()) for one in answers]) is None


def test_kinds_count_by_their_size_however_they_were_labelled() -> None:
    # 80 of 100 were passed by the grader, and of these people pass 18 of 20; of the other 20, 4 of 20.
    rate, low, high = stratified_rate([Cell(80, 20, 18, True), Cell(20, 20, 4, False)])
    assert rate == pytest.approx(0.8 * 0.9 + 0.2 * 0.2)
    assert low < rate < high


def test_unanimous_labels_leave_doubt() -> None:
    rate, low, high = stratified_rate([Cell(80, 5, 5, True), Cell(20, 5, 0, False)])
    assert (rate, high) == (pytest.approx(0.8), pytest.approx(0.9, abs=0.06))
    assert 0.35 < low < 0.6


def test_sensitivity_and_specificity_are_those_of_all_answers_not_of_the_labelled_ones() -> None:
    sensitivity, specificity = weighed_quality([Cell(80, 20, 18, True), Cell(20, 20, 4, False)])
    assert sensitivity is not None
    assert specificity is not None
    assert sensitivity.rate == pytest.approx(72 / 76, abs=5e-5)
    assert specificity.rate == pytest.approx(16 / 24, abs=5e-5)
    assert 0 <= sensitivity.ci_low < sensitivity.rate < sensitivity.ci_high <= 1
    assert 0 <= specificity.ci_low < specificity.rate < specificity.ci_high <= 1
    assert 0 < specificity.n < 40


def test_a_rate_about_answers_nobody_saw_is_none() -> None:
    assert weighed_quality([Cell(80, 20, 20, True), Cell(20, 20, 20, False)])[1] is None
    assert weighed_quality([Cell(80, 20, 0, True), Cell(20, 20, 0, False)])[0] is None


def test_a_grader_that_only_ever_passes_is_surely_sensitive_and_surely_not_specific() -> None:
    sensitivity, specificity = weighed_quality([Cell(80, 20, 10, True), Cell(20, 2, 1, True)])
    assert sensitivity is not None
    assert specificity is not None
    assert (sensitivity.rate, sensitivity.ci_high, specificity.rate, specificity.ci_low) == (1, 1, 0, 0)
    assert sensitivity.ci_low > 0.9


def test_a_grader_that_never_erred_may_still_err() -> None:
    sensitivity, specificity = weighed_quality([Cell(80, 5, 5, True), Cell(20, 5, 0, False)])
    assert sensitivity is not None
    assert specificity is not None
    assert (sensitivity.rate, sensitivity.ci_high) == (1, 1)
    assert sensitivity.ci_low < 0.95
    assert specificity.ci_low < 0.6
