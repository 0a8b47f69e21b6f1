"""Opening a suite for a command: read, filtered, given judges, and planned with its baselines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.judge import HttpJudge
from evalq.definitions.placeholders import read_variables, variable_of
from evalq.errors import InputError, Problem
from evalq.importers.suite import Suite, read_suite
from evalq.importers.suite_evals import SuiteEval
from evalq.importers.suite_sets import refuse_unfit
from evalq.settings import Settings
from evalq.store.database import Database
from evalq.suites import baselines
from evalq.suites.answering import Respondent, respondents
from evalq.suites.choosing import Filters, choose
from evalq.suites.planning import Wish, plan_parts, refuse_nothing
from evalq.suites.results_folder import results_folder
from evalq.suites.suite_run import Asked


@dataclass(frozen=True)
class Opened:
    """A suite with who answers which of its evals; nothing is priced yet."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    found: tuple[Respondent, ...]
    results: Path
    unfilled: tuple[str, ...] = ()
    """Variables that fill its requests and that nobody here has set: the fleet may have them."""


@dataclass(frozen=True)
class Choice:
    """What of a suite is wanted, and from whom; `given` are the placeholders' values."""

    filters: Filters
    judges: tuple[str, ...]
    given: Mapping[str, str]


def open_suite(path: Path, choice: Choice, *, settings: Settings, environ: Mapping[str, str]) -> Opened:
    """Read and check a suite and find who answers it; every problem is reported before anything is spent.

    Only values given by hand are filled into prompts: what the environment holds may be a secret.
    """
    suite = read_suite(path, choice.given)
    refuse_unfit(suite)
    evals = choose(suite, choice.filters)
    values = read_variables(choice.given, environ)
    found = respondents(suite, evals, choice.judges, settings=settings, values=values)
    unfilled = [
        variable
        for one in found
        if isinstance(one.judge, HttpJudge)
        for name, variable in one.judge.variables_env.items()
        if name not in values and not environ.get(variable)
    ]
    folder = results_folder(suite, Path.cwd())
    return Opened(suite, evals, tuple(found), folder, tuple(dict.fromkeys(unfilled)))


def refuse_unfilled(opened: Opened, settings: Settings) -> None:
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
    opened: Opened, wish: Wish, *, settings: Settings, db: Database | None, inline: bool = False
) -> Asked:
    """The bake-offs the suite takes, with the baselines known here."""
    known = baselines.known(opened.suite, db, inline=inline)
    planned = plan_parts(opened.suite, opened.found, wish, settings=settings, baseline_of=known.of)
    refuse_nothing(planned, opened.suite)
    return Asked(opened.suite, opened.evals, opened.found, planned, wish.samples)


def read_given(pairs: tuple[str, ...]) -> dict[str, str]:
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
