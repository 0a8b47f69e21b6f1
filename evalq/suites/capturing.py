"""Capturing baselines: the current side of every regression is run once, and its outputs are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version as version_of
from pathlib import Path

from evalq.definitions.graders.patterns import Matches
from evalq.importers.suite import Suite
from evalq.importers.suite_evals import SuiteEval
from evalq.importers.suite_regressions import output_of
from evalq.reports.suite_outcomes import EvalOutcome
from evalq.settings import Settings
from evalq.store.baselines import Baseline
from evalq.suites import baselines
from evalq.suites.answering import Respondent
from evalq.suites.collecting import outcomes_by_judge
from evalq.suites.opening import Opened
from evalq.suites.planning import Planned, Wish, plan_parts
from evalq.suites.running import Fleet, Rounds, run_rounds

_ANYTHING = Matches(type="regex", pattern=r"\S", name="said")


@dataclass(frozen=True)
class Captured:
    """What was kept, where, and which evals gave nothing to keep."""

    kept: tuple[Baseline, ...]
    files: tuple[Path, ...]
    missing: tuple[tuple[str, str], ...]
    rounds: Rounds


def plan_capture(opened: Opened, wish: Wish, *, settings: Settings) -> Planned:
    """The bake-offs that run every regression once; any answer will do."""
    asked = [replace(one, evals=tuple(_unmarked(each) for each in one.evals)) for one in opened.found]
    return plan_parts(
        opened.suite, asked, replace(wish, samples=1), settings=settings, baseline_of=lambda *_: None
    )


def capture(
    fleet: Fleet, opened: Opened, planned: Planned, *, version: str | None, now: datetime
) -> Captured:
    """Run the regressions and keep what they say, in Postgres and in the suite's folder."""
    rounds = run_rounds(fleet, planned.parts, retries_of=lambda _: 0)
    db = fleet.session.db
    found, missing = [], []
    for one in opened.found:
        for each, outcome in zip(one.evals, _outcomes(fleet, one, rounds), strict=True):
            made = _baseline(opened.suite, one, each, outcome, version=version, now=now)
            if made is None:
                missing.append((each.id, one.key))
            else:
                found.append(replace(made, bakeoff_id=rounds.ids[0] if rounds.ids else None))
    files = baselines.keep(opened.suite, db, found) if found else []
    return Captured(tuple(found), tuple(files), tuple(missing), rounds)


def _unmarked(one: SuiteEval) -> SuiteEval:
    return one.with_case(graders=[_ANYTHING])


def _outcomes(fleet: Fleet, one: Respondent, rounds: Rounds) -> Sequence[EvalOutcome]:
    (found,) = outcomes_by_judge(fleet.session.db, [one], rounds.rounds)
    return found.evals


def _baseline(
    suite: Suite,
    who: Respondent,
    one: SuiteEval,
    outcome: EvalOutcome,
    *,
    version: str | None,
    now: datetime,
) -> Baseline | None:
    decisive = outcome.decisive
    if decisive is None or decisive.verdict != "passed" or one.regression is None:
        return None
    return Baseline(
        suite.name,
        one.id,
        who.key,
        version or one.regression.baseline_version or one.regression.baseline.version,
        baselines.kept_output(output_of(decisive.answer), is_response=one.request is not None),
        now,
        {"model": who.judge.model, "evalq": version_of("evalq")},
        criticality=one.regression.metadata.criticality,
    )
