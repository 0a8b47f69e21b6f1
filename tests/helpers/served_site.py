"""The pages of `evalq web`, served on loopback from a thread of the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from patience import PATIENCE_S

from evalq.engines.embedded import attach
from evalq.engines.processes import wait_until
from evalq.engines.session import Session
from evalq.settings import Settings
from evalq.store.database import Database, apply_schema
from evalq.web.server import listen, make_config
from evalq.web.site import Site


@dataclass(frozen=True)
class ServedSite:
    """Where the pages are, and the database behind them."""

    url: str
    db: Database


@contextmanager
def served_site(data_dir: Path) -> Iterator[ServedSite]:
    """Serve the pages over a Postgres of their own until the block ends."""
    with attach(data_dir, want=("postgres",)) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        with served_pages(db) as url:
            yield ServedSite(url, db)
        db.close()


@contextmanager
def served_pages(db: Database, token: str | None = None, broker_url: str = "") -> Iterator[str]:
    """Serve the pages over a database until the block ends; gives their address."""
    with listen("127.0.0.1", 0) as endpoint:
        session = Session(db, broker_url, is_embedded=True, settings=Settings())
        served = endpoint.pages(Site(session, lambda: False), token=token, hosts=())
        server = uvicorn.Server(make_config(served.app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]})
        thread.start()
        assert wait_until(lambda: server.started, timeout_s=PATIENCE_S)
        yield endpoint.url
        server.should_exit = True
        thread.join()
