"""One measurement of triggering: skills and requests into a bake-off, its answers into rates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.bakeoff.inspect import CaseFilter, find_cases
from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.definition import NAME_REMEDY, is_name
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import DecisionGrader
from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError, Problem, UngradableAnswer
from evalq.formats.problems import each_made
from evalq.formats.skills.result import Collision, CollisionKind, Confusion, QueryRate, TriggersResult
from evalq.formats.skills.skill_files import Query, SkillFile, read_queries, read_skill, refuse_odd
from evalq.formats.skills.trigger_cases import (
    NONE,
    Skill,
    choice_case,
    short_id,
    trigger_case,
    trigger_id,
    trigger_task,
)
from evalq.grading.checks.decisions import read_decision
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult
from evalq.settings import Settings
from evalq.store.database import Database
from evalq.summary.rates import share_of

WORKSPACE, SET = "skills", "triggering"
"""The task of several skills, and the evalset of requests."""


@dataclass(frozen=True)
class Ask:
    """One question: does this skill match, or, without one, which does; `right` are the answers that will do.

    `is_own` marks those that the skill's own lists speak of.
    """

    query: str
    skill: str | None
    right: tuple[str, ...]
    is_own: bool
    case: EvalCase

    @property
    def should_trigger(self) -> bool:
        """Whether the one skill should match."""
        return self.right == ("YES",)


def asks_of(skills: Sequence[Skill], queries: Sequence[Query]) -> list[Ask]:
    """All questions. A request that another skill should get is put to a skill too: both may claim it."""
    is_alone = len(skills) == 1
    own = {(query.skill, query.text): query.should_trigger for query in queries}
    wanted = dict.fromkeys(query.text for query in queries if query.should_trigger)
    asks = []
    for skill in skills:
        texts = dict.fromkeys(
            [text for name, text in own if name == skill.name] + ([] if is_alone else [*wanted])
        )
        asks += [_ask_one(skill, text, own.get((skill.name, text)), is_alone=is_alone) for text in texts]
    return asks if is_alone else asks + list(_ask_which(skills, queries))


def as_imported(asks: Sequence[Ask], skills: Sequence[Skill], *, judge: str | None) -> LoadedTask:
    """The questions as a task and its cases."""
    name = skills[0].name if len(skills) == 1 else WORKSPACE
    if not is_name(name):
        raise InputError(Problem(f"the skill's name {name!r} names no task", NAME_REMEDY))
    evalset = EvalSet(name=SET, cases=[ask.case for ask in asks])
    return LoadedTask(trigger_task(name), LoadedEvalSet(evalset), judges=(judge,) if judge else ())


def _ask_one(skill: Skill, text: str, should: bool | None, *, is_alone: bool) -> Ask:
    case_id = trigger_id(text) if is_alone else short_id(f"{skill.name}:{text}")
    case = trigger_case(skill, text, should_trigger=should is True, case_id=case_id)
    return Ask(text, skill.name, ("YES",) if should else ("NO",), should is not None, case)


def _ask_which(skills: Sequence[Skill], queries: Sequence[Query]) -> Iterator[Ask]:
    for text in dict.fromkeys(query.text for query in queries):
        right = right_skills(text, [skill.name for skill in skills], queries)
        yield Ask(text, None, right, True, choice_case(skills, text, right=right))


def right_skills(text: str, names: Sequence[str], queries: Sequence[Query]) -> tuple[str, ...]:
    """The skills a request may load: those that want it; if none does, any but those that do not want it."""
    said = {query.skill: query.should_trigger for query in queries if query.text == text}
    wanting = tuple(name for name in names if said.get(name))
    return wanting or tuple(name for name in (*names, NONE) if said.get(name) is not False)


@dataclass(frozen=True)
class Decided:
    """What one judge said to one question, run after run; None for an answer that cannot be read."""

    ask: Ask
    judge: str
    said: tuple[str | None, ...]

    @property
    def readable(self) -> list[str]:
        """The decisions among the answers."""
        return [word for word in self.said if word is not None]


def query_rates(decided: Iterable[Decided], threshold: float) -> list[QueryRate]:
    """The rates of the requests that the skills' own lists speak of."""
    return [_rate(one, threshold) for one in decided if one.ask.is_own and one.ask.skill is not None]


def _rate(one: Decided, threshold: float) -> QueryRate:
    assert one.ask.skill is not None
    found = share_of(one.readable.count("YES"), len(one.readable))
    triggers = None if found.rate is None else found.rate >= threshold
    should = one.ask.should_trigger
    return QueryRate(
        one.ask.skill,
        one.ask.query,
        should,
        one.judge,
        found,
        errors=len(one.said) - len(one.readable),
        passed=None if triggers is None else triggers == should,
    )


def confusions(rates: Sequence[QueryRate]) -> list[Confusion]:
    """Each judge over all skills, then for each of several.

    Counted by request, not by answer: runs of one request are no independent evidence on the others.
    """
    judges = dict.fromkeys(rate.judge for rate in rates)
    skills = dict.fromkeys(rate.skill for rate in rates)
    groups: list[str | None] = [None, *(skills if len(skills) > 1 else ())]
    return [_confusion(rates, judge, skill) for skill in groups for judge in judges]


def _confusion(rates: Sequence[QueryRate], judge: str, skill: str | None) -> Confusion:
    mine = [one for one in rates if one.judge == judge and skill in (None, one.skill)]
    counts = Counter((one.should_trigger, one.passed) for one in mine if one.passed is not None)
    tp, fn = counts[True, True], counts[True, False]
    tn, fp = counts[False, True], counts[False, False]
    return Confusion(
        judge,
        skill,
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        precision=share_of(tp, tp + fp),
        recall=share_of(tp, tp + fn),
        accuracy=share_of(tp + tn, tp + tn + fp + fn),
    )


def collisions(decided: Sequence[Decided], threshold: float) -> list[Collision]:
    """Requests that several skills claim, or that go to another skill than they should."""
    claims = _claims(decided, threshold)
    found = (
        _collision(one, claims.get((one.judge, one.ask.query), ()))
        for one in decided
        if one.ask.skill is None
    )
    return [one for one in found if one is not None]


def _claims(decided: Iterable[Decided], threshold: float) -> Mapping[tuple[str, str], tuple[str, ...]]:
    claims: dict[tuple[str, str], tuple[str, ...]] = {}
    for one in decided:
        rate = share_of(one.readable.count("YES"), len(one.readable)).rate
        if one.ask.skill is not None and rate is not None and rate >= threshold:
            key = (one.judge, one.ask.query)
            claims[key] = (*claims.get(key, ()), one.ask.skill)
    return claims


def _collision(one: Decided, claimed_by: tuple[str, ...]) -> Collision | None:
    """The pick most often made counts; of picks made equally often, one that is right."""
    picked = Counter(one.readable)
    most = max(picked.values(), default=0)
    goes_right = not picked or any(picked[name] == most for name in one.ask.right)
    if goes_right and len(claimed_by) < 2:
        return None
    kind: CollisionKind = "claimed twice" if goes_right else "goes elsewhere"
    return Collision(one.ask.query, one.judge, kind, one.ask.right, claimed_by, dict(picked.most_common()))


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
    cases, _ = find_cases(db, result, CaseFilter(limit=max(1, len(measured.asks))))
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
    assert isinstance(grader, DecisionGrader)
    return tuple(_word(grader, answer) for answer in answers)


def _word(grader: DecisionGrader, answer: AnswerView) -> str | None:
    if answer.verdict not in ("passed", "failed"):
        return None
    try:
        return read_decision(grader, answer.answer_text)[0]
    except UngradableAnswer:
        return None
