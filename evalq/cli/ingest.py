"""The command that turns rows of production data into scrubbed cases: ingest."""

import os
import shlex
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.bakeoff.probes import ModelQuery, QueryReplies
    from evalq.cases.ingest import Ingested, IngestOptions, IngestSource

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", metavar="FILE", required=False, type=_PATH)
@click.option("--task", help="The task the cases are for: its name, or the path of its file.")
@click.option("--eval-set", metavar="NAME", help="The evalset to write; default: ingested.")
@click.option(
    "-o", "output", type=_PATH, help="Write the cases to this file instead: .yaml, .json or .jsonl."
)
@click.option(
    "--map", "mapping", default="", help="input=column,…; default: the columns named as the inputs."
)
@click.option(
    "--expected", metavar="COLUMN", help="What is expected; default: the column `expected`, if any."
)
@click.option("--id", "id_column", metavar="COLUMN", help="The cases' ids; default: made from their content.")
@click.option("--stratum", default="", metavar="COLUMN,…", help="Columns (or name=column) that make strata.")
@click.option("--names-by", metavar="MODEL", help="Have this judge find names of persons; spends a little.")
@click.option(
    "--pseudonym-key-env",
    metavar="VARIABLE",
    help="Where the key is that makes stand-ins the same in every file.",
)
@click.option("--append", is_flag=True, help="Add to the evalset if it is there; no case twice.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first rows.")
@click.option("--yes", is_flag=True, help="Write without asking: the diff has been reviewed.")
@click.option("--recall", is_flag=True, help="Only measure the detectors on the set that comes with evalq.")
@options.dry_run
@options.max_cost
@options.allow_unpriced
@click.option("--json", "as_json", is_flag=True, help="The evalq.ingest/1 document; no value is in it.")
def ingest(file: Path | None, task: str | None, recall: bool, as_json: bool, **how: Any) -> int:
    """Turn production data into cases: scrubbed, shown as a diff, written when you say so.

    FILE is JSONL or CSV with any columns. E-mails, phone numbers, cards, IBANs, keys and more are replaced by
    stand-ins, the same for the same value; the diff shows where, with every value masked. Nothing is written
    before --yes, or a yes on the terminal.
    """
    if recall:
        return _show_recall(as_json=as_json)
    if file is None or task is None:
        raise click.UsageError("Missing argument 'FILE'." if file is None else "Missing option '--task'.")
    order = _order(file, task, **how)
    return _ingest(
        order,
        cap_usd=how["max_cost_usd"],
        dry_run=how["dry_run"],
        yes=how["yes"] and not how["dry_run"],
        as_json=as_json,
    )


def _order(
    file: Path,
    task: str,
    *,
    mapping: str,
    expected: str | None,
    id_column: str | None,
    stratum: str,
    pseudonym_key_env: str | None,
    **how: Any,
) -> "IngestOptions":
    from evalq.cases.ingest import IngestOptions
    from evalq.cases.rows_to_cases import ColumnOptions, read_pairs

    if how["eval_set"] and how["output"]:
        raise InputError(Problem("--eval-set and -o both say where the cases go", "give one of them"))
    wishes = ColumnOptions(
        read_pairs(mapping, "--map"), expected, id_column, read_pairs(stratum, "--stratum")
    )
    return IngestOptions(
        file,
        task,
        how["eval_set"],
        how["output"],
        wishes,
        append=how["append"],
        limit=how["limit"],
        names_by=how["names_by"],
        allow_unpriced=how["allow_unpriced"],
        pseudonym_key=_key(pseudonym_key_env),
    )


def _key(variable: str | None) -> bytes | None:
    """The key of the stand-ins; never on the command line, where every process can read it."""
    value = os.environ.get(variable, "") if variable else ""
    if variable and len(value) < 16:
        raise InputError(
            Problem(f"{variable} holds no key of 16 characters or more", "set it, to something random")
        )
    return value.encode() if variable else None


def _ingest(
    order: "IngestOptions", *, cap_usd: Decimal | None, dry_run: bool, yes: bool, as_json: bool
) -> int:
    from evalq.cases.ingest import make_cases, names_wanted, read_source, write_cases

    source = read_source(order, project_root(Path.cwd()))
    rows = source.scrub()
    query, replies = names_wanted(source, rows), None
    if query:
        replies = _ask(query, cap_usd, dry_run=dry_run)
        if replies is not None and replies.state == "paused":
            return _say_paused(replies)
    ingested = make_cases(source, rows, replies)
    if not as_json:
        _print(ingested)
    is_agreed = bool(ingested.cast.cases) and _is_agreed(ingested, yes=yes, ask=not (dry_run or as_json))
    if is_agreed:
        write_cases(source, ingested)
    _say_end(source, ingested, written=is_agreed, as_json=as_json)
    return ingested.exit_code


def _ask(query: "ModelQuery", cap_usd: Decimal | None, *, dry_run: bool) -> "QueryReplies | None":
    """Have names found; a dry run only says what that would cost."""
    from evalq.bakeoff.probes import plan_query, run_query
    from evalq.cli.progress import first_interrupt

    settings = load_settings(Path.cwd(), os.environ)
    cap = settings.max_cost_usd if cap_usd is None else cap_usd
    plan = plan_query(query, settings)
    click.echo(
        f"names: {plan.n_jobs} rows to {plan.judges[0].name}, est. ${plan.estimate_usd:.2f}, at most "
        f"${plan.worst_usd:.2f}, cap ${cap:.2f}",
        err=True,
    )
    if dry_run:
        return None
    with first_interrupt() as interrupt:
        root = project_root(Path.cwd())
        return run_query(query, settings, root, cap_usd=cap, is_interrupted=interrupt)


def _say_paused(replies: "QueryReplies") -> int:
    click.echo(f"names: bake-off {replies.bakeoff_id} is paused, and nothing was written", err=True)
    click.echo(f"next  evalq resume {replies.bakeoff_id}, then the same command again", err=True)
    return 130


def _print(ingested: "Ingested") -> None:
    """The diff and the counts to stdout; what must be known besides to stderr."""
    from evalq.cli.output import print_table
    from evalq.reports.text import clean, one_line

    click.echo(clean(ingested.diff), nl=False)
    if ingested.diff:
        click.echo()
    counts = ingested.report.counts()
    print_table(
        ("kind", "replaced", "distinct", "rows"),
        [(one.kind, str(one.n), str(one.distinct), str(one.rows)) for one in counts],
    )
    click.echo(f"columns: {one_line(_columns(ingested))}", err=True)
    for left in ingested.left_out:
        click.echo(f"left out: line {left.line}: {one_line(left.reason, 200)}", err=True)
    if ingested.cast.duplicates:
        lines = ", ".join(map(str, ingested.cast.duplicates[:20]))
        click.echo(f"{len(ingested.cast.duplicates)} duplicates skipped: line {lines}", err=True)
    if ingested.names:
        kept = ", asked before" if ingested.names.kept else ""
        spent = f"bake-off {ingested.names.bakeoff_id}, ${ingested.names.spent_usd}{kept}"
        click.echo(f"names by {ingested.names.judge}: {spent}", err=True)
    click.echo(_recall_line(ingested), err=True)
    for warning in ingested.warnings():
        click.echo(f"warning: {one_line(warning)}", err=True)


def _columns(ingested: "Ingested") -> str:
    """Which column became what, since some are chosen by their names alone."""
    columns = ingested.columns
    pairs = {**columns["inputs"], "expected": columns["expected"], "id": columns["id"], **columns["stratum"]}
    return ", ".join(f"{name}={column}" for name, column in pairs.items() if column is not None)


def _recall_line(ingested: "Ingested") -> str:
    from evalq.reports.text import percent, span

    found = ingested.recall.overall_recall
    right = ingested.recall.overall_precision
    return (
        f"on the shipped test set (`evalq ingest --recall`) recall is {percent(found.rate, found.n)} "
        f"({span(found.ci_low, found.ci_high, found.n)}, n = {found.n}), precision "
        f"{percent(right.rate, right.n)}; on your data it may be lower"
    )


def _is_agreed(ingested: "Ingested", *, yes: bool, ask: bool) -> bool:
    """By --yes, or by a person on a terminal who has just read the diff."""
    if yes or not (ask and sys.stdin.isatty() and sys.stdout.isatty()):
        return yes
    question = f"write {len(ingested.cast.cases)} cases to {ingested.path}?"
    return click.confirm(question, default=False, err=True)


def _say_end(source: "IngestSource", ingested: "Ingested", *, written: bool, as_json: bool) -> None:
    commands = _next(source, ingested, written=written)
    if as_json:
        click.echo(json_text(ingested.document(written=written, next_commands=commands)))
    n_cases = len(ingested.cast.cases)
    if written:
        click.echo(f"wrote {n_cases} cases to {ingested.path}", err=True)
    else:
        what = f"{n_cases} cases are ready" if n_cases else "no new case is in it"
        click.echo(f"nothing written: {what}", err=True)
    click.echo(f"next  {'   '.join(commands)}", err=True)


def _next(source: "IngestSource", ingested: "Ingested", *, written: bool) -> list[str]:
    from evalq.bakeoff.plan import accept_command

    if not written and ingested.cast.cases:
        words = [word for word in sys.argv[1:] if word not in ("--json", "--dry-run")]
        return [shlex.join(["evalq", *words, *([] if "--yes" in words else ["--yes"])])]
    is_named = source.order.output is None
    name = shlex.quote(ingested.evalset.name if is_named else ingested.path)
    check = f"evalq bake-off --task {ingested.task} --eval-set {name}"
    return ([accept_command(name, ingested.task)] if ingested.cast.n_drafts else []) + [check]


def _show_recall(*, as_json: bool) -> int:
    """What the detectors find of what is marked in the shipped set, by kind."""
    from evalq.cases.scrub.report import load_marked, measure_recall
    from evalq.cli.output import print_table
    from evalq.reports.text import percent, span

    found = measure_recall(load_marked()).document()
    if as_json:
        click.echo(json_text({"schema": "evalq.recall/1", **found}))
        return 0
    rows = []
    for kind, one in (*found["kinds"].items(), ("all", found)):
        cells = [kind]
        for share in (one["recall"], one["precision"]):
            interval = span(share.get("ci_low"), share.get("ci_high"), share["n"])
            cells += [percent(share["rate"], share["n"]), f"{share['k']}/{share['n']}", interval]
        rows.append(cells)
    print_table(("kind", "recall", "found", "95% ci", "precision", "right", "95% ci"), rows)
    for one in found["missed"]:
        click.echo(f"missed: {one['kind']} {one['value']!r}", err=True)
    click.echo(
        f"{found['texts']} invented texts, {found['harmless']} of them harmless, false alarms in "
        f"{found['false_alarms']}; names of persons need --names-by and are not measured here",
        err=True,
    )
    click.echo("next  evalq ingest FILE --task TASK --dry-run", err=True)
    return 0
