"""What a command prints before a bake-off spends anything: its plan and its warnings."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.context import Context
from evalq.cli.output import count, note, warn, warn_loudly
from evalq.definitions.money import money
from evalq.reports.text import clean, one_line

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.bakeoff.readiness import Readiness
    from evalq.store.database import Database

SCHEMA = "evalq.plan/1"
_MAX_PROMPT_CHARS = 4_000


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


def check_plans(context: Context, plans: "Sequence[Plan]") -> "list[Readiness]":
    """Every judge and grader model of the plans, each once, and what would keep it from answering."""
    from evalq.bakeoff.readiness import check_readiness

    environ = context.environment_with_keys()
    found: dict[tuple[str, str], Readiness] = {}
    for plan in plans:
        for one in check_readiness(plan, environ):
            found.setdefault((one.role, one.judge.name), one)
    return list(found.values())


def print_readiness(found: "Sequence[Readiness]") -> None:
    """Print each judge with its problems and remedies, then the first prompt of those that share it."""
    for one in found:
        click.echo(f"{'✗' if one.problems else '✓'} {one.role} {one.judge.name} ({one.judge.provider})")
        for problem in one.problems:
            click.echo(f"    {one_line(str(problem))}")
    by_prompt: dict[tuple[tuple[str, str], ...], list[Readiness]] = {}
    for one in found:
        if one.prompt is not None:
            by_prompt.setdefault(one.prompt_parts, []).append(one)
    for parts, sharing in by_prompt.items():
        names = ", ".join(one.judge.name for one in sharing)
        click.echo(one_line(f"the prompt of case {sharing[0].case_id} for {names}:"))
        for role, text in parts:
            click.echo(f"  {role}:\n{_indent(text)}")


def exit_code_of(found: "Sequence[Readiness]") -> int:
    """0 if all can be asked; 2 if an import or a program fails, else 6 if a server does not answer."""
    codes = {one.exit_code for one in found if one.exit_code}
    return min(codes, default=0)


def _indent(text: str) -> str:
    shown = clean(text[:_MAX_PROMPT_CHARS])
    more = f"\n    … {len(text) - _MAX_PROMPT_CHARS} more characters" if len(text) > _MAX_PROMPT_CHARS else ""
    return "\n".join(f"    {line}" for line in shown.splitlines()) + more


def plan_document(plan: "Plan", cap_usd: Decimal, found: "Sequence[Readiness]" = ()) -> dict[str, Any]:
    """A plan as the evalq.plan/1 document, with who can be asked and the first prompt of each judge."""
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
        "type": plan.run_type,
        "ok": not any(one.problems for one in found),
        "judges": [one.document() for one in found],
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
