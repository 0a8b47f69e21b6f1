"""Gathers what a report on a bake-off shows: its result, its frontier, its cases, and how it was made."""

import shlex
from collections.abc import Iterator, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.holdout import is_holdout
from evalq.bakeoff.inspect import GRADED, view_cases
from evalq.bakeoff.portfolio import unpriced_judges
from evalq.errors import Refused
from evalq.records import BakeOffRow
from evalq.reports.bakeoff_sections import bakeoff_sections, method_facts, usd_per_case
from evalq.reports.cases import CaseView
from evalq.reports.report_parts import MOST_CASES, Report, ReportCases
from evalq.results import BakeOffResult, Offer, plain
from evalq.store import answers, bakeoffs
from evalq.store.answers import CaseVerdicts
from evalq.store.bakeoffs import Provenance
from evalq.store.database import Database
from evalq.summary.frontier import frontier

CASES_AT_ONCE = 200
_SMALLEST_USD = Decimal("0.00000001")
_OWN_COMMANDS = frozenset(("bake-off", "final-decision"))


def gather_report(db: Database, bakeoff_id: int, *, monthly_cases: int | None = None) -> Report:
    """The report on a bake-off, with at most 200 of its cases."""
    result = result_of(db, bakeoff_id)
    row = bakeoffs.get(db, bakeoff_id)
    unpriced = unpriced_judges(db, bakeoff_id)
    offers = frontier([result], unpriced=unpriced).per_task[result.task]
    assert result.decision is not None, "every result that was read has one"
    return Report(
        kind="bakeoff",
        id=str(bakeoff_id),
        title=f"{result.task} · {result.eval_set}",
        facts=tuple(_list_facts(result, row)),
        answer=result.decision.sentence,
        caveats=tuple(_list_caveats(result, result.decision.caveats)),
        sections=bakeoff_sections(result, offers, unpriced=unpriced, monthly_cases=monthly_cases),
        cases=_gather_cases(db, result),
        method=(*method_facts(result), *describe_origin(db, row, result)),
        next=result.next,
        document={**result.to_dict(), "costs": _list_costs(result, offers, unpriced, monthly_cases)},
    )


def iterate_cases(db: Database, bakeoff_id: int) -> Iterator[CaseView]:
    """Every case with every answer, in evalset order, a few hundred at a time; Refused for a holdout."""
    row = bakeoffs.get(db, bakeoff_id)
    if is_holdout(row.eval_set_name):
        raise Refused(f"bake-off {bakeoff_id}: {_explain_withheld(row.eval_set_name)}")
    rows = answers.cases_with_verdicts(db, bakeoff_id)
    for start in range(0, len(rows), CASES_AT_ONCE):
        yield from view_cases(db, bakeoff_id, rows[start : start + CASES_AT_ONCE])


def describe_origin(db: Database, row: BakeOffRow, result: BakeOffResult) -> Iterator[tuple[str, str]]:
    """What it was made from: hashes, commit, times, and the command that repeats it."""
    origin = bakeoffs.provenance(db, row.id)
    yield "task", f"{row.task_name}, sha256 {row.task_sha}"
    yield "evalset", f"{row.eval_set_name}, sha256 {row.eval_set_sha}"
    for kind, hashes in (("judge", origin.judge_shas or {}), ("grader", origin.grader_shas)):
        for name, sha in hashes.items():
            yield f"{kind} {name}".rstrip(), f"sha256 {sha}"
    yield "git commit", origin.git_sha or "none"
    yield "started", f"{origin.created_at:%Y-%m-%d %H:%M:%S} UTC"
    if origin.concluded_at:
        yield "concluded", f"{origin.concluded_at:%Y-%m-%d %H:%M:%S} UTC"
    if origin.notes:
        yield "note", origin.notes
    yield "command", _write_command(row, result, origin)
    yield "evalq", version("evalq")


def _list_facts(result: BakeOffResult, row: BakeOffRow) -> Iterator[str]:
    yield f"{row.created_at:%Y-%m-%d}"
    yield f"{len(result.runs)} judges"
    yield f"{max((run.n_cases for run in result.runs), default=0):,} cases"
    if result.samples > 1:
        yield f"{result.samples} samples"
    if result.state != "concluded":
        yield f"INTERIM, {result.state}"


def _list_caveats(result: BakeOffResult, first: Sequence[str]) -> Iterator[str]:
    """The decision's caveats, then the warnings that say something else."""
    yield from first
    broken = [f"{run.judge}: {run.excluded}; left out" for run in result.runs if run.excluded]
    for warning in result.warnings:
        if warning not in first and not warning.startswith(tuple(broken)):
            yield warning


def _write_command(row: BakeOffRow, result: BakeOffResult, origin: Provenance) -> str:
    """The command that asks the same again; what another command started has its own."""
    if row.run_type not in _OWN_COMMANDS:
        return f"started as {row.run_type.replace('_', ' ')}; see it again with evalq inspect {row.id}"
    options: dict[str, Any] = {
        "--task": row.task_name,
        "--eval-set": row.eval_set_name,
        "--judges": ",".join(origin.judge_shas or [run.judge for run in result.runs]),
        "--scorer": row.scorer_mode,
        "--grader-model": row.grader_model,
        "--samples": row.samples if row.samples > 1 else None,
        "--seed": row.seed,
        "--max-cost-usd": plain(row.cap_usd),
    }
    words = ["evalq", "bake-off"]
    for name, value in options.items():
        if value is not None:
            words += [name, str(value)]
    if row.run_type == "final-decision":
        words.append("--final-decision")
    return shlex.join(words)


def _list_costs(
    result: BakeOffResult, offers: Sequence[Offer], unpriced: Sequence[str], monthly_cases: int | None
) -> list[dict[str, Any]]:
    """Dollars per case and per month of every judge, for the JSON document."""
    on_frontier = {offer.judge: offer.on_frontier for offer in offers}
    costs = []
    for run in result.runs:
        per_case = None if run.judge in unpriced else usd_per_case(run, result.samples)
        per_month = None if per_case is None or not monthly_cases else per_case * monthly_cases
        entry: dict[str, Any] = {"judge": run.judge, "usd_per_case": _round_usd(per_case)}
        if monthly_cases:
            entry |= {"monthly_cases": monthly_cases, "usd_per_month": _round_usd(per_month)}
        costs.append({**entry, "on_frontier": on_frontier.get(run.judge)})
    return costs


def _round_usd(amount: Decimal | None) -> Any:
    return None if amount is None else plain(amount.quantize(_SMALLEST_USD))


def _gather_cases(db: Database, result: BakeOffResult) -> ReportCases:
    """All cases if there are few; else those on which judges differ first, then the others that failed."""
    judges = tuple(run.judge for run in result.runs)
    if is_holdout(result.eval_set):
        return ReportCases(judges, withheld=_explain_withheld(result.eval_set))
    rows = answers.cases_with_verdicts(db, result.id)
    ranked = {run.judge for run in result.runs if not run.excluded}
    disagreeing = [row for row in rows if _is_disputed(row, ranked)]
    not_passed = [row for row in rows if any(verdict != "passed" for verdict in row.verdicts)]
    chosen = rows
    if len(rows) > MOST_CASES:
        first = {row.case_id: row for row in (*disagreeing, *not_passed)}
        chosen = list(first.values())[:MOST_CASES]
    return ReportCases(
        judges,
        tuple(view_cases(db, result.id, chosen)),
        n_cases=len(rows),
        n_not_passed=len(not_passed),
        disagreements=tuple(row.case_id for row in disagreeing),
        rest_command=f"evalq inspect {result.id} --show-failures",
    )


def _is_disputed(row: CaseVerdicts, ranked: set[str]) -> bool:
    """Whether ranked judges got different verdicts; a broken judge would disagree with everybody."""
    verdicts = set()
    for judge, verdict in zip(row.judges, row.verdicts, strict=True):
        if judge in ranked and verdict in GRADED:
            verdicts.add(verdict)
    return len(verdicts) > 1


def _explain_withheld(eval_set: str) -> str:
    return (
        f"{eval_set} is a holdout: its cases and answers stay out of files that travel, so that it remains "
        "one; the rates are shown"
    )
