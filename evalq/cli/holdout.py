"""Commands for holdout sets: freeze one, read the log of looks, verify it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table, suggest, warn
from evalq.errors import InputError, Problem
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.bakeoff.holdout.chain import Anchor
    from evalq.bakeoff.holdout.guard import Audit
    from evalq.bakeoff.holdout.log import Log

_TASK_HELP = "The task by name; default: every task that has a log."


@click.group()
def holdout() -> None:
    """Freeze a holdout set, list every look at it, and verify that this log is intact."""


@holdout.command("freeze")
@click.argument("eval_set", metavar="SET")
@options.task("The task of the set; default: the only one that has a set of this name.")
@click.option("--again", is_flag=True, help="The set was changed on purpose: record its new hash.")
@click.option("--reason", help="Why it was changed; goes into the log with --again.")
@options.as_json("An object: task, eval_set, set_sha256, head, is_new.")
@pass_context
def freeze(
    context: Context, eval_set: str, task: str | None, again: bool, reason: str | None, as_json: bool
) -> int:
    """Record the sha256 of a set in the log, before anyone looks at it.

    From then on, every final decision is refused if the file has changed.
    """
    from evalq.bakeoff.holdout.looks import freeze as freeze_set

    if again != bool(reason):
        raise InputError(Problem("--again needs a reason, and a reason --again", "add --again --reason WHY"))
    with context.open_session() as session:
        frozen = freeze_set(session.db, context.root, name=eval_set, task=task, reason=reason)
    if as_json:
        print_json(asdict(frozen))
    else:
        done = "is frozen" if frozen.is_new else "was frozen already, and is the same"
        click.echo(f"{frozen.eval_set} {done}: sha256 {frozen.set_sha256}")
    note(f"log of {frozen.task}: head {frozen.head}")
    suggest(f"evalq holdout log --task {frozen.task}")
    return 0


@holdout.command("log")
@options.task(_TASK_HELP)
@options.as_json("The evalq.holdout-log/1 document.")
@pass_context
def log(context: Context, task: str | None, as_json: bool) -> int:
    """List every freeze, look and result, and update the project's log file from the database."""
    from evalq.bakeoff.holdout import complete_files
    from evalq.bakeoff.holdout.log import read_logs

    with context.open_session() as session:
        for problem in complete_files(session.db, context.root):
            warn(problem)
        logs = read_logs(session.db, task)
    if as_json:
        print_json({"schema": "evalq.holdout-log/1", "logs": [one.document() for one in logs]})
    else:
        _print_logs(logs)
    return 0


@holdout.command("verify-log")
@options.task(_TASK_HELP)
@click.option("--anchor", help="SEQ:HASH from a report or an alert: that line must still be there.")
@options.as_json("The evalq.holdout-audit/1 document.")
@pass_context
def verify_log(context: Context, task: str | None, anchor: str | None, as_json: bool) -> int:
    """Check the log against itself, its file, an anchor and the frozen sets. Exit code 1: something is wrong.

    Without an anchor, lines cut off at the end of both the database and the file go unnoticed.
    """
    from evalq.bakeoff.holdout.guard import audit, audited_tasks

    known = _parse_anchor(anchor)
    with context.open_session() as session:
        tasks = [task] if task else audited_tasks(session.db, context.root)
        if known and len(tasks) != 1:
            raise InputError(Problem("an anchor is of one task", "name it with --task"))
        audits = [audit(session.db, context.root, name, anchor=known) for name in tasks]
    is_intact = not any(one.findings for one in audits)
    if as_json:
        logs = [asdict(one) for one in audits]
        print_json({"schema": "evalq.holdout-audit/1", "ok": is_intact, "logs": logs})
    else:
        _print_audits(audits)
    return 0 if is_intact else 1


def _parse_anchor(text: str | None) -> "Anchor | None":
    from evalq.bakeoff.holdout.chain import parse_anchor

    if text is None:
        return None
    try:
        return parse_anchor(text)
    except ValueError as exc:
        raise InputError(Problem(f"--anchor: {exc}", "copy it from a report: 4:0a1b…, 64 digits")) from None


def _print_logs(logs: "Sequence[Log]") -> None:
    head = ("task", "seq", "at (UTC)", "kind", "set", "run type", "bake-off", "judges", "result")
    rows: list[Sequence[str]] = []
    for one in logs:
        rows += one.rows()
    print_table(head, rows)
    for one in logs:
        for line in one.remarks():
            note(line)
    if logs:
        suggest(f"evalq holdout verify-log --task {logs[0].task} --anchor {logs[0].head}")
    else:
        note("no holdout was frozen or looked at yet")
        suggest("evalq holdout freeze SET")


def _print_audits(audits: "Sequence[Audit]") -> None:
    for one in audits:
        for found in one.findings:
            click.echo(one_line(f"{found.where}:{found.line}: {found.kind}: it {found.found}"))
        if not one.findings:
            click.echo(one_line(f"{one.task}: intact, head {one.head or 'none: no line yet'}"))
        if not one.n_lines and one.n_file_lines:
            note(f"{one.task}: only the file was checked, the database has no log of it")
    wrong = [one.task for one in audits if one.findings]
    suggest(f"evalq holdout log --task {wrong[0]}" if wrong else "evalq holdout log")
