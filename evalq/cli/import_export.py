"""Commands on other tools' files: import and transpile."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.new_task import column_options, draft_from_table
from evalq.cli.output import count, note, print_json, suggest
from evalq.errors import InputError, Problem
from evalq.reports.text import clean

if TYPE_CHECKING:
    from evalq.definitions.loaded import LoadedTask
    from evalq.formats.agentv.skill_evals import Transpilation
    from evalq.formats.export import Export
    from evalq.formats.table_columns import TableColumns

SCHEMA = "evalq.import/1"


@click.command("import")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--task", help="What to call the task; default: as the file calls itself.")
@click.option("--eval-set", help="What to call the evalset; default: as the file is called.")
@click.option(
    "--trigger-mode",
    type=click.Choice(["tool_calls", "description"]),
    default="tool_calls",
    show_default=True,
    help="How to decide whether a judge would use a skill.",
)
@column_options
@click.option("--dry-run", is_flag=True, help="Say what would be written, write nothing.")
@click.option("--force", is_flag=True, help="Replace files that are already there.")
@options.as_json("Print the evalq.import/1 document.")
@pass_context
def import_(
    context: Context,
    source: Path,
    task: str | None,
    eval_set: str | None,
    trigger_mode: Any,
    inputs: tuple[str, ...],
    expected: str | None,
    id_column: str | None,
    stratum: str | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write FILE as a task and an evalset of evalq's own.

    FILE is an EVAL.yaml, an evals.json, a promptfooconfig.yaml, or a table of questions and answers: CSV,
    TSV, JSONL, JSON or XLSX, whose columns are guessed unless --input, --expected, --id and --stratum name
    them.
    Everything that cannot be carried over is listed with its file and line. Nothing is overwritten without
    --force, and either both files are written or none.
    """
    from evalq.formats.export import export_imported, write_files
    from evalq.formats.table_columns import TableColumns

    columns = TableColumns(inputs, expected, id_column, stratum)
    kind, imported = _load(source, context.root, trigger_mode, columns)
    form = export_imported(
        imported, task=task or imported.task.name, eval_set=eval_set or imported.evalset.name
    )
    written = [] if dry_run else write_files(form, context.root, force=force)
    report = _import_document(kind, source, imported, form, written)
    if as_json:
        print_json(report)
    else:
        _print_import(report, is_dry=dry_run)


def _load(source: Path, root: Path, trigger_mode: Any, columns: "TableColumns") -> tuple[str, "LoadedTask"]:
    from evalq.definitions.files import display_path, read_text
    from evalq.definitions.fit import check_fit
    from evalq.formats import recognise
    from evalq.formats.known_formats import FORMATS
    from evalq.formats.table_columns import TableColumns
    from evalq.formats.table_files import TABLE_SUFFIXES

    importer = recognise(source)
    is_undecided = importer is None or (importer.is_guess and columns != TableColumns())
    if is_undecided and source.suffix.lower() in TABLE_SUFFIXES:
        return "table", _load_table(source, columns)
    if importer is None:
        if not source.is_dir():
            read_text(source)
        known = f"known: {', '.join(one.name for one in FORMATS)}, and tables: {', '.join(TABLE_SUFFIXES)}"
        raise InputError(Problem("in no format that can be imported", known, display_path(source)))
    imported = importer.load(source, root, trigger_mode=trigger_mode)
    problems = check_fit(imported.task, imported.loaded)
    if problems:
        raise InputError(*problems)
    return importer.name, imported


def _load_table(source: Path, columns: "TableColumns") -> "LoadedTask":
    """A table whose columns have names of their own, as `evalq init --from` reads it."""
    from evalq.definitions.loaded import LoadedTask
    from evalq.formats.build import task_name

    draft = draft_from_table(task_name(source), source, columns, asks=False)
    return LoadedTask(draft.task, draft.loaded, notes=draft.remarks)


def _import_document(
    kind: str, source: Path, imported: "LoadedTask", form: "Export", written: Sequence[Path]
) -> dict[str, Any]:
    from evalq.definitions.files import display_path

    cases = form.evalset.cases
    graders: Counter[str] = Counter()
    for case in cases:
        graders.update(grader.type for grader in (*form.task.graders, *case.graders))
    samples = f" --samples {imported.samples}" if imported.samples > 1 else ""
    run = f"evalq bake-off --task {form.task.name} --eval-set {form.evalset.name}{samples}"
    return {
        "schema": SCHEMA,
        "source": display_path(source),
        "format": kind,
        "task": form.task.name,
        "eval_set": form.evalset.name,
        "cases": len(cases),
        "graders": dict(graders.most_common()),
        "samples": imported.samples,
        "files": list(form.files),
        "written": [display_path(path) for path in written],
        "notes": list(imported.notes),
        "not_carried_over": _list_losses(imported),
        "next": [f"{run} --judges {','.join(imported.judges) or 'a,b'}"],
    }


def _list_losses(imported: "LoadedTask") -> list[str]:
    """What the files of a task and an evalset cannot express."""
    lost = list(imported.warnings)
    if imported.deadline_s is not None:
        lost.append(
            f"an answer may take {imported.deadline_s:g} s; set deadline_s: of the judges in evalq.yaml"
        )
    return lost


def _print_import(report: dict[str, Any], *, is_dry: bool) -> None:
    click.echo(f"{report['format']}: {count(report['cases'], 'case')} for task {report['task']}")
    for kind, number in report["graders"].items():
        click.echo(f"  {number:>5}  {kind}")
    if is_dry:
        for path in report["files"]:
            click.echo(f"would write {clean(path)}")
    for path in report["written"]:
        click.echo(f"wrote {clean(path)}")
    for remark in report["notes"]:
        note(f"note: {clean(remark)}")
    for warning in report["not_carried_over"]:
        note(f"not carried over: {clean(warning)}")
    suggest(report["next"][0])


@click.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.option(
    "-d",
    "--out-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; default: that of IN.",
)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the JSON, write no file.")
@click.option(
    "--run-eval", is_flag=True, help="Make the bare list of queries that skill-creator's run_eval.py takes."
)
@click.option(
    "--compat",
    type=click.Choice(["agentv", "agentv@4"]),
    help="Do exactly what agentv's own transpiler does: its first version, or version 4.",
)
@click.option("--force", is_flag=True, help="Replace files that are there already and say something else.")
def transpile(
    source: Path, out_dir: Path | None, to_stdout: bool, run_eval: bool, compat: str | None, force: bool
) -> None:
    """Turn IN, an EVAL.yaml of agentv, into the evals.json of skill-creator: one file for each skill.

    One skill's file is evals.json; several are SKILL.evals.json; without any skill it is _no-skill.json.
    A file that is there already and says something else is replaced only with --force.
    """
    if out_dir and to_stdout:
        raise click.UsageError("Choose one of -d and --stdout.")
    result = _transpile_as_agentv(source, compat) if compat else _transpile(source)
    contents, warnings = _list_contents(result, run_eval)
    for warning in (*result.warnings, *warnings):
        note(f"{'Warning' if compat else 'warning'}: {clean(str(warning))}")
    if compat and not contents:
        raise click.ClickException("No output produced (no tests found)")
    if to_stdout and (compat or run_eval):
        _refuse_several(contents, is_compat=bool(compat))
    if to_stdout:
        documents = list(contents.values())
        print_json(documents if len(documents) > 1 else documents[0])
    else:
        _write(contents, source, out_dir or source.parent, is_compat=bool(compat), force=force)
    if run_eval:
        suggest("python -m scripts.run_eval --eval-set FILE --skill-path SKILL, in skill-creator's folder")
    else:
        suggest(f"evalq transpile {source} --run-eval -d DIR, for the list of queries that run_eval.py takes")


def _transpile(source: Path) -> "Transpilation":
    from evalq.formats.agentv.read import read_eval_yaml
    from evalq.formats.agentv.transpile import transpile

    return transpile(read_eval_yaml(source))


def _transpile_as_agentv(source: Path, version: str) -> "Transpilation":
    """Transpile as agentv does, with its error messages and its exit code 1."""
    from evalq.formats.agentv.compat import FIRST, load_as_agentv, transpile_as_agentv
    from evalq.formats.agentv.compat_four import FOUR
    from evalq.formats.agentv.key_check import find_misspelt

    dialect = FOUR if version == "agentv@4" else FIRST
    document = load_as_agentv(source, dialect)
    try:
        result = transpile_as_agentv(document, source.name, dialect)
    except InputError as exc:
        raise click.ClickException(clean(str(exc))) from None
    return replace(result, warnings=(*result.warnings, *find_misspelt(source)))


def _list_contents(result: "Transpilation", run_eval: bool) -> tuple[dict[str, Any], list[Problem]]:
    """What goes into each file, and warnings of what a bare list cannot hold."""
    from evalq.formats.agentv.skill_evals import run_eval_list

    if not run_eval:
        return {name: document.content() for name, document in result.documents.items()}, []
    lists: dict[str, Any] = {}
    warnings: list[Problem] = []
    for name, document in result.documents.items():
        lists[name], problems = run_eval_list(document)
        warnings += problems
    if lists and not any(lists.values()):
        warnings.append(Problem("no test says whether a skill should trigger: the list is empty"))
    return lists, warnings


def _refuse_several(contents: dict[str, Any], is_compat: bool) -> None:
    """One bare list cannot hold two skills, and agentv prints only one document."""
    if len(contents) > 1:
        message = f"--stdout prints one skill, and these are {len(contents)}"
        if is_compat:
            raise click.ClickException(message)
        raise InputError(Problem(message, "write them to files with -d DIR"))


def _write(contents: dict[str, Any], source: Path, folder: Path, *, is_compat: bool, force: bool) -> None:
    from evalq.definitions.files import display_path
    from evalq.formats.agentv.skill_evals import json_document, write_together

    if any((folder / name).resolve() == source.resolve() for name in contents):
        raise InputError(
            Problem("would be written over by its own evals", "choose -d DIR", display_path(source))
        )
    texts = {name: json_document(content) for name, content in contents.items()}
    for path in write_together(folder, texts, force=force):
        click.echo(f"Transpiled to {path.absolute()}" if is_compat else f"wrote {display_path(path)}")
