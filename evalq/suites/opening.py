"""Opening a suite for a command: read, filtered, given judges, and planned with its baselines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.placeholders import read_variables
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
from evalq.suites.suite_run import Asked


@dataclass(frozen=True)
class Opened:
    """A suite with who answers which of its evals; nothing is priced yet."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    found: tuple[Respondent, ...]


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
    given = {name.lower(): value for name, value in choice.given.items()}
    suite = read_suite(path, given)
    refuse_unfit(suite)
    evals = choose(suite, choice.filters)
    found = respondents(suite, evals, choice.judges, settings=settings, values=read_variables(given, environ))
    return Opened(suite, evals, tuple(found))


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
        found[name] = value
    return found
