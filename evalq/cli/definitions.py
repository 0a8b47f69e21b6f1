"""Commands on definitions: check and judges."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import count, note, print_json, print_table, suggest, warn
from evalq.definitions.files import display_path
from evalq.definitions.project import ProjectCheck, check_project
from evalq.errors import InputError, Problem
from evalq.reports.text import clean

if TYPE_CHECKING:
    from evalq.definitions.judge import JudgeConfig
    from evalq.formats import Format

_LIMITS = ("rpm", "input_tpm", "output_tpm", "concurrency")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@options.as_json("Print the result as JSON.")
@pass_context
def check(context: Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Check tasks and evalsets: this project's, or the files and folders named by PATHS.

    Every problem is one line with its file, line and remedy. Exit code 2: there are problems.
    """
    found = _check_files(paths or (context.root,), context.root)
    problems = found.problems if paths else (*_list_settings_problems(context), *found.problems)
    if not (found.tasks or found.evalsets or problems):
        places = ", ".join(display_path(path) for path in paths or [context.root])
        raise InputError(Problem(f"nothing to check in {places}", "write a first task: evalq init NAME"))
    if as_json:
        counts = {"tasks": found.tasks, "evalsets": found.evalsets, "cases": found.cases}
        listed = [asdict(problem) for problem in problems]
        print_json({"schema": "evalq.check/1", **counts, "problems": listed})
    else:
        _print_check(found, problems, paths)
    click.get_current_context().exit(2 if problems else 0)


def _check_files(paths: Sequence[Path], root: Path) -> ProjectCheck:
    """Check tasks and evalsets, and files in other tools' formats as one evalset each."""
    from evalq.formats import recognise

    formats = {path: recognise(path) for path in paths}
    found = check_project([path for path, known in formats.items() if known is None], root)
    for path, known in formats.items():
        if known is not None:
            found = _add_foreign(found, known, path, root)
    return found


def _add_foreign(found: ProjectCheck, known: "Format", path: Path, root: Path) -> ProjectCheck:
    """Add one file in another tool's format to the check."""
    problems, n_cases = known.problems(path, root), 0
    if not problems:
        try:
            loaded = known.load(path, root)
        except InputError:
            pass  # a sound file without cases
        else:
            n_cases = len(loaded.evalset.cases)
            for warning in (*loaded.notes, *loaded.warnings):
                warn(warning)
    distinct = tuple(dict.fromkeys((*found.problems, *problems)))
    return ProjectCheck(found.tasks, found.evalsets + 1, found.cases + n_cases, distinct)


def _list_settings_problems(context: Context) -> tuple[Problem, ...]:
    try:
        _ = context.settings
    except InputError as exc:
        return exc.problems
    return ()


def _print_check(found: ProjectCheck, problems: Sequence[Problem], paths: Sequence[Path]) -> None:
    for problem in problems:
        note(f"error: {clean(str(problem))}")
    counts = [count(found.tasks, "task"), count(found.evalsets, "evalset"), count(found.cases, "case")]
    click.echo(f"{', '.join(counts)}: {count(len(problems), 'problem') if problems else 'all fine'}")
    if problems:
        return
    if not found.tasks and len(paths) == 1:  # a file in another format runs by its path, without a task
        suggest(f"evalq bake-off --eval-set {clean(display_path(paths[0]))} --judges a,b")
    else:
        suggest("evalq bake-off --task TASK --eval-set EVALSET")


@click.command()
@options.as_json("A list of {name, provider, model, price, limits, key_present, aliases}.")
@pass_context
def judges(context: Context, as_json: bool) -> int:
    """List the judges you can name: those that come with evalq and those of evalq.yaml."""
    from evalq.definitions.catalogue import all_judges

    environ = context.environment_with_keys()
    documents = [_judge_document(judge, environ) for judge in all_judges(context.settings.judges).values()]
    if as_json:
        print_json(documents)
    else:
        _print_judges(documents)
    return 0


def _judge_document(judge: "JudgeConfig", environ: Mapping[str, str]) -> dict[str, Any]:
    from evalq.calling.pricing import price_of
    from evalq.definitions.catalogue import aliases_of

    price = price_of(judge)
    return {
        "name": judge.name,
        "provider": judge.provider,
        "model": judge.model,
        "price": {"input": str(price.input), "output": str(price.output)} if price else None,
        "limits": {limit: getattr(judge, limit) for limit in _LIMITS},
        "key_present": all(environ.get(name, "").strip() for name in _list_variables(judge)),
        "aliases": aliases_of(judge.name),
    }


def _list_variables(judge: "JudgeConfig") -> list[str]:
    """The variables that must be set before the judge can be called."""
    variables = list(judge.headers_env.values()) if judge.provider == "http" else []
    if judge.key_name:
        variables.append(judge.key_name)
    return variables


def _print_judges(documents: list[dict[str, Any]]) -> None:
    from evalq.calling.pricing import prices_as_of

    head = ("judge", "provider", "model", "$ per Mtok in/out", "limits", "key", "also called")
    print_table(head, [_judge_cells(one) for one in documents])
    note(f"prices of {prices_as_of() or 'an unknown day'}, or as set in evalq.yaml; ? = no price")
    suggest("evalq bake-off --task TASK --eval-set SET --judges A,B")


def _judge_cells(document: dict[str, Any]) -> tuple[str, ...]:
    price = document["price"]
    limits = ", ".join(
        f"{value:,.10g} {name}" for name, value in document["limits"].items() if value is not None
    )
    return (
        document["name"],
        document["provider"],
        document["model"],
        f"{price['input']}/{price['output']}" if price else "?",
        limits or "-",
        "yes" if document["key_present"] else "no",
        ", ".join(document["aliases"]) or "-",
    )
