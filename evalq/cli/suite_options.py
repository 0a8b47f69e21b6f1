"""Options that the commands on suites share: which evals, asked of whom, with which values."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalq.cli import options

if TYPE_CHECKING:
    from evalq.settings import Settings
    from evalq.suites.opening import Choice, Opened
    from evalq.suites.planning import Wish

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FILTERS = (
    click.option("--category", multiple=True, help="Only capability or regression evals, or a category's."),
    click.option("--tag", multiple=True, help="Only evals with this tag; given twice, with either."),
    click.option("--difficulty", multiple=True, help="Only evals of this difficulty."),
    click.option(
        "--grader-type",
        type=click.Choice(["code", "model", "human"]),
        help="Only graders of this type mark; evals without one are left out, unless the suite shares a "
        "stand-in under overrides.",
    ),
)
_ASKING = (
    click.option(
        "--judges", default="", help="Judges by name, separated by commas; default: the suite's own."
    ),
    click.option("--grader-model", help="The judge that grades, instead of those the suite names."),
    click.option("--samples", type=int, help="Answers per eval; default: the suite's, or 1."),
    click.option("--seed", type=int, default=0, show_default=True, help="Order, and simulated answers."),
    click.option(
        "--var",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="Fill {{name}}; so does the environment variable EVALQ_VAR_NAME, the place for secrets.",
    ),
)


def filters(command: _Command) -> _Command:
    """--category, --tag, --difficulty, --grader-type."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def asking(command: _Command) -> _Command:
    """--judges, --grader-model, --samples, --seed, --var."""
    for option in reversed(_ASKING):
        command = option(command)
    return command


def opened(path: Path, how: dict[str, Any], *, only: str | None = None) -> "tuple[Opened, Wish]":
    """The suite a command names, with who answers it; `only` one type of eval where the command says so."""
    from evalq.keys import environment_with_keys
    from evalq.settings import load_settings
    from evalq.suites.opening import open_suite, refuse_unfilled
    from evalq.suites.planning import Wish

    choice = chosen(how, only=only)
    settings = load_settings(Path.cwd(), options.environ())
    found = open_suite(path, choice, settings=settings, environ=environment_with_keys(os.environ))
    refuse_unfilled(found, settings)
    _say_whose_variables(found, choice, settings)
    samples = how["samples"] or found.suite.config.samples or 1
    return found, Wish(samples, how["seed"], how["grader_model"], how["allow_unpriced"])


def _say_whose_variables(opened: "Opened", choice: "Choice", settings: "Settings") -> None:
    """A fleet that runs already has its own environment: what is given here does not reach it."""
    from evalq.embedded import describe
    from evalq.settings import data_dir

    status = None if settings.database_url else describe(data_dir(settings, Path.cwd(), os.environ))
    if settings.database_url is None and not (status and status.kept):
        return
    asked = {name for one in opened.found for name in getattr(one.judge, "variables_env", {})}
    for name in sorted(asked & choice.given.keys()):
        remedy = f"set EVALQ_VAR_{name.upper()} there, or keep it with `evalq keys set`"
        click.echo(f"warning: --var {name} does not reach a fleet that is running; {remedy}", err=True)


def chosen(how: dict[str, Any], *, only: str | None = None) -> "Choice":
    """What the options ask for; the values of placeholders are handed on to a fleet of our own."""
    from evalq.definitions.placeholders import variable_of
    from evalq.suites.choosing import Filters
    from evalq.suites.opening import Choice, read_given

    given = read_given(how["variables"])
    os.environ.update({variable_of(name): value for name, value in given.items()})
    categories = (only,) if only else tuple(how.get("category", ()))
    wanted = Filters(
        categories, tuple(how.get("tag", ())), tuple(how.get("difficulty", ())), how.get("grader_type")
    )
    return Choice(wanted, tuple(options.names(how["judges"])), given)
