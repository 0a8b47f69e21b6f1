"""The command that turns an EVAL.yaml into evals.json: `evalq transpile`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.transpile.documents import Transpilation


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
    from evalq.transpile.eval_yaml import read_eval_yaml
    from evalq.transpile.skills import transpile

    return transpile(read_eval_yaml(source))


def _as_agentv(source: Path) -> "Transpilation":
    """What agentv refuses is refused in its words and with its exit code, 1."""
    from evalq.reports.text import clean
    from evalq.transpile.agentv_compat import load_as_agentv, transpile_as_agentv

    document = load_as_agentv(source)
    try:
        return transpile_as_agentv(document, source.name)
    except InputError as exc:
        raise click.ClickException(clean(str(exc))) from None


def _contents(result: "Transpilation", run_eval: bool) -> tuple[dict[str, Any], list[Problem]]:
    """What goes into each file, and what was lost on the way to a bare list."""
    from evalq.transpile.documents import run_eval_list

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
    from evalq.cli.json_output import json_text

    documents = list(contents.values())
    click.echo(json_text(documents if len(documents) > 1 else documents[0]))


def _write(contents: dict[str, Any], source: Path, folder: Path, *, is_compat: bool) -> None:
    from evalq.definitions.files import shown
    from evalq.transpile.documents import json_document
    from evalq.transpile.writing import write_together

    if any((folder / name).resolve() == source.resolve() for name in contents):
        raise InputError(Problem("would be written over by its own evals", "choose -d DIR", shown(source)))
    texts = {name: json_document(content) for name, content in contents.items()}
    for path in write_together(folder, texts):
        click.echo(f"Transpiled to {path.absolute()}" if is_compat else f"wrote {shown(path)}")


def _say_next(source: Path, run_eval: bool) -> None:
    step = f"evalq transpile {source} --run-eval, for the list of queries that run_eval.py takes"
    if run_eval:
        step = "python -m scripts.run_eval --eval-set FILE --skill-path SKILL, in skill-creator's folder"
    click.echo(f"next: {step}", err=True)
