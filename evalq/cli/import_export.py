"""The command that writes other formats as a task and an evalset of ours: `evalq import`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.errors import InputError, Problem
from evalq.settings import project_root

if TYPE_CHECKING:
    from evalq.definitions.loaded import LoadedTask
    from evalq.formats.agentv.documents import Transpilation
    from evalq.formats.build import OwnForm

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
@click.option("--dry-run", is_flag=True, help="Say what would be written, write nothing.")
@click.option("--force", is_flag=True, help="Replace files that are already there.")
@click.option("--json", "as_json", is_flag=True, help="Print the evalq.import/1 document.")
def import_(
    source: Path,
    task: str | None,
    eval_set: str | None,
    trigger_mode: Any,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write FILE as a task and an evalset of evalq's own.

    FILE is an EVAL.yaml, an evals.json, a promptfooconfig.yaml, or a CSV or JSONL of questions and answers.
    Everything that cannot be carried over is listed with its file and line. Nothing is overwritten unless
    told to, and either both files are written or none.
    """
    from evalq.formats.build import own_form, write_files

    root = project_root(Path.cwd())
    kind, imported = _imported(source, root, trigger_mode)
    form = own_form(imported, task=task or imported.task.name, eval_set=eval_set or imported.evalset.name)
    written = [] if dry_run else write_files(form, root, force=force)
    report = _report(kind, source, imported, form, written)
    _print_json(report) if as_json else _print_lines(report, imported, is_dry=dry_run)


def _imported(source: Path, root: Path, trigger_mode: Any) -> tuple[str, "LoadedTask"]:
    from evalq.definitions.files import display_path, read_text
    from evalq.definitions.fit import check_fit
    from evalq.formats import FORMATS, recognise

    importer = recognise(source)
    if importer is None:
        if not source.is_dir():
            read_text(source)
        known = f"known: {', '.join(one.name for one in FORMATS)}"
        if source.suffix.lower() in (".csv", ".jsonl"):
            known += "; name the columns question and answer, or try evalq init NAME --from FILE"
        raise InputError(Problem("in no format that can be imported", known, display_path(source)))
    imported = importer.load(source, root, trigger_mode=trigger_mode)
    problems = check_fit(imported.task, imported.loaded)
    if problems:
        raise InputError(*problems)
    return importer.name, imported


def _report(
    kind: str, source: Path, imported: "LoadedTask", form: "OwnForm", written: Sequence[Path]
) -> dict[str, Any]:
    from evalq.definitions.files import display_path

    cases = form.evalset.cases
    graders = Counter(grader.type for case in cases for grader in (*form.task.graders, *case.graders))
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
        "not_carried_over": _not_carried_over(imported),
        "next": [f"{run} --judges {','.join(imported.judges) or 'a,b'}"],
    }


def _not_carried_over(imported: "LoadedTask") -> list[str]:
    """What the files of a task and a set have no place for."""
    lost = list(imported.warnings)
    if imported.deadline_s is not None:
        lost.append(
            f"an answer may take {imported.deadline_s:g} s; set deadline_s: of the judges in evalq.yaml"
        )
    return lost


def _print_json(report: dict[str, Any]) -> None:
    from evalq.cli.output import json_text

    click.echo(json_text(report))


def _print_lines(report: dict[str, Any], imported: "LoadedTask", *, is_dry: bool) -> None:
    from evalq.reports.text import clean

    noun = "case" if report["cases"] == 1 else "cases"
    click.echo(f"{report['format']}: {report['cases']} {noun} for task {report['task']}")
    for kind, count in report["graders"].items():
        click.echo(f"  {count:>5}  {kind}")
    for path in report["files"] if is_dry else report["written"]:
        click.echo(f"{'would write' if is_dry else 'wrote'} {clean(path)}")
    for note in imported.notes:
        click.echo(f"note: {clean(note)}", err=True)
    for warning in report["not_carried_over"]:
        click.echo(f"not carried over: {clean(warning)}", err=True)
    click.echo(f"next: {report['next'][0]}", err=True)


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
@click.option("--compat", type=click.Choice(["agentv"]), help="Do exactly what agentv's own transpiler does.")
def transpile(
    source: Path, out_dir: Path | None, to_stdout: bool, run_eval: bool, compat: str | None
) -> None:
    """Turn IN, an EVAL.yaml of agentv, into the evals.json of skill-creator: one file for each skill.

    One skill's file is evals.json; several are SKILL.evals.json; without any skill it is _no-skill.json.
    """
    if out_dir and to_stdout:
        raise click.UsageError("Choose one of -d and --stdout.")
    result = _as_agentv(source) if compat else _transpiled(source)
    contents, warnings = _contents(result, run_eval)
    _warn([*result.warnings, *warnings], "Warning" if compat else "warning")
    if compat and not contents:
        raise click.ClickException("No output produced (no tests found)")
    if to_stdout and (compat or run_eval):
        _refuse_several(contents, is_compat=bool(compat))
    if to_stdout:
        _print(contents)
    else:
        _write(contents, source, out_dir or source.parent, is_compat=bool(compat))
    _say_next(source, run_eval)


def _transpiled(source: Path) -> "Transpilation":
    from evalq.formats.agentv.read import read_eval_yaml
    from evalq.formats.agentv.transpile import transpile

    return transpile(read_eval_yaml(source))


def _as_agentv(source: Path) -> "Transpilation":
    """What agentv refuses is refused in its words and with its exit code, 1."""
    from evalq.formats.agentv.compat import load_as_agentv, transpile_as_agentv
    from evalq.reports.text import clean

    document = load_as_agentv(source)
    try:
        return transpile_as_agentv(document, source.name)
    except InputError as exc:
        raise click.ClickException(clean(str(exc))) from None


def _contents(result: "Transpilation", run_eval: bool) -> tuple[dict[str, Any], list[Problem]]:
    """What goes into each file, and what was lost on the way to a bare list."""
    from evalq.formats.agentv.documents import run_eval_list

    if not run_eval:
        return {name: document.content() for name, document in result.documents.items()}, []
    lists = {name: run_eval_list(document) for name, document in result.documents.items()}
    warnings = [warning for _, problems in lists.values() for warning in problems]
    if lists and not any(queries for queries, _ in lists.values()):
        warnings.append(Problem("no test says whether a skill should trigger: the list is empty"))
    return {name: queries for name, (queries, _) in lists.items()}, warnings


def _warn(warnings: Iterable[Problem], word: str) -> None:
    from evalq.reports.text import clean

    for warning in warnings:
        click.echo(f"{word}: {clean(str(warning))}", err=True)


def _refuse_several(contents: dict[str, Any], is_compat: bool) -> None:
    """One bare list cannot hold two skills, and agentv prints one document only."""
    if len(contents) > 1:
        message = f"--stdout prints one skill, and these are {len(contents)}"
        if is_compat:
            raise click.ClickException(message)
        raise InputError(Problem(message, "write them to files with -d DIR"))


def _print(contents: dict[str, Any]) -> None:
    """The one document, or the list of them."""
    from evalq.cli.output import json_text

    documents = list(contents.values())
    click.echo(json_text(documents if len(documents) > 1 else documents[0]))


def _write(contents: dict[str, Any], source: Path, folder: Path, *, is_compat: bool) -> None:
    from evalq.definitions.files import display_path
    from evalq.formats.agentv.documents import json_document, write_together

    if any((folder / name).resolve() == source.resolve() for name in contents):
        raise InputError(
            Problem("would be written over by its own evals", "choose -d DIR", display_path(source))
        )
    texts = {name: json_document(content) for name, content in contents.items()}
    for path in write_together(folder, texts):
        click.echo(f"Transpiled to {path.absolute()}" if is_compat else f"wrote {display_path(path)}")


def _say_next(source: Path, run_eval: bool) -> None:
    step = f"evalq transpile {source} --run-eval, for the list of queries that run_eval.py takes"
    if run_eval:
        step = "python -m scripts.run_eval --eval-set FILE --skill-path SKILL, in skill-creator's folder"
    click.echo(f"next: {step}", err=True)
