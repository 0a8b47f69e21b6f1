"""Reads what `inspect` shows of a bake-off's answers: failures, differences, confusion."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evalq.bakeoff.answer_groups import group_differences, group_disagreements, group_failures
from evalq.bakeoff.inspect import GRADED, CaseFilter, choose_cases, expected_answer, read_cases
from evalq.reports.answers import AnswerPage, BrokenJudge
from evalq.results import BakeOffResult
from evalq.store import answers as stored
from evalq.store.answers import CaseVerdicts, JudgeAnswer
from evalq.store.database import Database
from evalq.summary.confusion import Confusion, build_confusion, find_labels, read_label

GROUPED_CASES = 1_000
"""Cases whose answers are read to group them; a bake-off may have a hundred times as many."""

_CASES_AT_ONCE = 500


def read_answers(db: Database, result: BakeOffResult, question: CaseFilter) -> tuple[AnswerPage, int]:
    """The answers asked for, grouped, and how many cases they are from."""
    wide = replace(question, limit=max(question.limit, GROUPED_CASES), ranked_only=True)
    every = read_cases(db, result)
    cases, total = choose_cases(db, result, wide, every)
    if question.show == "disagreements":
        return group_disagreements(result, cases, limit=question.limit), total
    page = group_failures(
        result,
        cases,
        labels=find_labels(_expected_answers(every).values()),
        limit=question.limit,
        with_passed=question.show == "all",
    )
    return replace(page, broken=broken_judges(db, result, question.judge)), total


def read_differences(
    db: Database, result: BakeOffResult, judges: tuple[str, str], *, limit: int
) -> tuple[AnswerPage, int]:
    """The cases that two judges answered differently, and how many there are."""
    question = CaseFilter(limit=max(limit, GROUPED_CASES))
    cases, _ = choose_cases(db, result, question, read_cases(db, result))
    page = group_differences(cases, *judges, limit=limit)
    return page, sum(group.n for group in page.groups)


def read_confusions(db: Database, result: BakeOffResult, judge: str | None = None) -> list[Confusion]:
    """The confusion of labels of each ranked judge, or of one; empty when the answers are not labels."""
    expected = _expected_answers(read_cases(db, result))
    labels = find_labels(expected.values())
    if not labels:
        return []
    judges = [run.judge for run in result.runs if not run.excluded and judge in (None, run.judge)]
    pairs: dict[str, list[tuple[str, str]]] = {one: [] for one in judges}
    not_graded, wrong_form = Counter[str](), Counter[str]()
    for answer in _all_answers(db, result.id, list(expected)):
        wanted = (expected[answer.case_id] or "").strip()
        if answer.judge not in pairs:
            continue
        if answer.verdict not in GRADED:
            not_graded[answer.judge] += 1
            continue
        # An answer that passed is right, whatever words its grader found the label in.
        said = wanted if answer.verdict == "passed" else read_label(answer.answer or "", labels)
        pairs[answer.judge].append((wanted, said))
        wrong_form[answer.judge] += said == wanted and answer.verdict == "failed"
    found = [build_confusion(one, pairs[one], labels) for one in judges]
    return [
        replace(one, n_not_graded=not_graded[one.judge], n_wrong_form=wrong_form[one.judge]) for one in found
    ]


def broken_judges(db: Database, result: BakeOffResult, judge: str | None = None) -> tuple[BrokenJudge, ...]:
    """The judges that are broken altogether, or this one if it is, each with its first error message."""
    broken = [run for run in result.runs if run.excluded and judge in (None, run.judge)]
    if not broken:
        return ()
    firsts = stored.first_answers(db, result.id)
    found = []
    for run in broken:
        first = firsts.get(run.judge)
        message = first.message or "" if first else ""
        found.append(BrokenJudge(run.judge, run.excluded or "", message))
    return tuple(found)


def _all_answers(db: Database, bakeoff_id: int, case_ids: Sequence[str]) -> Iterator[JudgeAnswer]:
    """In batches, so that not all texts are in memory at once."""
    for start in range(0, len(case_ids), _CASES_AT_ONCE):
        yield from stored.judge_answers(db, bakeoff_id, case_ids[start : start + _CASES_AT_ONCE])


def _expected_answers(rows: Sequence[CaseVerdicts]) -> dict[str, str | None]:
    return {row.case_id: expected_answer(json.loads(row.body)["expected"]) for row in rows}
