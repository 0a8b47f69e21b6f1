"""Replays one answer: renders its prompt and grades it again, and reports what differs."""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalq.bakeoff.follow import run_to_end
from evalq.bakeoff.holdout import refuse_cases
from evalq.bakeoff.plan import make_plan
from evalq.bakeoff.rescore import UNASKED, UNRUN, CacheOnlyContext
from evalq.calling.metered import question_key
from evalq.definitions.prompt import answer_prompt
from evalq.engines.session import Session
from evalq.errors import InputError, Problem
from evalq.grading.grade import ask_people, decide_outcome, grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import BakeOffRow, Completion, Grade, Prompt, RunRow
from evalq.store import answers, bakeoffs, calls, outcomes
from evalq.store.answers import StoredAnswer, stored_answers
from evalq.store.database import Database
from evalq.store.definitions import Snapshots, stored_evalset, stored_graders, stored_judges

RUN_TYPE = "replay"


@dataclass(frozen=True)
class GradePair:
    """A grade as stored and as given now; None where one of them is missing."""

    grader: str
    then: Grade | None
    now: Grade | None
    is_carried_over: bool = False
    """Whether the grade of now is the stored one, since only people or a sandbox can give it."""

    @property
    def differs(self) -> bool:
        """Whether mark, score or reason differ; a grader that was not asked now does not count."""
        if self.then is None or self.now is None or self.now.reason == UNASKED or self.is_carried_over:
            return False
        return _told(self.then) != _told(self.now)


@dataclass(frozen=True)
class Replay:
    """One stored answer, replayed."""

    bakeoff: BakeOffRow
    run: RunRow
    answer: StoredAnswer
    prompt: Prompt
    is_same_prompt: bool | None
    """Whether the prompt has the bytes that were sent; None when nothing was sent for this job."""
    grades: tuple[GradePair, ...]
    verdict_then: str | None
    verdict_now: str

    @property
    def differs(self) -> bool:
        """Whether anything differs from what was stored."""
        return self.is_same_prompt is False or any(pair.differs for pair in self.grades)

    def to_dict(self) -> dict[str, Any]:
        """The evalq.replay/1 document."""
        text = self.answer.completion.text
        return {
            "schema": "evalq.replay/1",
            "bakeoff": self.bakeoff.id,
            "run_id": self.run.id,
            "judge": self.run.judge,
            "case_id": self.answer.case.id,
            "sample": self.answer.sample,
            "prompt": _prompt_document(self.prompt),
            "same_prompt": self.is_same_prompt,
            "answer": text,
            "answer_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "state": self.answer.completion.state,
            "grades": [_pair_document(pair) for pair in self.grades],
            "verdict": {"then": self.verdict_then, "now": self.verdict_now},
            "differs": self.differs,
        }


def replay(db: Database, bakeoff: BakeOffRow, run: RunRow, *, case_id: str, sample: int = 1) -> Replay:
    """Render the prompt and grade the stored answer again from the snapshots, without any call."""
    refuse_cases(db, bakeoff.id)
    answer = _stored(db, run, case_id, sample)
    task = Snapshots(db).task(bakeoff.task_sha)
    prompt = answer_prompt(task, answer.case, sample=sample, seed=bakeoff.seed)
    context = CacheOnlyContext(db, stored_graders(db, bakeoff.id), _opponents(db, bakeoff, answer))
    subject = AnswerToGrade(task, answer.case, answer.completion, run.judge)
    then = answers.grades(db, [answer.job_id])[answer.job_id]
    pairs = pair_grades(then, asyncio.run(_grade_here(subject, context)))
    outcome = outcomes.read_outcome(db, answer.job_id)
    return Replay(
        bakeoff,
        run,
        answer,
        prompt,
        _is_sent(db, bakeoff, run, answer, prompt),
        pairs,
        outcome.verdict if outcome else None,
        decide_outcome(subject, [pair.now for pair in pairs if pair.now is not None]).verdict,
    )


def call_again(session: Session, found: Replay, *, cap_usd: Decimal, root: Path) -> Completion | None:
    """Ask the same judge the same question once more, metered and capped; return its completion."""
    db, bakeoff = session.db, found.bakeoff
    one = stored_evalset(db, bakeoff).model_copy(update={"cases": [found.answer.case]})
    judge = stored_judges(db, bakeoff.id)[found.run.judge]
    graders = stored_graders(db, bakeoff.id)
    plan = make_plan(Snapshots(db).task(bakeoff.task_sha), one, [judge], graders=graders, seed=bakeoff.seed)
    bakeoff_id = run_to_end(session, plan, cap_usd=cap_usd, root=root, run_type=RUN_TYPE)
    said = stored_answers(db, [run.id for run in bakeoffs.runs(db, bakeoff_id)])
    return said[0].completion if said else None


def _stored(db: Database, run: RunRow, case_id: str, sample: int) -> StoredAnswer:
    found = {answer.sample: answer for answer in stored_answers(db, [run.id], case_id=case_id)}
    if sample not in found:
        has = f"it has samples {', '.join(map(str, found))}" if found else "`evalq inspect` lists its cases"
        raise InputError(Problem(f"run {run.id} ({run.judge}) has no answer to case {case_id!r}", has))
    return found[sample]


def _opponents(db: Database, bakeoff: BakeOffRow, answer: StoredAnswer) -> dict[str, str]:
    runs = bakeoffs.runs(db, bakeoff.id)
    others = stored_answers(db, [run.id for run in runs], case_id=answer.case.id)
    return {one.judge: one.completion.text for one in others if one.sample == answer.sample}


def _is_sent(
    db: Database, bakeoff: BakeOffRow, run: RunRow, answer: StoredAnswer, prompt: Prompt
) -> bool | None:
    """The key of a call is a hash over the bytes of its prompt."""
    judge = stored_judges(db, bakeoff.id)[run.judge]
    sent = calls.answer_keys(db, answer.job_id)
    return question_key(prompt, judge) in sent if sent else None


async def _grade_here(answer: AnswerToGrade, context: CacheOnlyContext) -> list[Grade]:
    """A grade per grader; code that would have to run and people leave theirs undecided."""
    if not answer.is_gradable:
        return []
    return [
        *await grade_answer(answer, context),
        *await grade_answer(answer, context, stage="sandbox"),
        *ask_people(answer),
    ]


def pair_grades(then: Sequence[Grade], now: Sequence[Grade]) -> tuple[GradePair, ...]:
    """Each grader's stored grade beside the one of now; what cannot be given here is the stored one again."""
    before, after = {grade.grader: grade for grade in then}, {grade.grader: grade for grade in now}
    pairs = []
    for name in {**before, **after}:
        stored, given = before.get(name), after.get(name)
        is_elsewhere = given is not None and (given.pending or given.reason == UNRUN)
        if stored is not None and is_elsewhere:
            pairs.append(GradePair(name, stored, stored, is_carried_over=True))
        else:
            pairs.append(GradePair(name, stored, given))
    return tuple(pairs)


def _told(grade: Grade) -> tuple[object, ...]:
    return grade.passed, grade.score, grade.reason


def _pair_document(pair: GradePair) -> dict[str, Any]:
    return {
        "grader": pair.grader,
        "then": _grade_document(pair.then),
        "now": _grade_document(pair.now),
        "differs": pair.differs,
        "carried_over": pair.is_carried_over,
    }


def _grade_document(grade: Grade | None) -> dict[str, Any] | None:
    return None if grade is None else {"passed": grade.passed, "score": grade.score, "reason": grade.reason}


def _prompt_document(prompt: Prompt) -> dict[str, Any]:
    turns = [{"role": turn.role, "content": turn.text} for turn in prompt.turns]
    return {"system": prompt.system, "turns": turns, "user": prompt.user, "max_tokens": prompt.max_tokens}
