"""Options that several commands share."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click

from evalq.definitions.money import read_usd

if TYPE_CHECKING:
    from evalq.results import CiMethod

_Command = TypeVar("_Command", bound=Callable[..., Any])


class DollarsParam(click.ParamType[Decimal]):
    """An exact amount of dollars."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Read a finite amount that is not negative."""
        try:
            return read_usd(value)
        except ValueError as exc:
            self.fail(str(exc), param, ctx)


class LimitedText(click.ParamType[str]):
    """A text that is not blank and not too long for a list."""

    name = "text"

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text without blanks around it."""
        text = value.strip()
        if not 1 <= len(text) <= self._longest or "\x00" in text:
            self.fail(f"give 1 to {self._longest} characters.", param, ctx)
        return text


max_cost = click.option(
    "--max-cost-usd", type=DollarsParam(), help="The cap of the whole bake-off; default: 5, or evalq.yaml's."
)
allow_unpriced = click.option(
    "--allow-unpriced", is_flag=True, help="Run judges without a known price; the cap cannot hold for them."
)
notes = click.option("--note", "notes", help="Why it is run; stored with every run, in eval_runs.notes.")
detach = click.option("--detach", is_flag=True, help="Leave it to the fleet and return at once.")
dry_run = click.option(
    "--dry-run", is_flag=True, help="Check and price everything, find what would fail, ask nothing."
)
ci = click.option(
    "--ci",
    type=click.Choice(["wilson", "clopper_pearson", "beta", "bootstrap"]),
    default="wilson",
    show_default=True,
    help="How to compute the intervals shown; stored ones are always Wilson's.",
)
display = click.option(
    "--display",
    type=click.Choice(["auto", "rich", "plain", "none"]),
    help="Progress on stderr; default: auto.",
)


def _split_judges(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> list[str]:
    from evalq.definitions.catalogue import all_judges
    from evalq.definitions.judge_specs import split_judges

    return split_judges(values, all_judges({}))


def judges(help_text: str) -> Callable[[_Command], _Command]:
    """--judges, also called --models: names by commas, or systems of the user's own, as a list."""
    return click.option(
        "--judges",
        "--models",
        "judges",
        multiple=True,
        callback=_split_judges,
        shell_complete=_complete_by("complete_judge"),
        help=help_text,
    )


def judge(help_text: str, *names: str, **more: Any) -> Callable[[_Command], _Command]:
    """--judge, also called --model: one name."""
    return click.option(
        "--judge", "--model", *names, **more, shell_complete=_complete_by("complete_judge"), help=help_text
    )


def grader_model(help_text: str) -> Callable[[_Command], _Command]:
    """--grader-model: the model that marks answers."""
    return click.option("--grader-model", shell_complete=_complete_by("complete_judge"), help=help_text)


def task(help_text: str, *names: str, **more: Any) -> Callable[[_Command], _Command]:
    """--task: a name, or the path of a file."""
    return click.option(
        "--task", *names, **more, shell_complete=_complete_by("complete_task"), help=help_text
    )


def eval_set(help_text: str, *names: str, **more: Any) -> Callable[[_Command], _Command]:
    """--eval-set: a name among the task's, or a path."""
    complete = _complete_by("complete_evalset")
    return click.option("--eval-set", *names, **more, shell_complete=complete, help=help_text)


def bakeoff_id(name: str, **more: Any) -> Callable[[_Command], _Command]:
    """An argument that names a bake-off, or one of its runs: `7`, `last`, `7/grok-4.3`."""
    return click.argument(name, **more, shell_complete=_complete_by("complete_id"))


def _complete_by(name: str) -> "Callable[[click.Context, click.Parameter, str], list[str]]":
    """A function of `completion`, which is imported once a shell asks."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        from importlib import import_module

        found: list[str] = getattr(import_module("evalq.cli.completion"), name)(ctx, param, incomplete)
        return found

    return complete


def as_json(help_text: str) -> Callable[[_Command], _Command]:
    """--json, with what the document is."""
    return click.option("--json", "as_json", is_flag=True, help=help_text)


def output(command: _Command) -> _Command:
    """--json, and -o FILE with --force: the machine-readable result on stdout or in a file.

    A file that evalq did not write is refused before anything is spent.
    """
    to_file = click.option(
        "-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON result to FILE."
    )
    force = click.option("--force", is_flag=True, help="Replace FILE of -o even if evalq did not write it.")

    @wraps(command)
    def with_free_output(*args: Any, force: bool, **given: Any) -> Any:
        from evalq.definitions.ownership import is_own_document, refuse_foreign

        if given["output"] is not None:
            refuse_foreign(given["output"], is_ours=is_own_document, force=force)
        return command(*args, **given)

    decorated = as_json("The evalq.bakeoff/1 document on stdout.")(to_file(force(with_free_output)))
    return cast("_Command", decorated)


@dataclass(frozen=True)
class RunOptions:
    """How to run a bake-off: under which cap, and where progress and result go."""

    max_cost_usd: Decimal | None = None
    allow_unpriced: bool = False
    detach: bool = False
    dry_run: bool = False
    as_json: bool = False
    output: Path | None = None
    display: Literal["auto", "rich", "plain", "none"] | None = None
    ci: "CiMethod" = "wilson"
    notes: str | None = None


def collect_options(kind: Callable[..., Any], argument: str) -> Callable[[_Command], Callable[..., Any]]:
    """Hand a command those options that are fields of a dataclass as one argument."""
    names = inspect.signature(kind).parameters

    def decorate(command: _Command) -> Callable[..., Any]:
        @wraps(command)
        def with_collected(*args: Any, **given: Any) -> Any:
            collected = {name: given.pop(name) for name in names if name in given}
            return command(*args, **{argument: kind(**collected)}, **given)

        return with_collected

    return decorate


collect_run_options = collect_options(RunOptions, "run")


def split_names(text: str) -> list[str]:
    """Names separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
