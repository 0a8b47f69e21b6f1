"""Capturing baselines: run the regressions of a suite once and keep what they answer."""

from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version as version_of
from pathlib import Path

from evalq.formats.suite.assignment import Assignment
from evalq.formats.suite.baselines import comparable_output, keep_baselines
from evalq.formats.suite.capture_check import find_doubt, keep_matchers
from evalq.formats.suite.collect import collect_outcomes
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.lineup import lineup_of
from evalq.formats.suite.outcomes import MAX_REASON_CHARS, EvalOutcome
from evalq.formats.suite.plan import ANY_ANSWER, SuitePlan
from evalq.formats.suite.regressions import output_of
from evalq.formats.suite.run import Rounds, SuiteRunner, run_rounds
from evalq.store import suite_runs
from evalq.store.baselines import Baseline


@dataclass(frozen=True)
class CapturedBaselines:
    """The baselines kept, their files, the evals and judges that gave no output, and doubtful outputs.

    An entry of `doubtful` is an eval, a judge and a reason; it was kept only if it was accepted.
    """

    kept: tuple[Baseline, ...]
    files: tuple[Path, ...]
    missing: tuple[tuple[str, str], ...]
    rounds: Rounds
    doubtful: tuple[tuple[str, str, str], ...] = ()


def capture(
    runner: SuiteRunner, plan: SuitePlan, *, version: str | None, now: datetime, accept_doubtful: bool = False
) -> CapturedBaselines:
    """Run a plan of `plan_capture` and keep the outputs in Postgres and in the suite's folder.

    An error status, a number out of its tolerance, or an answer that fails another grader of its eval is not
    known-good: kept only with `accept_doubtful`.
    """
    rounds = run_rounds(runner, plan, kind="capture")
    db = runner.session.db
    captured: list[Baseline] = []
    missing: list[tuple[str, str]] = []
    doubtful: list[tuple[str, str, str]] = []
    entries = collect_outcomes(db, lineup_of(plan), suite_runs.parts(db, rounds.suite_run_id))
    for assignment, found in zip(plan.assignments, entries, strict=True):
        for one, outcome in zip(assignment.evals, found.evals, strict=True):
            baseline = _build_baseline(plan.suite.name, assignment, one, outcome, version=version)
            if baseline is None:
                missing.append((one.id, assignment.key))
                continue
            doubt = _find_doubt(one, baseline) or _find_failures(outcome)
            if doubt:
                doubtful.append((one.id, assignment.key, doubt))
            if accept_doubtful or not doubt:
                captured.append(replace(baseline, captured_at=now, bakeoff_id=rounds.ids[0]))
    files = keep_baselines(plan.suite, db, captured) if captured else []
    return CapturedBaselines(tuple(captured), tuple(files), tuple(missing), rounds, tuple(doubtful))


def _find_failures(outcome: EvalOutcome) -> str:
    """Which graders the answer failed, and why; "" if none."""
    decisive = outcome.decisive
    failed = [grade for grade in decisive.grades if grade.get("passed") is False] if decisive else []
    return "; ".join(f"it fails {grade['grader']}: {grade['reason']}" for grade in failed)[:MAX_REASON_CHARS]


def _find_doubt(one: SuiteEval, baseline: Baseline) -> str:
    assert one.regression is not None
    return find_doubt(one.regression, baseline.output, is_response=one.request is not None)


def _build_baseline(
    suite: str, assignment: Assignment, one: SuiteEval, outcome: EvalOutcome, *, version: str | None
) -> Baseline | None:
    """The answer as a baseline, also if graders failed it; None without one, or if it could not be graded."""
    decisive = outcome.decisive
    if decisive is None or not decisive.is_graded or one.regression is None:
        return None
    if any(grade["grader"] == ANY_ANSWER.name and not grade["passed"] for grade in decisive.grades):
        return None
    form = one.regression
    output = comparable_output(output_of(decisive.answer), is_response=one.request is not None)
    return Baseline(
        suite,
        one.id,
        assignment.key,
        version or form.baseline_version or form.baseline.version,
        keep_matchers(output, form.baseline.output),
        environment={"model": assignment.judge.model, "evalq": version_of("evalq")},
        criticality=form.metadata.criticality,
    )
