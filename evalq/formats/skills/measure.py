"""Measures triggering: skills and requests become a bake-off, its answers become rates and collisions."""

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
from evalq.formats.build import short_id
from evalq.formats.problems import build_each
from evalq.formats.skills.result import (
    Collision,
    CollisionKind,
    Confusion,
    QueryRate,
    TriggersResult,
)
from evalq.formats.skills.skill_files import SkillFile, SkillQuery, read_queries, read_skill, refuse_invalid
from evalq.formats.skills.trigger_cases import (
    NONE,
    Skill,
    build_choice_case,
    build_trigger_case,
    build_trigger_task,
    trigger_id,
)
from evalq.grading.checks.decisions import read_decision
from evalq.reports.cases import AnswerView
from evalq.results import BakeOffResult, Share
from evalq.settings import Settings
from evalq.store.database import Database
from evalq.summary.rates import share_of

RUN_TYPE = "triggers"

WORKSPACE, SET = "skills", "triggering"
"""The task of several skills, and the evalset of requests."""


@dataclass(frozen=True)
class MeasureOptions:
    """What the user chose on the command line."""

    judges: Sequence[str] = ()
    runs: int = 3
    queries: Path | None = None
    threshold: float = 0.5
    allow_unpriced: bool = False


@dataclass(frozen=True)
class TriggerQuestion:
    """Asks whether one skill matches a request, or, if `skill` is None, which of all skills does.

    `right` holds the right answers; `is_own` marks requests from the skill's own lists.
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


@dataclass(frozen=True)
class Measurement:
    """The questions to ask, and their priced plan."""

    skills: tuple[Skill, ...]
    questions: tuple[TriggerQuestion, ...]
    plan: Plan
    threshold: float


def prepare(paths: Sequence[Path], options: MeasureOptions, settings: Settings, root: Path) -> Measurement:
    """Read the skills and the requests, and plan the bake-off."""
    files = build_each(lambda path: read_skill(path, root), paths)
    queries = _read_queries(files, options)
    refuse_invalid(files, queries)
    skills = [found.skill for found in files]
    questions = build_questions(skills, queries)
    judges = [found.judge for found in files if found.judge]
    imported = import_questions(questions, skills, judge=judges[0] if judges else None)
    request = Request(
        "", "", tuple(options.judges), samples=options.runs, allow_unpriced=options.allow_unpriced
    )
    plan = prepare_imported(imported, request, settings)
    return Measurement(tuple(skills), tuple(questions), plan, options.threshold)


def _read_queries(files: Sequence[SkillFile], options: MeasureOptions) -> list[SkillQuery]:
    """Read the requests of the file named, else those beside the skills; each once."""
    if options.queries is not None:
        found = read_queries(options.queries, [one.skill.name for one in files])
    else:
        found = []
        for one in files:
            found += one.queries
    return list(dict.fromkeys(found))


def build_questions(skills: Sequence[Skill], queries: Sequence[SkillQuery]) -> list[TriggerQuestion]:
    """Build all questions; a request for one skill is put to the others, too, as they may also claim it."""
    is_alone = len(skills) == 1
    own = {(query.skill, query.text): query.should_trigger for query in queries}
    wanted = [] if is_alone else [query.text for query in queries if query.should_trigger]
    questions: list[TriggerQuestion] = []
    for skill in skills:
        texts = [text for name, text in own if name == skill.name]
        for text in dict.fromkeys([*texts, *wanted]):
            questions.append(_ask_one(skill, text, own.get((skill.name, text)), is_alone=is_alone))
    if not is_alone:
        questions += _ask_which(skills, queries)
    return questions


def _ask_one(skill: Skill, text: str, should: bool | None, *, is_alone: bool) -> TriggerQuestion:
    case_id = trigger_id(text) if is_alone else short_id(f"{skill.name}:{text}")
    case = build_trigger_case(skill, text, should_trigger=should is True, case_id=case_id)
    return TriggerQuestion(text, skill.name, ("YES",) if should else ("NO",), should is not None, case)


def _ask_which(skills: Sequence[Skill], queries: Sequence[SkillQuery]) -> Iterator[TriggerQuestion]:
    names = [skill.name for skill in skills]
    for text in dict.fromkeys(query.text for query in queries):
        right = find_right_skills(text, names, queries)
        yield TriggerQuestion(text, None, right, True, build_choice_case(skills, text, right=right))


def find_right_skills(text: str, names: Sequence[str], queries: Sequence[SkillQuery]) -> tuple[str, ...]:
    """Return the skills that want a request; if none does, all that do not reject it, and NONE."""
    should = {query.skill: query.should_trigger for query in queries if query.text == text}
    wanting = tuple(name for name in names if should.get(name))
    return wanting or tuple(name for name in (*names, NONE) if should.get(name) is not False)


def import_questions(
    questions: Sequence[TriggerQuestion], skills: Sequence[Skill], *, judge: str | None
) -> LoadedTask:
    """Turn the questions into a task and its cases."""
    name = skills[0].name if len(skills) == 1 else WORKSPACE
    if not is_name(name):
        raise InputError(Problem(f"the skill's name {name!r} names no task", NAME_REMEDY))
    evalset = EvalSet(name=SET, cases=[question.case for question in questions])
    return LoadedTask(build_trigger_task(name), LoadedEvalSet(evalset), judges=(judge,) if judge else ())


@dataclass(frozen=True)
class JudgeDecisions:
    """One judge's decisions on one question, one for each run; None for an unreadable answer."""

    question: TriggerQuestion
    judge: str
    decisions: tuple[str | None, ...]

    @property
    def readable(self) -> list[str]:
        """The decisions that could be read."""
        return [decision for decision in self.decisions if decision is not None]


def read_result(db: Database, result: BakeOffResult, measured: Measurement) -> TriggersResult:
    """Read the answers of the bake-off, and compute the result."""
    decided = _read_decisions(db, result, measured)
    rates = compute_rates(decided, measured.threshold)
    return TriggersResult(
        result.id,
        result.state,
        result.is_partial,
        measured.plan.samples,
        measured.threshold,
        tuple((skill.name, skill.description) for skill in measured.skills),
        tuple(rates),
        tuple(compute_confusions(rates)),
        tuple(find_collisions(decided, measured.threshold)),
        result.spent_usd,
    )


def _read_decisions(db: Database, result: BakeOffResult, measured: Measurement) -> list[JudgeDecisions]:
    """Read the decisions by question, then by judge in the order named."""
    cases, _ = find_cases(db, result, CaseFilter(limit=max(1, len(measured.questions))))
    answers = {case.case_id: case.answers for case in cases}
    decided: list[JudgeDecisions] = []
    for question in measured.questions:
        (grader,) = question.case.graders
        assert isinstance(grader, DecisionGrader)
        for judge in measured.plan.judges:
            found = [answer for answer in answers.get(question.case.id, ()) if answer.judge == judge.name]
            decisions = tuple(_decide(grader, answer) for answer in found)
            decided.append(JudgeDecisions(question, judge.name, decisions))
    return decided


def _decide(grader: DecisionGrader, answer: AnswerView) -> str | None:
    if answer.verdict not in ("passed", "failed"):
        return None
    try:
        return read_decision(grader, answer.answer_text)[0]
    except UngradableAnswer:
        return None


def compute_rates(decided: Iterable[JudgeDecisions], threshold: float) -> list[QueryRate]:
    """Compute the rates of the requests in the skills' own lists."""
    rates: list[QueryRate] = []
    for one in decided:
        question = one.question
        if question.skill is None or not question.is_own:
            continue
        found = _trigger_share(one)
        passed = None if found.rate is None else (found.rate >= threshold) == question.should_trigger
        rates.append(
            QueryRate(
                question.skill,
                question.query,
                question.should_trigger,
                one.judge,
                found,
                errors=len(one.decisions) - len(one.readable),
                passed=passed,
            )
        )
    return rates


def _trigger_share(one: JudgeDecisions) -> Share:
    return share_of(one.readable.count("YES"), len(one.readable))


def compute_confusions(rates: Sequence[QueryRate]) -> list[Confusion]:
    """Compute each judge's confusion over all skills, then for each skill if there are several.

    Counted by request, not by answer: several runs of one request are not independent evidence.
    """
    judges = list(dict.fromkeys(rate.judge for rate in rates))
    skills = list(dict.fromkeys(rate.skill for rate in rates))
    groups: list[str | None] = [None]
    if len(skills) > 1:
        groups += skills
    return [_compute_confusion(rates, judge, skill) for skill in groups for judge in judges]


def _compute_confusion(rates: Sequence[QueryRate], judge: str, skill: str | None) -> Confusion:
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


def find_collisions(decided: Sequence[JudgeDecisions], threshold: float) -> list[Collision]:
    """Find requests that several skills claim, or that go to the wrong skill."""
    claims = _find_claims(decided, threshold)
    found: list[Collision] = []
    for one in decided:
        if one.question.skill is None:
            collision = _find_collision(one, claims.get((one.judge, one.question.query), ()))
            if collision is not None:
                found.append(collision)
    return found


def _find_claims(
    decided: Iterable[JudgeDecisions], threshold: float
) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Find the skills that claim a request, by judge and request."""
    claims: dict[tuple[str, str], tuple[str, ...]] = {}
    for one in decided:
        rate = _trigger_share(one).rate
        if one.question.skill is not None and rate is not None and rate >= threshold:
            key = (one.judge, one.question.query)
            claims[key] = (*claims.get(key, ()), one.question.skill)
    return claims


def _find_collision(one: JudgeDecisions, claimed_by: tuple[str, ...]) -> Collision | None:
    """Compare the most frequent pick with the right ones; in a tie a right pick wins."""
    picked = Counter(one.readable)
    most = max(picked.values(), default=0)
    goes_right = not picked or any(picked[name] == most for name in one.question.right)
    if goes_right and len(claimed_by) < 2:
        return None
    kind: CollisionKind = "claimed twice" if goes_right else "goes elsewhere"
    question = one.question
    return Collision(question.query, one.judge, kind, question.right, claimed_by, dict(picked.most_common()))
