"""A session: the database and the broker a command works with, embedded ones started if no URLs are set."""

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from evalq.errors import InputError, Problem
from evalq.settings import Settings, data_dir
from evalq.store.database import Database, apply_schema, require_schema

if TYPE_CHECKING:
    from evalq.engines.broker import Broker
    from evalq.records import Executor


def _order_nothing() -> None:
    """For commands that start no fleet."""


@dataclass(frozen=True)
class Session:
    """What a command holds open; `data_dir` is set for embedded engines only.

    `keep_fleet` starts the fleet again if it was killed; it does nothing where others look after theirs.
    """

    db: Database
    broker_url: str
    is_embedded: bool
    settings: Settings
    data_dir: Path | None = None
    keep_fleet: Callable[[], None] = _order_nothing

    def prepare_sandbox(
        self, executors: frozenset["Executor"] = frozenset(), environ: Mapping[str, str] = os.environ
    ) -> None:
        """Have the embedded fleet start a worker for code, or refuse; other fleets have their own."""
        if self.data_dir is None:
            return
        from evalq.engines.data_folder import DataFolder
        from evalq.grading.sandbox.availability import require_sandbox
        from evalq.grading.sandbox.executors import require_executors

        require_sandbox(self.settings.sandbox, environ)
        require_executors(executors, environ)
        DataFolder.of(self.data_dir).sandbox_request.touch()

    @cached_property
    def broker(self) -> "Broker":
        """The broker; Celery is imported only by commands that publish."""
        from evalq.engines.broker import Broker, make_app

        return Broker(make_app(self.broker_url))


@contextmanager
def open_session(
    settings: Settings,
    *,
    fleet: bool = False,
    providers: Collection[str] = (),
    cwd: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Session]:
    """Open the given database and broker, or the embedded ones; with `fleet`, start workers for these.

    Workers that know the `providers` they will call import their SDKs while the engines start.
    """
    _refuse_one_url_alone(settings)
    with ExitStack() as stack:
        if settings.database_url and settings.broker_url:
            db = stack.enter_context(_open_database(settings.database_url))
            require_schema(db)
            yield Session(db, settings.broker_url, is_embedded=False, settings=settings)
        else:
            folder = data_dir(settings, cwd or Path.cwd(), environ)
            order = partial(_order_fleet, settings, folder, providers, environ) if fleet else _order_nothing
            # A command with a fleet will publish jobs; Celery can be imported while the engines start.
            if fleet:
                threading.Thread(target=import_module, args=("evalq.engines.broker",), daemon=True).start()
            database_url, broker_url = stack.enter_context(_run_embedded(folder, order))
            db = stack.enter_context(_open_database(database_url))
            apply_schema(db)
            yield Session(db, broker_url, True, settings, data_dir=folder, keep_fleet=order)


@contextmanager
def open_database(
    settings: Settings, *, cwd: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Iterator[Database]:
    """Open the database alone, whatever its schema."""
    with ExitStack() as stack:
        url = settings.database_url
        if url is None:
            folder = data_dir(settings, cwd or Path.cwd(), environ)
            url, _ = stack.enter_context(_run_embedded(folder, _order_nothing))
        yield stack.enter_context(_open_database(url))


def _refuse_one_url_alone(settings: Settings) -> None:
    """Refuse half a fleet: the embedded engines would silently replace both."""
    if bool(settings.database_url) != bool(settings.broker_url):
        missing = "EVALQ_BROKER_URL" if settings.database_url else "EVALQ_DATABASE_URL"
        raise InputError(Problem(f"{missing} is not set", "set both URLs, or neither for embedded engines"))


@contextmanager
def _open_database(url: str) -> Iterator[Database]:
    db = Database(url)
    try:
        yield db
    finally:
        db.close()


@contextmanager
def _run_embedded(folder: Path, order_fleet: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """Run the engines of a data folder and yield their URLs.

    The supervisor stops everything after the last command, which does not wait for that.
    """
    from evalq.engines.embedded import attach

    # The fleet takes as long to start as the engines: both begin at once.
    with attach(folder, before_start=order_fleet) as engines:
        yield engines.database_url, engines.broker_url


def _order_fleet(
    settings: Settings, folder: Path, providers: Collection[str], environ: Mapping[str, str]
) -> None:
    from evalq.engines.supervisor import ensure_supervisor

    fleet = settings.fleet
    ensure_supervisor(
        folder, processes=fleet.processes, slots=fleet.slots_per_process, providers=providers, env=environ
    )
