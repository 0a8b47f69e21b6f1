"""The lineup of a suite run: each judge with the evals it is to answer, as the database keeps it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.formats.suite.assignment import Assignment
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.outcomes import EvalOutcome
from evalq.formats.suite.plan import SuitePlan


@dataclass(frozen=True)
class LineupEntry:
    """A judge, or the tested system, and its evals; they have no attempts until those are collected."""

    judge: str
    model: str
    is_system: bool
    evals: tuple[EvalOutcome, ...]


def lineup_of(plan: SuitePlan) -> list[LineupEntry]:
    """Every judge of a plan with its evals; those without a baseline are marked."""
    planned: dict[tuple[str, str], SuiteEval] = {}
    for bakeoff in plan.bakeoffs:
        for judge in bakeoff.plan.judges:
            planned |= {(judge.name, one.id): one for one in bakeoff.evals}
    entries = []
    for assignment in plan.assignments:
        name = assignment.judge.name
        evals = [_describe_eval(planned.get((name, one.id)), one, assignment) for one in assignment.evals]
        entries.append(LineupEntry(name, assignment.judge.model, assignment.is_system, tuple(evals)))
    return entries


def _describe_eval(planned: SuiteEval | None, written: SuiteEval, assignment: Assignment) -> EvalOutcome:
    """An eval as it is planned, with its baseline; one that no bake-off runs lacks a baseline."""
    one = planned or written
    described = describe_case(one.case)
    return replace(
        described,
        grader_types=one.grader_types or described.grader_types,
        lacks_baseline=planned is None,
        answered_by=assignment.key,
    )


def describe_case(case: EvalCase) -> EvalOutcome:
    """A case as an eval without attempts."""
    about = case.metadata
    return EvalOutcome(
        case.id,
        str(about.get("name", case.id)),
        str(about.get("eval_type", "capability")),
        str(about.get("category", "")),
        tuple(about.get("grader_types", ("code",))),
        float(about.get("weight", 1.0)),
        about.get("criticality"),
        _expected_text(case),
    )


def _expected_text(case: EvalCase) -> str:
    if not case.expected:
        return ""
    answer = case.expected.get("answer")
    return answer if isinstance(answer, str) else json.dumps(case.expected, ensure_ascii=False)


def write_lineup(lineup: Sequence[LineupEntry]) -> list[Any]:
    """A lineup as JSON."""
    return [asdict(entry) for entry in lineup]


def read_lineup(document: Sequence[Any]) -> list[LineupEntry]:
    """The lineup that `write_lineup` wrote."""
    entries = []
    for entry in document:
        evals = []
        for one in entry["evals"]:
            read = {**one, "grader_types": tuple(one["grader_types"]), "samples": (), "retries": ()}
            evals.append(EvalOutcome(**read))
        entries.append(LineupEntry(**{**entry, "evals": tuple(evals)}))
    return entries
