"""One measurement of triggering: skills and requests into a bake-off, its answers into rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.bakeoff import Request, prepare_imported
from evalq.definitions.graders import Decision
from evalq.errors import UngradableAnswer
from evalq.grading.decision import read_decision
from evalq.importers.gathering import each_made
from evalq.importers.skills import Query, SkillFile, read_queries, read_skill, refuse_odd
from evalq.importers.triggering import Skill
from evalq.inspection import Question, find_cases
from evalq.plan import Plan
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult
from evalq.settings import Settings
from evalq.store.database import Database
from evalq.triggers.questions import Ask, as_imported, asks_of
from evalq.triggers.result import TriggersResult
from evalq.triggers.summary import Decided, collisions, confusions, query_rates

RUN_TYPE = "triggers"


@dataclass(frozen=True)
class Wish:
    """What the user asks for beside the skills."""

    judges: Sequence[str] = ()
    runs: int = 3
    queries: Path | None = None
    threshold: float = 0.5
    allow_unpriced: bool = False


@dataclass(frozen=True)
class Measurement:
    """What is to be asked, priced."""

    skills: tuple[Skill, ...]
    asks: tuple[Ask, ...]
    plan: Plan
    threshold: float


def prepare(paths: Sequence[Path], wish: Wish, settings: Settings, root: Path) -> Measurement:
    """Read the skills and the requests, and plan the bake-off."""
    files = each_made(lambda path: read_skill(path, root), paths)
    queries = _queries(files, wish)
    refuse_odd(files, queries)
    skills = [found.skill for found in files]
    asks = asks_of(skills, queries)
    judge = next((found.judge for found in files if found.judge), None)
    request = Request("", "", tuple(wish.judges), samples=wish.runs, allow_unpriced=wish.allow_unpriced)
    plan = prepare_imported(as_imported(asks, skills, judge=judge), request, settings)
    return Measurement(tuple(skills), tuple(asks), plan, wish.threshold)


def _queries(files: Sequence[SkillFile], wish: Wish) -> list[Query]:
    """Those of the file named, else those beside the skills; each once."""
    if wish.queries is not None:
        found = read_queries(wish.queries, [one.skill.name for one in files])
    else:
        found = [query for one in files for query in one.queries]
    return list(dict.fromkeys(found))


def read_result(db: Database, result: BakeOffResult, measured: Measurement) -> TriggersResult:
    """What came of it."""
    decided = _decided(db, result, measured)
    rates = query_rates(decided, measured.threshold)
    return TriggersResult(
        result.id,
        result.state,
        result.is_partial,
        measured.plan.samples,
        measured.threshold,
        tuple((skill.name, skill.description) for skill in measured.skills),
        tuple(rates),
        tuple(confusions(rates)),
        tuple(collisions(decided, measured.threshold)),
        result.spent_usd,
    )


def _decided(db: Database, result: BakeOffResult, measured: Measurement) -> list[Decided]:
    """By question, then by judge in the order named."""
    cases, _ = find_cases(db, result, Question(limit=max(1, len(measured.asks))))
    answers = {case.case_id: case.answers for case in cases}
    return [
        Decided(
            ask,
            judge.name,
            _words(ask, [one for one in answers.get(ask.case.id, ()) if one.judge == judge.name]),
        )
        for ask in measured.asks
        for judge in measured.plan.judges
    ]


def _words(ask: Ask, answers: Sequence[AnswerView]) -> tuple[str | None, ...]:
    (grader,) = ask.case.graders
    assert isinstance(grader, Decision)
    return tuple(_word(grader, answer) for answer in answers)


def _word(grader: Decision, answer: AnswerView) -> str | None:
    if answer.verdict not in ("passed", "failed"):
        return None
    try:
        return read_decision(grader, answer.answer_text)[0]
    except UngradableAnswer:
        return None
