"""What evalq finds when it looks at itself: engines, versions, schema, sandbox, keys."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalq.definitions.catalogue import all_judges
from evalq.errors import EvalqError
from evalq.keys import PROVIDER_KEYS, environment_with_keys
from evalq.settings import Settings, data_dir


@dataclass(frozen=True)
class HealthCheck:
    """One thing looked at. `needed`: evalq does not work without it."""

    name: str
    ok: bool
    finding: str
    needed: bool = True


@dataclass(frozen=True)
class Diagnosis:
    """Everything looked at."""

    checks: tuple[HealthCheck, ...]

    @property
    def is_well(self) -> bool:
        """Nothing that is needed is missing."""
        return all(check.ok for check in self.checks if check.needed)

    def documents(self) -> list[dict[str, Any]]:
        """For --json."""
        return [asdict(check) for check in self.checks]


def diagnose(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Diagnosis:
    """Look at everything; what cannot be reached is a finding, not an error."""
    return Diagnosis(
        (
            HealthCheck(
                "evalq",
                True,
                f"{version('evalq')} on Python {platform.python_version()}, Celery {version('celery')}",
            ),
            *_database(settings, cwd, environ),
            *_broker(settings, cwd, environ),
            _sandbox(settings, environ),
            *_keys(settings, environ),
        )
    )


def _database(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    from evalq.store.database import Database, applied_version, schema_files, server_version

    if settings.database_url is None:
        yield _embedded("postgres", settings, cwd, environ)
        return
    try:
        db = Database(settings.database_url, max_size=1)
    except EvalqError as exc:
        yield HealthCheck("database", False, str(exc))
        return
    version = server_version(db)
    have, want = applied_version(db), schema_files()[-1].version
    db.close()
    yield HealthCheck("database", True, f"PostgreSQL {version} at EVALQ_DATABASE_URL")
    yield HealthCheck(
        "schema",
        have == want,
        f"version {have}" if have == want else f"version {have}, needs {want}: `evalq schema apply`",
    )


def _broker(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    if settings.broker_url is None:
        yield _embedded("valkey", settings, cwd, environ)
        return
    from evalq.engines.broker import Broker, make_app

    broker = Broker(make_app(settings.broker_url))
    try:
        yield HealthCheck("broker", True, f"{broker.ping()} at EVALQ_BROKER_URL")
        workers = broker.workers()
    except EvalqError as exc:
        yield HealthCheck("broker", False, str(exc))
        return
    yield HealthCheck(
        "workers", bool(workers), ", ".join(workers) or "none answers; start `evalq worker`", needed=False
    )


def _embedded(name: str, settings: Settings, cwd: Path, environ: Mapping[str, str]) -> HealthCheck:
    from evalq.engines.embedded import describe

    folder = data_dir(settings, cwd, environ)
    status = describe(folder)
    server = next((s for s in status.servers if s.name == name), None) if status else None
    where = f"embedded in {folder}"
    if server is None or not server.running:
        return HealthCheck(name, True, f"{where}, started when needed")
    return HealthCheck(
        name,
        True,
        f"{server.version} {where}, running as pid {server.pid}{', kept' if status and status.kept else ''}",
    )


def _sandbox(settings: Settings, environ: Mapping[str, str]) -> HealthCheck:
    """Known without running anything; `evalq doctor --sandbox` tries it."""
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


def _keys(settings: Settings, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    try:
        environ = environment_with_keys(environ)
    except EvalqError as exc:
        yield HealthCheck("keys file", False, str(exc), needed=False)
    named = {judge.key_name for judge in all_judges(settings.judges).values() if judge.key_name}
    for variable in sorted({*PROVIDER_KEYS.values(), *named}):
        present = bool(environ.get(variable))
        yield HealthCheck(f"key {variable}", present, "present" if present else "not set", needed=False)
