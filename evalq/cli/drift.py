"""Commands on drift: accept a baseline, show how every judge under watch stands."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.plan import Plan
from evalq.cli import options
from evalq.cli.bakeoff import complete_logs
from evalq.cli.options import first_interrupt, json_text
from evalq.drift.alerts import deliver
from evalq.drift.open import Checked, exit_code, follow_check
from evalq.engines.session import Session
from evalq.errors import InputError, Problem
from evalq.keys import environment_with_keys
from evalq.reports.live import choose_view
from evalq.reports.text import one_line
from evalq.settings import Settings, load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.probes import Smoke


@click.group()
def drift() -> None:
    """Watch judges over time: how they stand, and what they are held against."""


@drift.command("accept")
@click.argument("run_id", metavar="RUN", type=click.IntRange(min=1))
def accept(run_id: int) -> int:
    """Accept a run as how its judge should be: the sequential rule holds every later one against it.

    RUN is the number of a judge's run, as `evalq drift status` and `evalq inspect --json` show it.
    """
    from evalq.drift import history
    from evalq.engines.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        one = history.accept(session.db, run_id)
    rate = "no rate" if one.accuracy is None else f"{100 * one.accuracy:.1f}%"
    click.echo(f"run {run_id} is the baseline of {one.judge} on {one.task}/{one.eval_set}: {rate}, n={one.n}")
    words = f"--task {one.task} --judges {one.judge} --eval-set {one.eval_set}"
    click.echo(f"next  evalq verify {words} --rule sequential", err=True)
    return 0


@drift.command("status")
@click.option("--task", help="Only this task.")
@click.option("--json", "as_json", is_flag=True, help="The evalq.drift/1 document on stdout.")
def status(task: str | None, as_json: bool) -> int:
    """Show each judge's last checks, its baseline, the detector's evidence, and what is scheduled."""
    from evalq.drift.history import read_status
    from evalq.engines.session import open_session

    settings = load_settings(Path.cwd(), os.environ)
    with open_session(settings) as session:
        document = read_status(session.db, settings.drift, task=task, now=datetime.now(UTC))
    if as_json:
        click.echo(json_text(document))
        return 0
    for judge in document["judges"]:
        _print_judge(judge)
    for schedule in document["schedules"]:
        click.echo(f"scheduled  {schedule['name']}: {schedule['schedule']}, next {schedule['next']}")
    if not document["judges"]:
        click.echo("no judge was ever checked for drift", err=True)
    click.echo("next  evalq verify --task … --judges … --eval-set …   evalq alerts", err=True)
    return 0


def _print_judge(judge: Mapping[str, Any]) -> None:
    from evalq.drift.messages import Subject, check_line
    from evalq.reports.text import one_line

    baseline, detector = judge["baseline"], judge["detector"]
    held = f"baseline run {baseline['run_id']}" if baseline else "no accepted baseline"
    evidence = f", M={detector['level']:.3g} at check {detector['weeks']}" if detector else ""
    click.echo(one_line(f"{judge['judge']} on {judge['task']}/{judge['eval_set']}: {held}{evidence}"))
    for check in judge["checks"]:
        subject = Subject(judge["task"], judge["eval_set"], judge["judge"], check["rule"], check["run_id"])
        line = check_line(subject, check["verdict"], check["numbers"])
        click.echo(
            f"  {(check['decided_at'] or 'under way')[:16]:<16}  {check['rule']:<10} {one_line(line, 400)}"
        )


SCHEMA = "evalq.verify/1"


def watch_check(session: Session, bakeoff_id: int, *, display: Any) -> int | None:
    """Follow a check and its confirmations to the end; the bake-off to resume if Ctrl-C paused one."""
    with first_interrupt() as interrupt:
        with choose_view(display, sys.stderr, os.environ) as view:
            took = follow_check(session, bakeoff_id, show=view.update, is_interrupted=interrupt)
        results = [result_of(session.db, each) for each in took]
        complete_logs(session.db, results[-1])
        # The fleet would do it a little later; an embedded one ends with this command.
        deliver(session.db, session.settings.alerts, environment_with_keys(os.environ))
        return took[-1] if interrupt() and results[-1].state != "concluded" else None


@dataclass(frozen=True)
class Verdicts:
    """The checks of one bake-off."""

    plan: Plan
    rule: str
    bakeoff_id: int
    found: Sequence[Checked]

    def show(self, *, as_json: bool, quiet: bool) -> None:
        """One line per judge on stdout, or the document; when quiet only what got worse."""
        if as_json:
            click.echo(json_text(self.document()))
            return
        for one in self.found:
            if one.is_regression or not quiet:
                click.echo(one_line(one.line, 600))
        if not quiet:
            click.echo(f"next  {self._next()}", err=True)

    def document(self) -> dict[str, Any]:
        """The `evalq.verify/1` document."""
        return {
            "schema": SCHEMA,
            "task": self.plan.task.name,
            "eval_set": self.plan.evalset.name,
            "rule": self.rule,
            "bakeoff_id": self.bakeoff_id,
            "exit_code": exit_code(self.found),
            "checks": [one.document() for one in self.found],
            "next": [self._next()],
        }

    def _next(self) -> str:
        """Look at what got worse; what is inconclusive for want of earlier runs is to be checked again."""
        if any(one.is_regression for one in self.found):
            return f"evalq inspect {self.bakeoff_id} --show-failures"
        return f"evalq drift status --task {self.plan.task.name}"


@click.command()
@click.option(
    "--smoke", is_flag=True, help="One call per judge, on the first case of a set that is no holdout."
)
@click.option("--task", required=True, help="A task: its name, or the path of its file.")
@click.option("--judges", default="", help="Judges by name, separated by commas; default: the task's own.")
@click.option(
    "--eval-set", help="The set to check on; with --smoke by default the task's first that is no holdout."
)
@click.option(
    "--rule",
    type=click.Choice(["seed", "confirm", "sequential"]),
    default="confirm",
    show_default=True,
    help="seed: 5 points under the last four runs' median; confirm: that, then four fresh repeats and an "
    "exact test; sequential: evidence against an accepted run.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing unless a judge got worse.")
@click.option("--json", "as_json", is_flag=True)
@options.max_cost
@options.allow_unpriced
def verify(
    smoke: bool,
    task: str,
    judges: str,
    eval_set: str | None,
    as_json: bool,
    max_cost_usd: Decimal | None,
    allow_unpriced: bool,
    rule: Any,
    quiet: bool,
) -> int:
    """Check judges for drift: against their own last runs, or against an accepted one.

    Exit code 0: as they were; 1: a judge got worse; 3: inconclusive. With --smoke one real call per judge:
    answer, latency, tokens, cost, limits, or the fault with its remedy.
    """
    settings = load_settings(Path.cwd(), os.environ)
    cap_usd = max_cost_usd if max_cost_usd is not None else settings.max_cost_usd
    names = options.names(judges)
    if smoke:
        return _smoke(settings, task, eval_set, names, cap_usd, allow_unpriced, as_json)
    if eval_set is None:
        raise InputError(
            Problem("verify needs to know what to verify", "name a set with --eval-set, or add --smoke")
        )
    from evalq.drift.open import check_request

    request = check_request(task, eval_set, names, allow_unpriced=allow_unpriced)
    return _check(settings, request, rule, cap_usd=cap_usd, quiet=quiet, as_json=as_json)


def _smoke(
    settings: Settings,
    task: str,
    eval_set: str | None,
    judges: Sequence[str],
    cap_usd: Decimal,
    allow_unpriced: bool,
    as_json: bool,
) -> int:
    from evalq.bakeoff.probes import smoke_request, smoke_test
    from evalq.engines.session import open_session
    from evalq.formats import prepare

    root = project_root(Path.cwd())
    request = smoke_request(task, eval_set, judges, root=root, allow_unpriced=allow_unpriced)
    plan = prepare(request, settings, root)
    with open_session(settings, fleet=True) as session:
        found = smoke_test(session, plan, cap_usd=cap_usd, root=root)
    if as_json:
        click.echo(json_text([one.document() for one in found]))
    else:
        _print_smoke(found)
    return 0 if all(one.ok for one in found) else 3


def _print_smoke(found: "Sequence[Smoke]") -> None:
    from evalq.reports.text import one_line

    for one in found:
        click.echo(f"{'✓' if one.ok else '✗'} {one.judge}: {one_line(one.line(), 300)}")
        if one.ok:
            click.echo(f"    {one_line(one.answer, 200)}")


def _check(
    settings: Settings, request: Any, rule: Any, *, cap_usd: Decimal, quiet: bool, as_json: bool
) -> int:
    """Open a check, watch it to its verdicts, have its alerts delivered, show them."""
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.cli.bakeoff import say_drafts
    from evalq.drift.open import checks_of, exit_code, open_check
    from evalq.engines.session import open_session
    from evalq.formats import prepare

    root = project_root(Path.cwd())
    plan = prepare(request, settings, root)
    say_drafts([plan])
    refuse_over_cap(plan, cap_usd)
    with open_session(settings, fleet=True) as session:
        bakeoff_id = open_check(session, plan, rule=rule, cap_usd=cap_usd, root=root)
        paused = watch_check(session, bakeoff_id, display="none" if quiet else settings.display)
        found = checks_of(session.db, bakeoff_id)
    Verdicts(plan, rule, bakeoff_id, found).show(as_json=as_json, quiet=quiet)
    if paused is not None:
        click.echo(f"the check is paused\nnext  evalq resume {paused}", err=True)
        return 130
    return exit_code(found)
