"""The broker over TLS: a bake-off runs, and a certificate that nobody vouches for is refused."""

import asyncio
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from certificates import certificate
from patience import PATIENCE_S

from evalq.bakeoff.publish import open_chords, pump_all
from evalq.engines.broker import Broker, make_app
from evalq.engines.embedded import Engines
from evalq.engines.fleet import QUEUES, start_fleet
from evalq.engines.processes import wait_until
from evalq.errors import Unreachable
from evalq.settings import Settings
from evalq.store import bakeoffs
from evalq.store.database import Database


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.transport.abort()


@contextmanager
def tls_in_front(host: str, port: int, file: Path) -> Iterator[int]:
    """A port that speaks TLS and leads to a server that does not."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    loop, ready = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []
    writers: list[asyncio.StreamWriter] = []

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, port)
        writers.extend((writer, inner_writer))
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    async def serve(stop: asyncio.Event) -> None:
        async with await asyncio.start_server(carry, "127.0.0.1", 0, ssl=context) as server:
            ports.append(server.sockets[0].getsockname()[1])
            ready.set()
            await stop.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        for _ in range(5):  # rounds of the loop in which the sockets are closed
            await asyncio.sleep(0)

    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(stop),))
    thread.start()
    assert ready.wait(PATIENCE_S)
    yield int(ports[0])
    loop.call_soon_threadsafe(stop.set)
    thread.join(PATIENCE_S)
    loop.close()


@pytest.fixture
def tls_url(engines: Engines, valkey: object, tmp_path: Path) -> Iterator[str]:
    """The broker's address over TLS, as docs/deployment.md says it."""
    file, plain = certificate(tmp_path), urlsplit(engines.broker_url)
    with tls_in_front(plain.hostname or "", plain.port or 0, file) as port:
        login = plain.netloc.rpartition("@")[0]
        url = f"rediss://{login}@127.0.0.1:{port}{plain.path}?ssl_ca_certs={quote(str(file), safe='/')}"
        settings = Settings(broker_url=url)
        assert settings.broker_url
        yield settings.broker_url


def test_a_bake_off_runs_with_a_broker_over_tls(
    db: Database, record: Callable[..., int], tls_url: str, tmp_path: Path
) -> None:
    app = make_app(tls_url)
    broker, bakeoff_id = Broker(app), record(10)
    open_chords(db, broker, bakeoff_id)
    assert pump_all(db, broker) == 10
    env = {"PATH": os.environ["PATH"], "EVALQ_DATABASE_URL": db.url, "EVALQ_BROKER_URL": tls_url}
    with start_fleet(1, 8, queues=QUEUES, env=env, log_dir=tmp_path / "logs"):
        assert wait_until(lambda: bakeoffs.get(db, bakeoff_id).state == "concluded", timeout_s=PATIENCE_S)
    app.backend.client.close()
    app.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_url: str) -> None:
    without_authority = tls_url.partition("?")[0] + "?ssl_cert_reqs=CERT_REQUIRED"
    app = make_app(without_authority)
    with pytest.raises(Unreachable):
        Broker(app).ping()
    app.close()
