"""A session: the database and the broker a command works with, embedded ones started if no URLs are set."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalq.engines.broker import QUEUES
from evalq.errors import InputError, Problem
from evalq.settings import Settings, data_dir
from evalq.store.database import Database, apply_schema, require_schema

if TYPE_CHECKING:
    from evalq.engines.broker import Broker


@dataclass(frozen=True)
class Session:
    """What a command holds open."""

    db: Database
    broker_url: str
    is_embedded: bool
    settings: Settings
    data_dir: Path | None = None
    """Of embedded engines."""

    def prepare_sandbox(self) -> None:
        """See that code can be run for graders, or refuse; a fleet of somebody else's sees for itself."""
        if self.data_dir is None:
            return
        from evalq.engines.data_folder import Folder
        from evalq.grading.sandbox.availability import require_sandbox

        require_sandbox(self.settings.sandbox, os.environ)
        Folder.of(self.data_dir).sandbox_request.touch()

    @cached_property
    def broker(self) -> "Broker":
        """The broker; Celery is imported by those who publish only."""
        from evalq.engines.broker import Broker, make_app

        return Broker(make_app(self.broker_url))


@contextmanager
def open_session(settings: Settings, *, fleet: bool = False, cwd: Path | None = None) -> Iterator[Session]:
    """Open the given database and broker, or the embedded ones; with `fleet`, workers for these."""
    with ExitStack() as stack:
        _refuse_one_url_alone(settings)
        folder = None
        if settings.database_url and settings.broker_url:
            database_url, broker_url = settings.database_url, settings.broker_url
        else:
            folder = data_dir(settings, cwd or Path.cwd(), os.environ)
            database_url, broker_url = stack.enter_context(_embedded(settings, folder, fleet=fleet))
        db = Database(database_url)
        stack.callback(db.close)
        if folder is not None:
            apply_schema(db)
        else:
            require_schema(db)
        yield Session(db, broker_url, folder is not None, settings, folder)


def _refuse_one_url_alone(settings: Settings) -> None:
    """Half a fleet: the embedded engines would silently stand in for both."""
    if bool(settings.database_url) != bool(settings.broker_url):
        missing = "EVALQ_BROKER_URL" if settings.database_url else "EVALQ_DATABASE_URL"
        raise InputError(Problem(f"{missing} is not set", "set both URLs, or neither for embedded engines"))


@contextmanager
def open_database(settings: Settings, *, cwd: Path | None = None) -> Iterator[Database]:
    """Only the database, whatever its schema."""
    with ExitStack() as stack:
        url = settings.database_url
        if url is None:
            folder = data_dir(settings, cwd or Path.cwd(), os.environ)
            url, _ = stack.enter_context(_embedded(settings, folder, fleet=False))
        db = Database(url)
        stack.callback(db.close)
        yield db


@contextmanager
def _embedded(settings: Settings, folder: Path, *, fleet: bool) -> Iterator[tuple[str, str]]:
    """The engines of the project's data folder; after the last command, nothing is left running."""
    from evalq.engines import attach
    from evalq.engines.supervisor import ensure_supervisor, wait_until_gone

    start_fleet = partial(
        ensure_supervisor,
        folder,
        processes=settings.fleet.processes,
        slots=settings.fleet.slots,
        queues=QUEUES,
        env=os.environ,
    )
    # The fleet's own start takes as long as the engines': both begin at once.
    with attach(folder, meanwhile=start_fleet if fleet else lambda: None) as engines:
        yield engines.database_url, engines.broker_url
    if fleet:
        wait_until_gone(folder)
