"""Checks this installation: engines, versions, schema, sandbox, keys."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalq.definitions.catalogue import all_judges
from evalq.errors import EvalqError
from evalq.keys import PROVIDER_KEYS, environment_with_keys
from evalq.settings import Settings, data_dir, other_data_folders, project_root


@dataclass(frozen=True)
class HealthCheck:
    """One thing checked. `needed`: evalq does not work without it."""

    name: str
    ok: bool
    finding: str
    needed: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """All checks."""

    checks: tuple[HealthCheck, ...]

    @property
    def is_well(self) -> bool:
        """Whether everything needed is there."""
        return all(check.ok for check in self.checks if check.needed)

    def documents(self) -> list[dict[str, Any]]:
        """For --json."""
        return [asdict(check) for check in self.checks]


def diagnose(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Diagnosis:
    """Check everything; what cannot be reached is a finding, not an error."""
    versions = f"{version('evalq')} on Python {platform.python_version()}, Celery {version('celery')}"
    return Diagnosis(
        (
            HealthCheck("evalq", True, versions),
            *_check_places(settings, cwd, environ),
            *_check_database(settings, cwd, environ),
            *_check_broker(settings, cwd, environ),
            _check_sandbox(settings, environ),
            *_check_keys(settings, environ),
        )
    )


def _check_places(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Where the project and its data are; bake-offs in another folder are named, not missed."""
    yield HealthCheck("project", True, str(project_root(cwd)))
    if settings.database_url is not None:
        return
    used = data_dir(settings, cwd, environ)
    yield HealthCheck("data folder", True, str(used))
    for folder in other_data_folders(used, cwd, environ):
        finding = f"{folder} holds other bake-offs: `EVALQ_DATA_DIR={folder} evalq runs`"
        yield HealthCheck("other data", False, finding, needed=False)


def _check_database(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    from evalq.store.database import Database, applied_version, schema_files, server_version

    if settings.database_url is None:
        yield _check_embedded("postgres", settings, cwd, environ)
        return
    try:
        db = Database(settings.database_url, max_size=1)
    except EvalqError as exc:
        yield HealthCheck("database", False, str(exc))
        return
    running = server_version(db)
    have, want = applied_version(db), schema_files()[-1].version
    db.close()
    yield HealthCheck("database", True, f"PostgreSQL {running} at EVALQ_DATABASE_URL")
    finding = f"version {have}"
    if have != want:
        finding += f", needs {want}: `evalq schema apply`"
    yield HealthCheck("schema", have == want, finding)


def _check_broker(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    if settings.broker_url is None:
        yield _check_embedded("valkey", settings, cwd, environ)
        return
    from evalq.engines.broker import Broker, make_app

    broker = Broker(make_app(settings.broker_url))
    try:
        yield HealthCheck("broker", True, f"{broker.ping()} at EVALQ_BROKER_URL")
        workers = broker.workers()
    except EvalqError as exc:
        yield HealthCheck("broker", False, str(exc))
        return
    finding = ", ".join(workers) or "none answers; start `evalq worker`"
    yield HealthCheck("workers", bool(workers), finding, needed=False)


def _check_embedded(name: str, settings: Settings, cwd: Path, environ: Mapping[str, str]) -> HealthCheck:
    from evalq.engines.embedded import describe

    folder = data_dir(settings, cwd, environ)
    status = describe(folder)
    if status is not None:
        kept = ", kept" if status.kept else ""
        for server in status.servers:
            if server.name == name and server.running:
                finding = f"{server.version} embedded in {folder}, running as pid {server.pid}{kept}"
                return HealthCheck(name, True, finding)
    return HealthCheck(name, True, f"embedded in {folder}, started when needed")


def _check_sandbox(settings: Settings, environ: Mapping[str, str]) -> HealthCheck:
    """Check without running anything; `evalq doctor --sandbox` tries it."""
    from evalq.grading.sandbox.availability import outlook, require_sandbox

    if settings.sandbox == "unsafe":
        try:
            require_sandbox("unsafe", environ)
        except EvalqError as exc:
            return HealthCheck("sandbox", False, str(exc), needed=False)
        return HealthCheck(
            "sandbox", True, "none, by setting: grades of code say isolation: weak", needed=False
        )
    known = outlook(environ)
    remedy = {
        True: "",
        None: ": `evalq doctor --sandbox`",
        False: "; code is not graded without it: `apt-get install bubblewrap`",
    }[known.is_available]
    return HealthCheck("sandbox", known.is_available is not False, f"{known.finding}{remedy}", needed=False)


def _check_keys(settings: Settings, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    try:
        environ = environment_with_keys(environ)
    except EvalqError as exc:
        yield HealthCheck("keys file", False, str(exc), needed=False)
    named = {judge.key_name for judge in all_judges(settings.judges).values() if judge.key_name}
    for variable in sorted({*PROVIDER_KEYS.values(), *named}):
        present = bool(environ.get(variable))
        yield HealthCheck(f"key {variable}", present, "present" if present else "not set", needed=False)
