"""The command that turns rows of production data into scrubbed cases: ingest."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest, warn
from evalq.definitions.money import money
from evalq.errors import InputError, Problem
from evalq.reports.text import clean, one_line, percent, span

if TYPE_CHECKING:
    from evalq.bakeoff.probes import ModelQuery, QueryReplies
    from evalq.cases.ingest import Ingested, IngestOptions, IngestSource

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", metavar="FILE", required=False, type=_PATH)
@options.task("The task the cases are for: its name, or the path of its file.")
@options.eval_set("The evalset to write; default: ingested.", metavar="NAME")
@click.option(
    "-o", "cases_file", type=_PATH, help="Write the cases to this file instead: .yaml, .json or .jsonl."
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
    help="The variable that holds the key which keeps stand-ins the same in every file.",
)
@click.option("--append", is_flag=True, help="Add to the evalset if it is there; no case twice.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first rows.")
@click.option("--yes", is_flag=True, help="Write without asking: the diff has been reviewed.")
@click.option("--recall", is_flag=True, help="Only measure the detectors on the set that comes with evalq.")
@options.dry_run
@options.max_cost
@options.allow_unpriced
@options.as_json("The evalq.ingest/1 document; it contains no value of the data.")
@options.collect_run_options
@pass_context
def ingest(
    context: Context,
    file: Path | None,
    task: str | None,
    eval_set: str | None,
    cases_file: Path | None,
    mapping: str,
    expected: str | None,
    id_column: str | None,
    stratum: str,
    names_by: str | None,
    pseudonym_key_env: str | None,
    append: bool,
    limit: int | None,
    yes: bool,
    recall: bool,
    run: RunOptions,
) -> int:
    """Turn production data into cases: scrubbed, shown as a diff, written when you agree.

    FILE is JSONL or CSV with any columns. E-mails, phone numbers, cards, IBANs, keys and more are replaced by
    stand-ins, the same for the same value; the diff shows where, with every value masked. Nothing is written
    before --yes, or a yes on the terminal.
    """
    from evalq.cases.ingest import IngestOptions
    from evalq.cases.rows_to_cases import ColumnOptions, read_pairs

    if recall:
        return _show_recall(as_json=run.as_json)
    if file is None or task is None:
        raise click.UsageError("Missing argument 'FILE'." if file is None else "Missing option '--task'.")
    inputs, strata = read_pairs(mapping, "--map"), read_pairs(stratum, "--stratum")
    columns = ColumnOptions(inputs, expected, id_column, strata)
    key = _read_pseudonym_key(context, pseudonym_key_env)
    wanted = IngestOptions(
        file, task, eval_set, cases_file, columns, append, limit, names_by, run.allow_unpriced, key
    )
    return _ingest(context, wanted, run, yes=yes and not run.dry_run)


def _read_pseudonym_key(context: Context, variable: str | None) -> bytes | None:
    """The key of the stand-ins; never given on the command line, which every process can read."""
    if variable is None:
        return None
    value = context.environ.get(variable, "")
    if len(value) < 16:
        raise InputError(
            Problem(f"{variable} holds no key of 16 characters or more", "set it, to something random")
        )
    return value.encode()


def _ingest(context: Context, wanted: "IngestOptions", run: RunOptions, *, yes: bool) -> int:
    from evalq.cases.ingest import make_cases, plan_names_query, read_source, write_cases

    if wanted.eval_set and wanted.output:
        raise InputError(Problem("--eval-set and -o both name a place for the cases", "give one of them"))
    source = read_source(wanted, context.root)
    rows = source.scrub()
    query, replies = plan_names_query(source, rows), None
    if query:
        replies = _find_names(context, query, run)
        if replies is not None and replies.state == "paused":
            note(f"names: bake-off {replies.bakeoff_id} is paused, and nothing was written")
            suggest(f"evalq resume {replies.bakeoff_id}, then the same command again")
            return 130
    ingested = make_cases(source, rows, replies)
    if not run.as_json:
        _print(ingested)
    may_ask = not (run.dry_run or run.as_json)
    is_agreed = bool(ingested.converted.cases) and (yes or (may_ask and _ask_to_write(ingested)))
    if is_agreed:
        write_cases(source, ingested)
    _report_end(source, ingested, written=is_agreed, as_json=run.as_json)
    return ingested.exit_code


def _find_names(context: Context, query: "ModelQuery", run: RunOptions) -> "QueryReplies | None":
    """Ask a model for the names of persons; a dry run only shows what that would cost."""
    from evalq.bakeoff.probes import plan_query, run_query
    from evalq.cli.progress import first_interrupt

    cap_usd = context.cap_usd(run.max_cost_usd)
    plan = plan_query(query, context.settings)
    note(
        f"names: {plan.n_jobs} rows to {plan.judges[0].name}, est. ${money(plan.estimate_usd)}, at most "
        f"${money(plan.worst_usd)}, cap ${money(cap_usd)}"
    )
    if run.dry_run:
        return None
    with first_interrupt() as interrupt:
        return run_query(query, context.settings, context.root, cap_usd=cap_usd, is_interrupted=interrupt)


def _print(ingested: "Ingested") -> None:
    """Print the diff and the counts to stdout, everything else to stderr."""
    click.echo(clean(ingested.diff), nl=False)
    if ingested.diff:
        click.echo()
    counts = ingested.report.counts()
    print_table(
        ("kind", "replaced", "distinct", "rows"),
        [(one.kind, str(one.n), str(one.distinct), str(one.rows)) for one in counts],
    )
    note(f"columns: {one_line(_describe_columns(ingested))}")
    for left in ingested.left_out:
        note(f"left out: line {left.line}: {one_line(left.reason, 200)}")
    if ingested.converted.duplicates:
        lines = ", ".join(map(str, ingested.converted.duplicates[:20]))
        note(f"{len(ingested.converted.duplicates)} duplicates skipped: line {lines}")
    if ingested.names:
        kept = ", asked before" if ingested.names.kept else ""
        spent = f"bake-off {ingested.names.bakeoff_id}, ${ingested.names.spent_usd}{kept}"
        note(f"names by {ingested.names.judge}: {spent}")
    note(_describe_recall(ingested))
    for warning in ingested.warnings():
        warn(warning)


def _describe_columns(ingested: "Ingested") -> str:
    """Which column became what, since some are chosen by their names alone."""
    columns = ingested.columns
    pairs = {**columns["inputs"], "expected": columns["expected"], "id": columns["id"], **columns["stratum"]}
    return ", ".join(f"{name}={column}" for name, column in pairs.items() if column is not None)


def _describe_recall(ingested: "Ingested") -> str:
    found = ingested.recall.overall_recall
    right = ingested.recall.overall_precision
    return (
        f"on the shipped test set (`evalq ingest --recall`) recall is {percent(found.rate, found.n)} "
        f"({span(found.ci_low, found.ci_high, found.n)}, n = {found.n}), precision "
        f"{percent(right.rate, right.n)}; on your data it may be lower"
    )


def _ask_to_write(ingested: "Ingested") -> bool:
    """Ask a person on a terminal, who has just read the diff."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    question = f"write {len(ingested.converted.cases)} cases to {ingested.path}?"
    return click.confirm(question, default=False, err=True)


def _report_end(source: "IngestSource", ingested: "Ingested", *, written: bool, as_json: bool) -> None:
    commands = _list_next_commands(source, ingested, written=written)
    if as_json:
        print_json(ingested.document(written=written, next_commands=commands))
    n_cases = len(ingested.converted.cases)
    if written:
        note(f"wrote {n_cases} cases to {ingested.path}")
    elif n_cases:
        note(f"nothing written: {n_cases} cases are ready")
    else:
        note("nothing written: no new case is in it")
    suggest(*commands)


def _list_next_commands(source: "IngestSource", ingested: "Ingested", *, written: bool) -> list[str]:
    from evalq.bakeoff.plan import accept_command

    if ingested.converted.cases and not written:
        words = [word for word in sys.argv[1:] if word not in ("--json", "--dry-run", "--yes")]
        return [shlex.join(["evalq", *words, "--yes"])]
    is_named = source.options.output is None
    name = shlex.quote(ingested.evalset.name if is_named else ingested.path)
    commands = [f"evalq bake-off --task {ingested.task} --eval-set {name}"]
    if ingested.converted.n_drafts:
        commands.insert(0, accept_command(name, ingested.task))
    return commands


def _show_recall(*, as_json: bool) -> int:
    """Print how many of the marked values in the shipped set the detectors find, by kind."""
    from evalq.cases.scrub.report import load_marked, measure_recall

    found = measure_recall(load_marked()).document()
    if as_json:
        print_json({"schema": "evalq.recall/1", **found})
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
        note(f"missed: {one['kind']} {one['value']!r}")
    note(
        f"{found['texts']} invented texts, {found['harmless']} of them harmless, false alarms in "
        f"{found['false_alarms']}; names of persons need --names-by and are not measured here"
    )
    suggest("evalq ingest FILE --task TASK --dry-run")
    return 0
