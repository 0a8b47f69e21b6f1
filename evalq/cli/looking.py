"""What commands that run bake-offs say and do about looks at holdouts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.settings import project_root

if TYPE_CHECKING:
    from evalq.plan import Plan
    from evalq.results import BakeOffResult
    from evalq.store.database import Database


def say_look(plan: "Plan") -> None:
    """Before a final decision: what it will record."""
    if plan.look == "final-decision":
        click.echo(
            f"final decision on {plan.evalset.name}: the look is recorded before the first call, its result "
            f"at the end, in Postgres and in evalsets/{plan.task.name}/holdout-runs.log",
            err=True,
        )


def warn_of_looks(db: "Database", plans: "Sequence[Plan]") -> None:
    """Loudly: a set that was looked at before has lost some of its worth."""
    from evalq.holdout import warn_before

    for plan in plans:
        warning = warn_before(db, plan) if plan.look == "final-decision" else None
        if warning:
            click.secho(f"WARNING  {warning}", fg="red", bold=True, err=True)


def complete_logs(db: "Database", result: "BakeOffResult") -> None:
    """After a look: the project's file gets the lines that the fleet wrote into Postgres."""
    from evalq.holdout import complete_files, is_holdout

    if is_holdout(result.eval_set):
        for problem in complete_files(db, project_root(Path.cwd())):
            click.echo(f"warning: {problem}", err=True)
