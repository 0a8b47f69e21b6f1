"""What a command prints before a bake-off spends anything: its plan and its warnings."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from evalq.cli.context import Context
from evalq.cli.output import count, note, warn, warn_loudly
from evalq.definitions.money import money

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.store.database import Database

SCHEMA = "evalq.plan/1"


def look_up_costs(context: Context, plans: "Sequence[Plan]") -> "list[Plan]":
    """The plans with estimates from earlier answers if a database can be asked; none is created for this."""
    from evalq.bakeoff.estimate import refine_estimate
    from evalq.errors import Unreachable
    from evalq.store.database import is_known_schema

    if not context.has_database():
        return list(plans)
    try:
        with context.open_database() as db:
            if is_known_schema(db):
                return [refine_estimate(db, plan) for plan in plans]
    except Unreachable as exc:
        warn(f"no earlier costs are known: {exc}")
    return list(plans)


def describe_plan(plan: "Plan") -> str:
    """What a bake-off will ask, what it may cost, and what the estimate is made from."""
    grading = " plus grading" if plan.grader else ""
    estimate = f"${money(plan.estimate_usd)} ({plan.estimate.source})"
    return (
        f"{plan.task.name} · {plan.evalset.name} · {count(len(plan.judges), 'judge')}: {plan.n_jobs} calls"
        f"{grading}, est. {estimate}, at most ${money(plan.worst_usd)}"
    )


def plan_document(plan: "Plan", cap_usd: Decimal) -> dict[str, Any]:
    """A plan as the evalq.plan/1 document."""
    return {
        "schema": SCHEMA,
        "task": plan.task.name,
        "eval_set": plan.evalset.name,
        "samples": plan.samples,
        "calls": plan.n_jobs,
        "estimate_usd": f"{plan.estimate_usd:.6f}",
        "worst_usd": f"{plan.worst_usd:.6f}",
        "cap_usd": money(cap_usd),
        "estimate_from": plan.estimate.source,
        "estimate_per_sample": plan.estimate.document(),
    }


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
