"""Commands on drift: check judges, show how they changed, accept a baseline."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, suggest
from evalq.cli.preflight import print_warnings
from evalq.errors import InputError, Problem
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan
    from evalq.bakeoff.probes import Smoke
    from evalq.bakeoff.request import Request
    from evalq.drift.open import CheckResult
    from evalq.engines.session import Session

SCHEMA = "evalq.verify/1"


@click.group()
def drift() -> None:
    """Watch judges over time: their checks, and the baselines they are compared with."""


@drift.command("accept")
@options.bakeoff_id("name", metavar="RUN")
@pass_context
def accept(context: Context, name: str) -> int:
    """Accept a run as its judge's baseline: the sequential rule compares every later run with it.

    RUN is the number of a judge's run, as `evalq drift status` and `evalq inspect` show it, or ID/JUDGE.
    """
    from evalq.bakeoff.run_names import find_run
    from evalq.drift import history

    with context.open_session() as session:
        run = find_run(session.db, name).run
        assert run is not None
        run_id = run.id
        one = history.accept(session.db, run_id)
    rate = "no rate" if one.accuracy is None else f"{100 * one.accuracy:.1f}%"
    click.echo(f"run {run_id} is the baseline of {one.judge} on {one.task}/{one.eval_set}: {rate}, n={one.n}")
    target = f"--task {one.task} --judges {one.judge} --eval-set {one.eval_set}"
    suggest(f"evalq verify {target} --rule sequential")
    return 0


@drift.command("status")
@options.task("Only this task.")
@options.as_json("The evalq.drift/1 document on stdout.")
@pass_context
def status(context: Context, task: str | None, as_json: bool) -> int:
    """Show each judge's last checks, its baseline, the detector's evidence, and what is scheduled."""
    from evalq.drift.history import read_status

    schedules = context.settings.drift
    with context.open_session() as session:
        document = read_status(session.db, schedules, task=task, now=datetime.now(UTC))
    if as_json:
        print_json(document)
        return 0
    for judge in document["judges"]:
        _print_judge(judge)
    for schedule in document["schedules"]:
        click.echo(f"scheduled  {schedule['name']}: {schedule['schedule']}, next {schedule['next']}")
    if not document["judges"]:
        note("no judge was ever checked for drift")
    suggest("evalq verify --task … --judges … --eval-set …", "evalq alerts")
    return 0


def _print_judge(judge: Mapping[str, Any]) -> None:
    from evalq.drift.messages import CheckSubject, check_line

    baseline, detector = judge["baseline"], judge["detector"]
    accepted = f"baseline run {baseline['run_id']}" if baseline else "no accepted baseline"
    evidence = f", M={detector['level']:.3g} at check {detector['weeks']}" if detector else ""
    click.echo(one_line(f"{judge['judge']} on {judge['task']}/{judge['eval_set']}: {accepted}{evidence}"))
    for check in judge["checks"]:
        subject = CheckSubject(
            judge["task"], judge["eval_set"], judge["judge"], check["rule"], check["run_id"]
        )
        line = one_line(check_line(subject, check["verdict"], check["numbers"]), 400)
        decided = (check["decided_at"] or "under way")[:16]
        click.echo(f"  {decided:<16}  {check['rule']:<10} {line}")


@click.command()
@click.option(
    "--smoke", is_flag=True, help="One call per judge, on the first case of a set that is not a holdout."
)
@options.task("A task: its name, or the path of its file.", required=True)
@options.judges("Judges by name, separated by commas; default: the task's own.")
@options.eval_set("The set to check on; with --smoke by default the task's first that is not a holdout.")
@click.option(
    "--rule",
    type=click.Choice(["seed", "confirm", "sequential"]),
    default="confirm",
    show_default=True,
    help="seed: 5 points under the last four runs' median; confirm: that, then four fresh repeats and an "
    "exact test; sequential: evidence against an accepted run.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless a judge got worse.")
@options.as_json("The evalq.verify/1 document on stdout; with --smoke, a list of calls.")
@options.max_cost
@options.allow_unpriced
@options.collect_run_options
@pass_context
def verify(
    context: Context,
    smoke: bool,
    task: str,
    judges: list[str],
    eval_set: str | None,
    rule: Any,
    quiet: bool,
    run: RunOptions,
) -> int:
    """Check judges for drift: against their own last runs, or against an accepted one.

    Exit code 0: as they were; 1: a judge got worse; 3: inconclusive. With --smoke one real call per judge:
    answer, latency, tokens, cost, limits, or the fault with its remedy.
    """
    from evalq.bakeoff.probes import smoke_request
    from evalq.drift.open import check_request

    names, allow_unpriced = judges, run.allow_unpriced
    if smoke:
        request = smoke_request(task, eval_set, names, root=context.root, allow_unpriced=allow_unpriced)
        return _smoke(context, request, run)
    if eval_set is None:
        raise InputError(
            Problem("verify needs to know what to verify", "name a set with --eval-set, or add --smoke")
        )
    request = check_request(task, eval_set, names, allow_unpriced=allow_unpriced)
    return _check(context, request, rule, run, quiet=quiet)


def _smoke(context: Context, request: "Request", run: RunOptions) -> int:
    from evalq.bakeoff.probes import smoke_test
    from evalq.formats import prepare

    plan = prepare(request, context.settings, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    with context.open_session(fleet=True) as session:
        found = smoke_test(session, plan, cap_usd=cap_usd, root=context.root)
    if run.as_json:
        print_json([one.document() for one in found])
    else:
        _print_smoke(found)
    return 0 if all(one.ok for one in found) else 3


def _print_smoke(found: "Sequence[Smoke]") -> None:
    for one in found:
        click.echo(f"{'✓' if one.ok else '✗'} {one.judge}: {one_line(one.line(), 300)}")
        if one.ok:
            click.echo(f"    {one_line(one.answer, 200)}")


def _check(context: Context, request: "Request", rule: Any, run: RunOptions, *, quiet: bool) -> int:
    """Open a check, follow it to its verdicts, deliver its alerts, show them."""
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.drift.open import checks_of, exit_code, open_check
    from evalq.formats import prepare

    plan = prepare(request, context.settings, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    if not quiet:
        print_warnings(plan)
    refuse_over_cap(plan, cap_usd)
    with context.open_session(fleet=True) as session:
        bakeoff_id = open_check(session, plan, rule=rule, cap_usd=cap_usd, root=context.root)
        display = "none" if quiet else context.settings.display
        paused = _watch_check(context, session, bakeoff_id, display=display)
        found = checks_of(session.db, bakeoff_id)
    if run.as_json:
        print_json(_verify_document(plan, rule, bakeoff_id, found))
    else:
        _print_checks(plan, bakeoff_id, found, quiet=quiet)
    if paused is not None:
        note("the check is paused")
        suggest(f"evalq resume {paused}")
        return 130
    return exit_code(found)


def _watch_check(context: Context, session: "Session", bakeoff_id: int, *, display: Any) -> int | None:
    """Follow a check and its confirmations to the end; the bake-off to resume if Ctrl-C paused one."""
    from evalq.bakeoff.conclude import result_of
    from evalq.cli.progress import complete_holdout_log, first_interrupt
    from evalq.drift.alerts import deliver
    from evalq.drift.open import follow_check
    from evalq.reports.live import choose_view

    with first_interrupt() as interrupt:
        with choose_view(display, sys.stderr, context.environ) as view:
            followed = follow_check(session, bakeoff_id, show=view.update, is_interrupted=interrupt)
        results = [result_of(session.db, each) for each in followed]
        complete_holdout_log(context, session.db, results[-1])
        # The fleet would deliver them a little later, but an embedded one ends with this command.
        deliver(session.db, session.settings.alerts, context.environment_with_keys())
        is_paused = interrupt() and results[-1].state != "concluded"
        return followed[-1] if is_paused else None


def _verify_document(
    plan: "Plan", rule: str, bakeoff_id: int, found: "Sequence[CheckResult]"
) -> dict[str, Any]:
    from evalq.drift.open import exit_code

    return {
        "schema": SCHEMA,
        "task": plan.task.name,
        "eval_set": plan.evalset.name,
        "rule": rule,
        "bakeoff_id": bakeoff_id,
        "exit_code": exit_code(found),
        "checks": [one.document() for one in found],
        "next": [_next_command(plan, bakeoff_id, found)],
    }


def _print_checks(plan: "Plan", bakeoff_id: int, found: "Sequence[CheckResult]", *, quiet: bool) -> None:
    """Print one line per judge; when quiet, only for judges that got worse."""
    for one in found:
        if one.is_regression or not quiet:
            click.echo(one_line(one.line, 600))
    if not quiet:
        suggest(_next_command(plan, bakeoff_id, found), f"evalq report {bakeoff_id}")


def _next_command(plan: "Plan", bakeoff_id: int, found: "Sequence[CheckResult]") -> str:
    """Inspect what got worse, if anything did."""
    from evalq.bakeoff.holdout import is_holdout

    if any(one.is_regression for one in found):
        # The cases of a holdout are withheld, its rates are not.
        shown = "" if is_holdout(plan.evalset.name) else " --show-failures"
        return f"evalq inspect {bakeoff_id}{shown}"
    return f"evalq drift status --task {plan.task.name}"
