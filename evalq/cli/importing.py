"""The command that writes other formats as a task and an evalset of ours: `evalq import`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.errors import InputError, Problem
from evalq.settings import project_root

if TYPE_CHECKING:
    from evalq.importers.imported import Imported
    from evalq.importers.own_form import OwnForm

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
    from evalq.importers.own_form import own_form, write_files

    root = project_root(Path.cwd())
    kind, imported = _imported(source, root, trigger_mode)
    form = own_form(imported, task=task or imported.task.name, eval_set=eval_set or imported.evalset.name)
    written = [] if dry_run else write_files(form, root, force=force)
    report = _report(kind, source, imported, form, written)
    _print_json(report) if as_json else _print_lines(report, imported, is_dry=dry_run)


def _imported(source: Path, root: Path, trigger_mode: Any) -> tuple[str, "Imported"]:
    from evalq.definitions.files import read_text, shown
    from evalq.definitions.fit import check_fit
    from evalq.importers import IMPORTERS, recognise

    importer = recognise(source)
    if importer is None:
        if not source.is_dir():
            read_text(source)
        known = f"known: {', '.join(one.name for one in IMPORTERS)}"
        if source.suffix.lower() in (".csv", ".jsonl"):
            known += "; name the columns question and answer, or try evalq init NAME --from FILE"
        raise InputError(Problem("in no format that can be imported", known, shown(source)))
    imported = importer.load(source, root, trigger_mode=trigger_mode)
    problems = check_fit(imported.task, imported.loaded)
    if problems:
        raise InputError(*problems)
    return importer.name, imported


def _report(
    kind: str, source: Path, imported: "Imported", form: "OwnForm", written: Sequence[Path]
) -> dict[str, Any]:
    from evalq.definitions.files import shown

    cases = form.evalset.cases
    graders = Counter(grader.type for case in cases for grader in (*form.task.graders, *case.graders))
    samples = f" --samples {imported.samples}" if imported.samples > 1 else ""
    run = f"evalq bake-off --task {form.task.name} --eval-set {form.evalset.name}{samples}"
    return {
        "schema": SCHEMA,
        "source": shown(source),
        "format": kind,
        "task": form.task.name,
        "eval_set": form.evalset.name,
        "cases": len(cases),
        "graders": dict(graders.most_common()),
        "samples": imported.samples,
        "files": list(form.files),
        "written": [shown(path) for path in written],
        "notes": list(imported.notes),
        "not_carried_over": _not_carried_over(imported),
        "next": [f"{run} --judges {','.join(imported.judges) or 'a,b'}"],
    }


def _not_carried_over(imported: "Imported") -> list[str]:
    """What the files of a task and a set have no place for."""
    lost = list(imported.warnings)
    if imported.deadline_s is not None:
        lost.append(
            f"an answer may take {imported.deadline_s:g} s; set deadline_s: of the judges in evalq.yaml"
        )
    return lost


def _print_json(report: dict[str, Any]) -> None:
    from evalq.cli.json_output import json_text

    click.echo(json_text(report))


def _print_lines(report: dict[str, Any], imported: "Imported", *, is_dry: bool) -> None:
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
