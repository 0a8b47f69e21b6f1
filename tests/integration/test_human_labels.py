"""Human labels in Postgres: stored once, replaced by their labeller, counted by majority."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.records import Verdict
from evalq.review.calibration import (
    CalibrationRequest,
    Stored,
    calibrate,
    find_target,
    gather,
    refuse_other_grader,
    shown_texts,
    store_labels,
)
from evalq.review.labels import LabelFile, read_labels
from evalq.store.database import Database

Sql = Callable[..., list[tuple[Any, ...]]]
LABELS = "SELECT labeller, passed FROM human_labels ORDER BY job_id, labeller"


@pytest.fixture
def graded(
    record: Callable[..., int],
    judge: Callable[..., Any],
    job_ids: Callable[[int], list[int]],
    end_job: Callable[[int, Verdict], None],
) -> Callable[..., int]:
    """Makes a bake-off of two judges whose jobs have ended with these verdicts."""

    def make(
        verdicts: Sequence[Verdict] = ("passed", "failed", "errored", "passed", "passed", "failed"),
    ) -> int:
        bakeoff_id = record(len(verdicts) // 2, [judge("sim-a"), judge("sim-b")])
        for job_id, verdict in zip(job_ids(bakeoff_id), verdicts, strict=True):
            end_job(job_id, verdict)
        return bakeoff_id

    return make


def cases_of(sql: Sql, verdict: str) -> list[tuple[str, str]]:
    return sql(
        "SELECT r.judge, o.case_id FROM outcomes o JOIN runs r ON r.id = o.run_id WHERE o.verdict = %s"
        " ORDER BY r.judge, o.case_id",
        verdict,
    )


def file_of(*rows: tuple[object, ...]) -> LabelFile:
    head = "judge,case_id,sample,passed,labeller\n"
    return read_labels(head + "".join(",".join(map(str, row)) + "\n" for row in rows), "l", is_csv=True)


def test_a_second_label_replaces_the_first_of_its_labeller_and_is_a_vote_of_anothers(
    db: Database, sql: Sql, graded: Callable[..., int]
) -> None:
    bakeoff_id = graded()
    where = cases_of(sql, "passed")[0]
    assert store_labels(db, bakeoff_id, file_of((*where, 1, "yes", "ann"))) == Stored(1, 0, 0)
    assert store_labels(
        db, bakeoff_id, file_of((*where, 1, "no", "ann"), (*where, 1, "no", "bob"))
    ) == Stored(2, 1, 0)
    assert sql(LABELS) == [("ann", False), ("bob", False)]
    (answer,) = [one for one in gather(db, bakeoff_id).answers if one.votes]
    assert ((answer.judge, answer.case_id), answer.human, answer.votes) == (where, False, (False, False))
    assert gather(db, bakeoff_id).labellers == 2


def test_a_tie_is_left_out_and_a_third_vote_settles_it(
    db: Database, sql: Sql, graded: Callable[..., int]
) -> None:
    bakeoff_id = graded()
    where = cases_of(sql, "passed")[0]
    store_labels(db, bakeoff_id, file_of((*where, 1, "no", "ann"), (*where, 1, "yes", "bob")))
    labelled = gather(db, bakeoff_id)
    counts = calibrate(labelled, labelled, CalibrationRequest(), Stored()).labels
    assert (counts.answers, counts.votes, counts.ties) == (0, 2, 1)
    store_labels(db, bakeoff_id, file_of((*where, 1, "no", "cat")))
    labelled = gather(db, bakeoff_id)
    counts = calibrate(labelled, labelled, CalibrationRequest(), Stored()).labels
    assert (counts.answers, counts.votes, counts.ties) == (1, 3, 0)


def test_one_wrong_line_and_nothing_is_stored(db: Database, sql: Sql, graded: Callable[..., int]) -> None:
    bakeoff_id = graded()
    good, broken = cases_of(sql, "passed")[0], cases_of(sql, "errored")[0]
    lines = ((*good, 1, "yes", "x"), (*broken, 1, "yes", "x"), ("sim-z", "case-0001", 1, "no", "x"))
    with pytest.raises(InputError) as caught:
        store_labels(db, bakeoff_id, file_of(*lines))
    assert [(problem.file, problem.line) for problem in caught.value.problems] == [("l", 3), ("l", 4)]
    assert sql(LABELS) == []


def test_labels_belong_to_one_bake_off(db: Database, sql: Sql, graded: Callable[..., int]) -> None:
    first, second = graded(), graded()
    store_labels(db, second, file_of((*cases_of(sql, "passed")[0], 1, "yes", "x")))
    assert sum(bool(one.votes) for one in gather(db, first).answers) == 0
    assert sum(bool(one.votes) for one in gather(db, second).answers) == 1


def test_people_see_what_the_judge_said(db: Database, graded: Callable[..., int]) -> None:
    labelled = gather(db, graded())
    rows = calibrate(labelled, labelled, CalibrationRequest(n_next=3), Stored()).label_next
    texts = shown_texts(db, rows)
    assert set(texts) == {row.job_id for row in rows}
    for row in rows:
        number = int(row.case_id.removeprefix("case-"))
        shown = texts[row.job_id]
        assert (shown.inputs, shown.expected) == (
            {"country": f"country {number}"},
            {"answer": f"capital {number}"},
        )
        assert shown.answer == "capital 1"


def test_a_bake_off_a_judge_of_it_or_a_run_may_be_named(
    db: Database, graded: Callable[..., int], run_ids: Callable[[int], list[int]]
) -> None:
    bakeoff_id = graded()
    assert find_target(db, "last") == find_target(db, str(bakeoff_id)) == (bakeoff_id, None)
    assert find_target(db, f"{bakeoff_id}:sim-b") == (bakeoff_id, "sim-b")
    other = run_ids(bakeoff_id)[1]  # there is one bake-off, so the second run's number is no bake-off's
    assert find_target(db, str(other)) == (bakeoff_id, "sim-b")
    for name, words in (("99", "there is no bake-off 99"), (f"{bakeoff_id}:sim-c", "did you mean")):
        with pytest.raises(InputError, match=words):
            find_target(db, name)


def test_labels_of_another_grader_are_refused(db: Database, sql: Sql, graded: Callable[..., int]) -> None:
    first, second = graded(), graded()
    sql("UPDATE bakeoffs SET grader_model = 'g-2' WHERE id = %s", second)
    refuse_other_grader(gather(db, first), gather(db, first))
    with pytest.raises(InputError, match="was graded by g-2"):
        refuse_other_grader(gather(db, first), gather(db, second))
