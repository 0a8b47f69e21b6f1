"""Which recorded suite run a gate judges, and what its suite demanded when it ran."""

from evalq.errors import InputError, Problem
from evalq.formats.suite.forms import Thresholds
from evalq.store import bakeoffs, suite_runs
from evalq.store.database import Database
from evalq.store.suite_runs import SuiteRunRow


def find_gated_run(db: Database, name: str) -> int | None:
    """The suite run that a gate means; None for a bake-off that no suite made.

    `last` is the newest suite run. The number of a bake-off means the whole run it is part of: its retries
    alone, or its first answers alone, would give another verdict. InputError for a capture of baselines.
    """
    if suite_runs.is_name(name):
        run_id: int | None = suite_runs.find(db, name).id
    elif name == "last" and suite_runs.newest_id(db) is not None:
        run_id = suite_runs.newest_id(db)
    else:
        run_id = suite_runs.id_of_bakeoff(db, bakeoffs.find(db, name))
    if run_id is not None and suite_runs.get(db, run_id).kind == "capture":
        message = f"{suite_runs.name_of(run_id)} captured baselines: nothing was compared in it"
        raise InputError(Problem(message, "compare with them: evalq baseline compare FILE"))
    return run_id


def thresholds_of_run(row: SuiteRunRow) -> Thresholds:
    """The thresholds of the suite when it ran."""
    return Thresholds.model_validate(row.facts["thresholds"])
