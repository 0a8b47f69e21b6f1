"""The whole calibration: what it says of grader, judges and ranking, in words and as a document."""

import itertools
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.results import BakeOffResult, Calls, RunResult
from evalq.review.calibration import CalibrationRequest, Labelled, Stored, calibrate
from evalq.review.calibration_result import BadAnswer, Calibration, GraderCheck
from evalq.review.labels import Answer
from evalq.review.next_labels import check_lines, findings, judge_rows, next_rows

JOB_IDS = itertools.count(1)


def run(judge: str, accuracy: float | None, excluded: str | None = None) -> RunResult:
    fields: dict[str, Any] = dict.fromkeys(RunResult.__dataclass_fields__)
    fields |= {"judge": judge, "accuracy": accuracy, "ci_low": accuracy, "ci_high": accuracy}
    return RunResult(**{**fields, "ci_method": "wilson", "excluded": excluded})


def result(runs: list[RunResult], **fields: Any) -> BakeOffResult:
    known: dict[str, Any] = dict.fromkeys(BakeOffResult.__dataclass_fields__)
    known |= {"id": 5, "task": "t", "eval_set": "s", "scorer": "llm_judge", "grader": "g", "seed": 1}
    known |= {"state": "concluded", "calls": Calls(), "spent_usd": Decimal(0), "runs": tuple(runs)}
    return BakeOffResult(**{**known, **fields})


def answers(judge: str, *counts: int, votes: bool = True) -> list[Answer]:
    """So many that grader and people pass, the grader alone, people alone, nobody."""
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    pairs = [pair for pair, count in zip(kinds, counts, strict=True) for _ in range(count)]
    return [
        Answer(next(JOB_IDS), judge, f"c{at:03}", 1, "", "passed" if g else "failed", (h,) if votes else ())
        for at, (g, h) in enumerate(pairs)
    ]


def labelled(*answered: list[Answer], **fields: Any) -> Labelled:
    runs = [run(own[0].judge, sum(one.passed for one in own) / len(own)) for own in answered]
    runs.sort(key=lambda one: -(one.accuracy or 0))
    return Labelled(result(runs, **fields), tuple(one for own in answered for one in own), 2)


def calibration(this: Labelled, source: Labelled | None = None, **asked: Any) -> Calibration:
    return calibrate(this, source or this, CalibrationRequest(**asked), Stored(3, 1, 2))


GLIB = answers("glib", 10, 40, 0, 10)  # passed for its manner: 50 of 60 as graded, 10 by people
PLAIN = answers("plain", 30, 0, 10, 20)


def test_a_ranking_that_changes_is_said_with_the_pair() -> None:
    found = calibration(labelled(GLIB, PLAIN))
    assert [(flip.a, flip.b, flip.certain) for flip in found.flips] == [("glib", "plain", True)]
    assert found.ranks == {"glib": 2, "plain": 1}
    words = list(findings(found))
    assert "the ranking changes: plain over glib, +33.3 pp as graded, -50.0 pp as corrected" in words
    assert words[0] == "120 answers labelled by 2 people"
    assert judge_rows(found)[0][:4] == ("glib", "60", "60", "83.3")


def test_the_document_has_everything() -> None:
    document = calibration(labelled(GLIB, PLAIN)).to_dict()
    assert json.loads(json.dumps(document)) == json.loads(json.dumps(document, default=str))
    assert document["schema"] == "evalq.calibration/1"
    assert document["labels"] == {
        **{"answers": 120, "votes": 120, "ties": 0, "labellers": 2},
        **{"stored": 3, "replaced": 1, "unfilled": 2},
    }
    assert (document["grader_quality"]["n"], document["grader_quality"]["better_than_chance"]) == (120, True)
    assert document["ranking"]["changed"] is True
    assert document["judges"][0]["corrected"]["rate"] == pytest.approx(1 / 6, abs=1e-4)
    assert "flips" not in document


def test_without_labels_there_are_only_answers_to_label() -> None:
    found = calibration(labelled(answers("a", 3, 0, 0, 3, votes=False)), n_next=4)
    assert list(findings(found)) == ["no labels yet"]
    assert (len(found.label_next), len(next_rows(found)), found.warnings) == (4, 4, ())
    assert judge_rows(found)[0][5:] == ("-", "-", "undefined: no answer of it is labelled", "-")
    assert found.next[0] == "evalq calibrate 5 -o to-label.csv"
    assert (found.to_dict()["grader_quality"], found.is_inconclusive) == (None, False)


def test_when_all_is_labelled_nothing_more_is_asked_for() -> None:
    found = calibration(labelled(PLAIN))
    assert (found.label_next, found.next) == ((), ("evalq inspect 5 --disagreements",))
    assert "the ranking does not change" not in list(findings(found))


def test_a_ranking_that_holds_is_said_to_hold() -> None:
    found = calibration(labelled(PLAIN, answers("worse", 10, 0, 0, 50)))
    assert list(findings(found))[-1] == "the ranking does not change"


def test_a_grader_no_better_than_chance_is_warned_of_and_corrects_nothing() -> None:
    found = calibration(labelled(answers("a", 10, 10, 10, 10)), separate=True)
    assert "g is not better than chance" in found.warnings[0]
    assert "a is not corrected: sensitivity + specificity <= 1" in found.warnings[1]
    assert found.is_inconclusive


def test_ties_are_left_out_and_counted() -> None:
    tied = [replace(one, votes=(True, False)) for one in answers("a", 2, 0, 0, 0)]
    found = calibration(labelled(tied, PLAIN))
    assert (found.labels.ties, found.labels.answers) == (2, 60)
    assert "60 answers labelled by 2 people, 2 tied and left out" in list(findings(found))


def test_labels_of_another_bake_off_correct_this_one() -> None:
    this = labelled(answers("new", 30, 0, 0, 30, votes=False), id=9)
    found = calibration(this, labelled(PLAIN), separate=True, judge="new")
    (judge,) = found.judges
    assert (found.id, found.labels_from, judge.n_labelled) == (9, 5, 0)
    assert judge.corrected is not None
    assert judge.corrected.method == "rogan_gladen"
    assert judge.corrected.rate == pytest.approx(0.5 / 0.75, abs=1e-3)


def test_one_judge_may_be_asked_for_alone() -> None:
    more = answers("glib", 5, 5, 5, 5, votes=False)
    found = calibration(labelled(PLAIN, more), judge="glib", seed=3)
    assert [one.judge for one in found.judges] == ["glib"]
    assert {one.judge for one in found.label_next} == {"glib"}


def test_a_judge_without_a_rank_is_left_out() -> None:
    this = labelled(PLAIN, GLIB)
    runs = (*this.result.runs[1:], run("glib", None, "60/60 empty outputs"))
    found = calibration(replace(this, result=replace(this.result, runs=runs)))
    assert [one.judge for one in found.judges] == ["plain"]
    assert found.labels.answers == 60


def test_uneven_labels_an_unfinished_bake_off_and_overlapping_judges_are_warned_of() -> None:
    rest = [replace(one, job_id=-at, case_id=f"z{at}", votes=()) for at, one in enumerate(PLAIN[:30])]
    few = [answers("x", 6, 3, 0, 3), answers("y", 5, 0, 3, 4)]
    words = " ".join(calibration(labelled([*PLAIN, *rest], *few, state="running")).warnings)
    assert "labelled more often than others" in words
    assert "bake-off 5 is running" in words
    assert "not certain, since the intervals overlap: plain over x, y over x" in words


def test_the_scorer_stands_for_a_grader_where_there_is_none() -> None:
    found = calibration(labelled(PLAIN, grader=None, scorer="strict_substring"))
    assert found.grader == "strict_substring"


def test_a_constant_grader_is_put_in_words() -> None:
    assert any("κ n/a" in line for line in findings(calibration(labelled(answers("a", 9, 1, 0, 0)))))
    only = list(findings(calibration(labelled(answers("a", 9, 0, 3, 0)))))
    assert "g: specificity unknown" in only


def check(**verdicts: str) -> GraderCheck:
    bad = [
        BadAnswer(kind, "c1", verdict.split("/")[0], verdict.partition("/")[2] or None)
        for kind, verdict in verdicts.items()
    ]
    return GraderCheck(3, "g", "concluded", "0.01", tuple(bad), ("other_case: none",))


@pytest.mark.parametrize(
    ("bad", "ok"),
    [
        (check(empty="errored/empty", unknown="failed"), True),
        (check(empty="errored/empty", unknown="errored/ungradable"), True),
        (check(unknown="errored/call_fatal"), None),
        (check(unknown="none"), None),
        (check(unknown="passed", empty="none"), False),
    ],
)
def test_a_grader_is_fine_when_it_surely_passed_nothing(bad: GraderCheck, ok: bool | None) -> None:
    assert bad.ok is ok
    assert bad.to_dict()["ok"] is ok
    assert len(bad.warnings()) == (ok is False)


def test_a_grader_that_passes_bad_answers_is_named_with_kind_and_case() -> None:
    bad = check(empty="errored/empty", unknown="passed")
    assert bad.warnings() == ["g passes a known-bad answer (unknown) on c1: its verdicts cannot be trusted"]
    assert list(check_lines(bad)) == [
        "✓ g on empty: c1 empty",
        "✗ g on unknown: c1 passed",
        "– left out: other_case: none",
    ]
    found = replace(calibration(labelled(PLAIN)), check=bad).to_dict()
    assert found["grader_check"]["ok"] is False
