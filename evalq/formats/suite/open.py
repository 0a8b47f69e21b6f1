"""Opening a suite for a command: read, filtered, given judges, and planned with its baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version as version_of
from pathlib import Path

from evalq.definitions.graders.text import Matches
from evalq.definitions.judge import HttpJudge
from evalq.definitions.template import read_variables, variable_of
from evalq.errors import InputError, Problem
from evalq.formats.suite import baselines
from evalq.formats.suite.answering import Assignment, assign_judges
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.load import refuse_unfit
from evalq.formats.suite.outcomes import EvalOutcome
from evalq.formats.suite.plan import (
    Filters,
    PlannedBakeOffs,
    SuiteRunOptions,
    choose,
    plan_parts,
    refuse_nothing,
)
from evalq.formats.suite.read import Suite, read_suite
from evalq.formats.suite.regressions import output_of
from evalq.formats.suite.report_files import results_folder
from evalq.formats.suite.run import Rounds, SuitePlan, SuiteRunner, outcomes_by_judge, run_rounds
from evalq.settings import Settings
from evalq.store.baselines import Baseline
from evalq.store.database import Database


@dataclass(frozen=True)
class LoadedSuite:
    """A suite with who answers which of its evals; nothing is priced yet."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    found: tuple[Assignment, ...]
    results: Path
    unfilled: tuple[str, ...] = ()
    """Variables that fill its requests and that nobody here has set: the fleet may have them."""


@dataclass(frozen=True)
class SuiteChoice:
    """What of a suite is wanted, and from whom; `given` are the placeholders' values."""

    filters: Filters
    judges: tuple[str, ...]
    given: Mapping[str, str]


def load_suite(
    path: Path, choice: SuiteChoice, *, settings: Settings, environ: Mapping[str, str]
) -> LoadedSuite:
    """Read and check a suite and find who answers it; every problem is reported before anything is spent.

    Only values given by hand are filled into prompts: what the environment holds may be a secret.
    """
    suite = read_suite(path, choice.given)
    refuse_unfit(suite)
    evals = choose(suite, choice.filters)
    values = read_variables(choice.given, environ)
    found = assign_judges(suite, evals, choice.judges, settings=settings, values=values)
    unfilled = [
        variable
        for one in found
        if isinstance(one.judge, HttpJudge)
        for name, variable in one.judge.variables_env.items()
        if name not in values and not environ.get(variable)
    ]
    folder = results_folder(suite, Path.cwd())
    return LoadedSuite(suite, evals, tuple(found), folder, tuple(dict.fromkeys(unfilled)))


def refuse_unfilled(opened: LoadedSuite, settings: Settings) -> None:
    """InputError for variables that are set nowhere: a fleet of our own has what we have."""
    if opened.unfilled and not settings.database_url:
        raise InputError(
            *(
                Problem(
                    f"nothing fills {{{{{name.removeprefix(variable_of(''))}}}}}",
                    f"set {name}, or give --var",
                    opened.suite.file,
                )
                for name in opened.unfilled
            )
        )


def plan_suite(
    opened: LoadedSuite,
    options: SuiteRunOptions,
    *,
    settings: Settings,
    db: Database | None,
    inline: bool = False,
) -> SuitePlan:
    """The bake-offs the suite takes, with the baselines known here."""
    known = baselines.known(opened.suite, db, inline=inline)
    planned = plan_parts(opened.suite, opened.found, options, settings=settings, baseline_of=known.of)
    refuse_nothing(planned, opened.suite)
    return SuitePlan(opened.suite, opened.evals, opened.found, planned, options.samples)


def parse_variables(pairs: tuple[str, ...]) -> dict[str, str]:
    """`name=value` pairs of the command line."""
    found = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.isidentifier():
            # What was written is not repeated: it may be a secret, put in the wrong place.
            raise InputError(
                Problem("--var is not of the form name=value", "write --var api_base_url=http://…")
            )
        found[name.lower()] = value
    return found


_ANYTHING = Matches(type="regex", pattern=r"\S", name="said")


@dataclass(frozen=True)
class Captured:
    """What was kept, where, and which evals gave nothing to keep."""

    kept: tuple[Baseline, ...]
    files: tuple[Path, ...]
    missing: tuple[tuple[str, str], ...]
    rounds: Rounds


def plan_capture(opened: LoadedSuite, options: SuiteRunOptions, *, settings: Settings) -> PlannedBakeOffs:
    """The bake-offs that run every regression once; any answer will do."""
    asked = [replace(one, evals=tuple(_unmarked(each) for each in one.evals)) for one in opened.found]
    return plan_parts(
        opened.suite, asked, replace(options, samples=1), settings=settings, baseline_of=lambda *_: None
    )


def capture(
    fleet: SuiteRunner, opened: LoadedSuite, planned: PlannedBakeOffs, *, version: str | None, now: datetime
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


def _outcomes(fleet: SuiteRunner, one: Assignment, rounds: Rounds) -> Sequence[EvalOutcome]:
    (found,) = outcomes_by_judge(fleet.session.db, [one], rounds.rounds)
    return found.evals


def _baseline(
    suite: Suite,
    who: Assignment,
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
