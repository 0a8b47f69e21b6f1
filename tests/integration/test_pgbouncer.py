"""Behind a real PgBouncer in transaction mode: schema, bake-off and its row, on two server connections."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from patience import PATIENCE_S

from evalq.bakeoff.publish import open_chords, pump_all
from evalq.engines.broker import Broker
from evalq.engines.embedded import Engines
from evalq.engines.fleet import QUEUES, start_fleet, worker_argv
from evalq.engines.processes import wait_until
from evalq.store import bakeoffs
from evalq.store.database import Database, apply_schema

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="PgBouncer is not installed")

NOBODY = 65534
CONFIG = """\
[databases]
* = host=127.0.0.1 port={postgres} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
"""


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side closes."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def carry(client: socket.socket, path: str) -> None:
    """Join a client to the socket file until both sides have closed."""
    with client, socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        back = threading.Thread(target=pump, args=(server, client))
        back.start()
        pump(client, server)
        back.join()


@contextmanager
def relay(path: str) -> Iterator[int]:
    """A port on loopback that leads to a socket file: PgBouncer runs as a user who cannot reach the file."""
    listening = socket.create_server(("127.0.0.1", 0))
    carriers: list[threading.Thread] = []

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            carriers.append(threading.Thread(target=carry, args=(client, path)))
            carriers[-1].start()

    serving = threading.Thread(target=serve)
    serving.start()
    with closing(listening):
        yield int(listening.getsockname()[1])
        listening.shutdown(socket.SHUT_RDWR)
    for thread in (serving, *carriers):  # PgBouncer has ended, and so have they
        thread.join(PATIENCE_S)


@contextmanager
def bouncer(postgres: int) -> Iterator[int]:
    """PgBouncer on a free port; it refuses to run as root."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        Path(folder).chmod(0o755)
        config = Path(folder) / "pgbouncer.ini"
        config.write_text(CONFIG.format(postgres=postgres, port=port))
        user = NOBODY if os.geteuid() == 0 else None
        process = subprocess.Popen([str(PGBOUNCER), "-q", str(config)], user=user, stderr=subprocess.DEVNULL)
        try:
            assert wait_until(lambda: can_connect(port), timeout_s=PATIENCE_S)
            yield port
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def can_connect(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def pooled_url(db: Database) -> Iterator[str]:
    """The address of the test's database through PgBouncer, as docs/deployment.md says it."""
    parts = urlsplit(db.url)
    query = parse_qs(parts.query)
    with relay(f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}") as postgres, bouncer(postgres) as port:
        yield f"postgresql://postgres@127.0.0.1:{port}{parts.path}?options="


def test_a_bake_off_runs_behind_pgbouncer_in_transaction_mode(
    db: Database,
    broker: Broker,
    engines: Engines,
    record: Callable[..., int],
    pooled_url: str,
    tmp_path: Path,
) -> None:
    pooled = Database(pooled_url)
    assert apply_schema(pooled) == []  # found where the tables are
    bakeoff_id = record(60)
    open_chords(pooled, broker, bakeoff_id)
    assert pump_all(pooled, broker) == 60
    urls = {"EVALQ_DATABASE_URL": pooled_url, "EVALQ_BROKER_URL": engines.broker_url}
    env = {**os.environ, **urls, "EVALQ_SPOOL_DIR": str(tmp_path / "spool")}
    with start_fleet(2, 16, queues=QUEUES, env=env, log_dir=tmp_path / "logs", argv=worker_argv):
        assert wait_until(lambda: bakeoffs.get(db, bakeoff_id).state == "concluded", timeout_s=PATIENCE_S)
    pooled.close()
    logs = "".join(path.read_text("utf-8") for path in (tmp_path / "logs").glob("*.log"))
    assert "prepared statement" not in logs
    assert "Traceback" not in logs
