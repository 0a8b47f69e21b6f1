"""The commands on definitions: `evalq check` and `evalq init`."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_text
from evalq.definitions.files import display_path
from evalq.definitions.project import ProjectCheck, check_project
from evalq.definitions.scaffold import scaffold_task, write_new
from evalq.errors import InputError, Problem
from evalq.reports.text import clean
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.definitions.judge import JudgeConfig
    from evalq.formats import Format, LoadedTask


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(paths: tuple[Path, ...], as_json: bool) -> None:
    """Check tasks and evalsets: this project's, or the files and folders named by PATHS.

    Every problem is one line with its file, line and remedy; exit code 2 says there are some.
    """
    root = project_root(Path.cwd())
    found = _surveyed(paths or (root,), root)
    problems = found.problems if paths else (*_settings_problems(), *found.problems)
    if not (found.tasks or found.evalsets or problems):
        places = ", ".join(display_path(path) for path in paths or [root])
        raise InputError(Problem(f"nothing to check in {places}", "write a first task: evalq init NAME"))
    _print_json(found, problems) if as_json else _print_lines(found, problems, _next(found, paths))
    click.get_current_context().exit(2 if problems else 0)


@click.command()
@click.argument("name")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="Take the cases from this CSV or JSONL file."
)
def init(name: str, source: Path | None) -> None:
    """Write a first task NAME and its evalset `dev`, ready to run."""
    drafted = scaffold_task(name, source)
    for path in write_new(drafted.files, project_root(Path.cwd())):
        click.echo(f"wrote {display_path(path)}")
    if drafted.left_out:
        click.echo(f"not in the template, rename to use: {', '.join(map(repr, drafted.left_out))}", err=True)
    click.echo(
        f"next: edit them, then evalq check, then evalq bake-off --task {name} --eval-set dev", err=True
    )


def _surveyed(paths: tuple[Path, ...], root: Path) -> ProjectCheck:
    """Tasks and evalsets, and files in other formats as the evalsets they stand for."""
    from evalq.formats import recognise

    foreign = {path: importer for path in paths if (importer := recognise(path)) is not None}
    found = check_project([path for path in paths if path not in foreign], root)
    for path, importer in foreign.items():
        problems = importer.problems(path, root)
        imported = None if problems else _loaded(importer, path, root)
        for warning in (*imported.notes, *imported.warnings) if imported else ():
            click.echo(f"warning: {clean(warning)}", err=True)
        found = ProjectCheck(
            found.tasks,
            found.evalsets + 1,
            found.cases + (len(imported.evalset.cases) if imported else 0),
            tuple(dict.fromkeys((*found.problems, *problems))),
        )
    return found


def _loaded(importer: "Format", path: Path, root: Path) -> "LoadedTask | None":
    """What the file stands for; None for one that is sound and yet holds no cases."""
    try:
        return importer.load(path, root)
    except InputError:
        return None


def _settings_problems() -> tuple[Problem, ...]:
    try:
        load_settings(Path.cwd(), os.environ)
    except InputError as exc:
        return exc.problems
    return ()


def _print_json(found: ProjectCheck, problems: tuple[Problem, ...]) -> None:
    counts = {"tasks": found.tasks, "evalsets": found.evalsets, "cases": found.cases}
    result = {"schema": "evalq.check/1", **counts, "problems": [asdict(problem) for problem in problems]}
    click.echo(json_text(result))


def _next(found: ProjectCheck, paths: tuple[Path, ...]) -> str:
    """A file in another format is run by its path, without a task."""
    if not found.tasks and len(paths) == 1:
        return f"evalq bake-off --eval-set {display_path(paths[0])} --judges a,b"
    return "evalq bake-off --task TASK --eval-set EVALSET"


def _print_lines(found: ProjectCheck, problems: tuple[Problem, ...], step: str) -> None:
    for problem in problems:
        click.echo(f"error: {clean(str(problem))}", err=True)
    counts = [_count(found.tasks, "task"), _count(found.evalsets, "evalset"), _count(found.cases, "case")]
    click.echo(f"{', '.join(counts)}: {_count(len(problems), 'problem') if problems else 'all fine'}")
    if not problems:
        click.echo(f"next: {clean(step)}", err=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_LIMITS = ("rpm", "input_tpm", "output_tpm", "concurrency")


@click.command()
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A list of {name, provider, model, price, limits, key_present, aliases}.",
)
def judges(as_json: bool) -> int:
    """List the judges one can name: those that come with evalq and those of evalq.yaml."""
    from evalq.definitions.catalogue import all_judges
    from evalq.keys import environment_with_keys

    environ = environment_with_keys(os.environ)
    known = all_judges(load_settings(Path.cwd(), os.environ).judges).values()
    rows = [_row(judge, environ) for judge in known]
    if as_json:
        click.echo(json_text(rows))
    else:
        _print(rows)
    return 0


def _row(judge: "JudgeConfig", environ: Mapping[str, str]) -> dict[str, Any]:
    from evalq.calling.pricing import price_of
    from evalq.definitions.catalogue import aliases_of

    price = price_of(judge)
    return {
        "name": judge.name,
        "provider": judge.provider,
        "model": judge.model,
        "price": {"input": str(price.input), "output": str(price.output)} if price else None,
        "limits": {limit: getattr(judge, limit) for limit in _LIMITS},
        "key_present": all(environ.get(name, "").strip() for name in _variables(judge)),
        "aliases": aliases_of(judge.name),
    }


def _variables(judge: "JudgeConfig") -> list[str]:
    """The variables without which the judge cannot be asked."""
    headers = judge.headers_env.values() if judge.provider == "http" else ()
    return [*headers, *([judge.key_name] if judge.key_name else [])]


def _print(rows: list[dict[str, Any]]) -> None:
    from evalq.calling.pricing import prices_as_of
    from evalq.cli.output import print_table

    head = ("judge", "provider", "model", "$ per Mtok in/out", "limits", "key", "also called")
    print_table(head, [_cells(row) for row in rows])
    click.echo(
        f"prices of {prices_as_of() or 'an unknown day'}, or as set in evalq.yaml; ? = no price", err=True
    )
    click.echo("next  evalq bake-off --task TASK --eval-set SET --judges A,B", err=True)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    price = row["price"]
    limits = ", ".join(f"{value:,.10g} {name}" for name, value in row["limits"].items() if value is not None)
    return (
        row["name"],
        row["provider"],
        row["model"],
        f"{price['input']}/{price['output']}" if price else "?",
        limits or "-",
        "yes" if row["key_present"] else "no",
        ", ".join(row["aliases"]) or "-",
    )
