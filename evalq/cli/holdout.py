"""Commands for frozen sets: freeze one, read the log of looks, verify it."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.holdout.chain import Anchor
    from evalq.bakeoff.holdout.guard import Audit
    from evalq.bakeoff.holdout.log import Log

_TASK_HELP = "The task by name; default: every task that has a log."


@click.group()
def holdout() -> None:
    """Freeze a holdout set, see who looked at it and when, and check that nobody changed that record."""


@holdout.command("freeze")
@click.argument("eval_set", metavar="SET")
@click.option("--task", help="The task of the set; default: the only one that has a set of this name.")
@click.option("--again", is_flag=True, help="The set was changed on purpose: record its new hash.")
@click.option("--reason", help="Why it was changed; goes into the log with --again.")
@click.option("--json", "as_json", is_flag=True, help="An object: task, eval_set, set_sha256, head, is_new.")
def freeze(eval_set: str, task: str | None, again: bool, reason: str | None, as_json: bool) -> int:
    """Record the sha256 of a set in the log, before anybody looks at it.

    Every final decision is then refused if the file is not the same any more.
    """
    from evalq.bakeoff.holdout.looks import freeze as freeze_set
    from evalq.engines.session import open_session

    if again != bool(reason):
        raise InputError(Problem("--again needs a reason, and a reason --again", "add --again --reason WHY"))
    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        root = project_root(Path.cwd())
        frozen = freeze_set(session.db, root, name=eval_set, task=task, reason=reason)
    done = "is frozen" if frozen.is_new else "was frozen already, and is the same"
    click.echo(
        json_text(asdict(frozen)) if as_json else f"{frozen.eval_set} {done}: sha256 {frozen.set_sha256}"
    )
    click.echo(f"log of {frozen.task}: head {frozen.head}", err=True)
    click.echo(f"next  evalq holdout log --task {frozen.task}", err=True)
    return 0


@holdout.command("log")
@click.option("--task", help=_TASK_HELP)
@click.option("--json", "as_json", is_flag=True, help="The evalq.holdout-log/1 document.")
def log(task: str | None, as_json: bool) -> int:
    """List every freeze, look and result; brings the project's log file up to date with the database."""
    from evalq.bakeoff.holdout import complete_files
    from evalq.bakeoff.holdout.log import read_logs
    from evalq.engines.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        for problem in complete_files(session.db, project_root(Path.cwd())):
            click.echo(f"warning: {problem}", err=True)
        logs = read_logs(session.db, task)
    if as_json:
        click.echo(json_text({"schema": "evalq.holdout-log/1", "logs": [one.document() for one in logs]}))
    else:
        _print_logs(logs)
    return 0


@holdout.command("verify-log")
@click.option("--task", help=_TASK_HELP)
@click.option("--anchor", help="SEQ:HASH from a report or an alert: that line must still be there.")
@click.option("--json", "as_json", is_flag=True, help="The evalq.holdout-audit/1 document.")
def verify_log(task: str | None, anchor: str | None, as_json: bool) -> int:
    """Check the log against itself, its file, an anchor and the frozen sets. Exit code 1: something is wrong.

    Without an anchor, an end cut off both in the database and in the file cannot be seen.
    """
    from evalq.bakeoff.holdout.guard import audit, audited_tasks
    from evalq.engines.session import open_session

    known = _anchor(anchor)
    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        root = project_root(Path.cwd())
        tasks = [task] if task else audited_tasks(session.db, root)
        if known and len(tasks) != 1:
            raise InputError(Problem("an anchor is of one task", "name it with --task"))
        audits = [audit(session.db, root, name, anchor=known) for name in tasks]
    if as_json:
        click.echo(json_text({"schema": "evalq.holdout-audit/1", **_document(audits)}))
    else:
        _print_audits(audits)
    return 1 if any(one.findings for one in audits) else 0


def _anchor(text: str | None) -> "Anchor | None":
    from evalq.bakeoff.holdout.chain import parse_anchor

    try:
        return parse_anchor(text) if text is not None else None
    except ValueError as exc:
        raise InputError(Problem(f"--anchor: {exc}", "copy it from a report: 4:0a1b…, 64 digits")) from None


def _print_logs(logs: "Sequence[Log]") -> None:
    from evalq.cli.output import print_table

    head = ("task", "seq", "at (UTC)", "kind", "set", "run type", "bake-off", "judges", "came to")
    print_table(head, [row for one in logs for row in one.rows()])
    for one in logs:
        for line in one.remarks():
            click.echo(line, err=True)
    first = f" --task {logs[0].task} --anchor {logs[0].head}" if logs else ""
    if not logs:
        click.echo("no holdout was frozen or looked at yet", err=True)
    click.echo(
        f"next  evalq holdout verify-log{first}" if logs else "next  evalq holdout freeze SET", err=True
    )


def _document(audits: "Sequence[Audit]") -> dict[str, Any]:
    return {"ok": not any(one.findings for one in audits), "logs": [asdict(one) for one in audits]}


def _print_audits(audits: "Sequence[Audit]") -> None:
    from evalq.reports.text import one_line

    for one in audits:
        for found in one.findings:
            click.echo(one_line(f"{found.where}:{found.line}: {found.kind}: it {found.found}"))
        if not one.findings:
            click.echo(one_line(f"{one.task}: intact, head {one.head or 'none: no line yet'}"))
        if not one.n_lines and one.n_file_lines:
            click.echo(f"{one.task}: only the file was checked, the database has no log of it", err=True)
    wrong = next((one.task for one in audits if one.findings), None)
    click.echo(f"next  evalq holdout log{f' --task {wrong}' if wrong else ''}", err=True)
