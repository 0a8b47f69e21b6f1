"""What a command prints before a bake-off spends anything: its plan and its warnings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalq.cli.output import count, note, warn, warn_loudly
from evalq.definitions.money import money

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.store.database import Database


def describe_plan(plan: "Plan") -> str:
    """What a bake-off will ask, and what it may cost."""
    grading = " plus grading" if plan.grader else ""
    return (
        f"{plan.task.name} · {plan.evalset.name} · {count(len(plan.judges), 'judge')}: {plan.n_jobs} calls"
        f"{grading}, est. ${money(plan.estimate_usd)}, at most ${money(plan.worst_usd)}"
    )


def print_warnings(plan: "Plan") -> None:
    """Warn of what an import lost, of drafts, of judges that grade themselves; announce a recorded look."""
    from evalq.bakeoff.plan import own_graders

    for warning in plan.warnings:
        warn(warning)
    if plan.draft_warning:
        warn(plan.draft_warning)
    if plan.look == "final-decision":
        note(
            f"final decision on {plan.evalset.name}: the look is recorded before the first call, its result "
            f"at the end, in Postgres and in evalsets/{plan.task.name}/holdout-runs.log"
        )
    for name in own_graders(plan.judges, plan.graders):
        warn_loudly(f"{name} is on trial and grades its own answers; name another with --grader-model")


def warn_of_looks(db: "Database", plans: "Sequence[Plan]") -> None:
    """Warn that a holdout was looked at before: each look makes it worth less."""
    from evalq.bakeoff.holdout import warn_before

    for plan in plans:
        warning = warn_before(db, plan) if plan.look == "final-decision" else None
        if warning:
            warn_loudly(warning)
