"""The pages over a fresh embedded Postgres, served on loopback from a thread of the test."""

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
    """Serve the pages until the block ends."""
    with attach(data_dir, want=("postgres",)) as engines, listen("127.0.0.1", 0) as endpoint:
        db = Database(engines.database_url)
        apply_schema(db)
        session = Session(db, "", is_embedded=True, settings=Settings())
        served = endpoint.pages(Site(session, lambda: False), token=None, hosts=())
        server = uvicorn.Server(make_config(served.app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [endpoint.socket]})
        thread.start()
        assert wait_until(lambda: server.started, timeout_s=PATIENCE_S)
        yield ServedSite(endpoint.url, db)
        server.should_exit = True
        thread.join()
        db.close()
