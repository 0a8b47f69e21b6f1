"""What a shell completes: tasks, evalsets, judges and bake-offs by name, and the command that sets it up."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from evalq.cli.context import Context
from evalq.errors import EvalqError

if TYPE_CHECKING:
    from evalq.store.bakeoffs import ListedBakeOff

PATIENCE_S = 1.0
"""How long a database may take to name its bake-offs before the shell goes on without them."""

LISTED_BAKEOFFS = 50


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that lets a shell complete commands, options and names.

    For bash and zsh, write `eval "$(evalq completion bash)"` into ~/.bashrc or ~/.zshrc; for fish, write the
    script to ~/.config/fish/completions/evalq.fish. Tasks, evalsets and judges are those of the folder you
    are in; bake-offs are listed while their database runs.
    """
    from click.shell_completion import get_completion_class

    from evalq.cli.main import evalq

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the three shells"
    complete = kind(evalq, {}, "evalq", "_EVALQ_COMPLETE")
    click.echo(kind.source_template % complete.source_vars())
    return 0


def complete_task(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Tasks of the project and shipped ones; after a comma the next."""
    from evalq.definitions.project import list_tasks

    return _complete_list(incomplete, lambda: list_tasks(Context().root))


def complete_evalset(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The evalsets of the task on the command line, or of every task."""
    from evalq.definitions.project import list_evalsets, list_tasks

    def list_names() -> Iterable[str]:
        root = Context().root
        task = ctx.params.get("task")
        names: dict[str, None] = {}
        for one in [task] if task else list_tasks(root):
            names |= dict.fromkeys(list_evalsets(one, root))
        return names

    return _complete(incomplete, list_names)


def complete_judge(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Shipped judges and those of evalq.yaml; after a comma the next."""
    return _complete_list(incomplete, _list_judges)


def complete_id(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """`last`, `@-2`, and the bake-offs of a database that runs; after `7/` its judges."""
    before, comma, last = incomplete.rpartition(",")
    begun, slash, _ = last.partition("/")
    found = _within_patience(_list_bakeoffs)
    names = ["last", "@-2", *(str(bakeoff.id) for bakeoff in found)]
    if slash:
        names = [f"{begun}/{judge}" for judge in _judges_of(begun, found)]
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def _judges_of(name: str, found: "Sequence[ListedBakeOff]") -> Sequence[str]:
    for bakeoff in found:
        if name == str(bakeoff.id) or (name == "last" and bakeoff.run_type == "bake-off"):
            return bakeoff.judges
    return ()


def _complete_list(incomplete: str, list_names: Callable[[], Iterable[str]]) -> list[str]:
    """Complete the last of several names by commas; none is offered twice."""
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [f"{before}{comma}{name}" for name in _complete(last, list_names) if name not in given]


def _complete(incomplete: str, list_names: Callable[[], Iterable[str]]) -> list[str]:
    """The names that begin so; nothing where a file of the project cannot be read."""
    try:
        return [name for name in list_names() if name.startswith(incomplete)]
    except (EvalqError, OSError):
        return []


def _list_judges() -> list[str]:
    from evalq.definitions.catalogue import all_judges
    from evalq.settings import load_settings

    context = Context()
    settings = load_settings(context.cwd, context.environ, tell=_say_nothing)
    return list(all_judges(settings.judges))


def _say_nothing(_remark: str) -> None:
    """Remarks on settings would appear in the middle of the command line."""


def _within_patience(read: "Callable[[], Sequence[ListedBakeOff]]") -> "Sequence[ListedBakeOff]":
    """What a thread reads in time; a database that does not answer must not hold up the shell."""
    found: list[ListedBakeOff] = []

    def work() -> None:
        try:
            found.extend(read())
        except (EvalqError, OSError):
            return

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return tuple(found)


def _list_bakeoffs() -> "Sequence[ListedBakeOff]":
    """The newest bake-offs of the database that is set, or of embedded engines that run; none are started."""
    from evalq.engines.data_folder import DataFolder
    from evalq.settings import data_dir, load_settings

    context = Context()
    settings = load_settings(context.cwd, context.environ, tell=_say_nothing)
    url = settings.database_url
    if url is None:
        folder = data_dir(settings, context.cwd, context.environ)
        running = DataFolder.of(folder).read().servers.get("postgres")
        if running is None:
            return ()
        url = running.url
    from evalq.store.bakeoffs import newest
    from evalq.store.database import Database, is_known_schema

    db = Database(url, max_size=1)
    try:
        return newest(db, limit=LISTED_BAKEOFFS) if is_known_schema(db) else ()
    finally:
        db.close()
