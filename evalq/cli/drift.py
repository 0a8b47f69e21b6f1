"""Commands on drift: accept a baseline, show how every judge under watch stands."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from evalq.cli.json_output import json_text
from evalq.settings import load_settings


@click.group()
def drift() -> None:
    """Watch judges over time: how they stand, and what they are held against."""


@drift.command("accept")
@click.argument("run_id", metavar="RUN", type=click.IntRange(min=1))
def accept(run_id: int) -> int:
    """Accept a run as how its judge should be: the sequential rule holds every later one against it.

    RUN is the number of a judge's run, as `evalq drift status` and `evalq inspect --json` show it.
    """
    from evalq.drift import baselines
    from evalq.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        one = baselines.accept(session.db, run_id)
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
    from evalq.drift.status import read_status
    from evalq.session import open_session

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
    from evalq.drift.words import Subject, check_line
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
