"""Commands for the parts of a deployment: doctor, schema, up, down, worker, beat, flower."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from evalq.cli.output import json_text
from evalq.engines.fleet import process_argv
from evalq.errors import InputError, Problem
from evalq.settings import data_dir, load_settings

if TYPE_CHECKING:
    from evalq.grading.sandbox.availability import EscapeTrial
    from evalq.grading.sandbox.escape_test import EscapeResult


def show_escapes(*, as_json: bool) -> int:
    """Try them and print what became of them; 5 when one was not contained, or there is no sandbox."""
    from evalq.grading.sandbox.availability import hold_trial
    from evalq.grading.sandbox.escape_test import AT_ONCE
    from evalq.grading.sandbox.program import unavailable

    trial = hold_trial(os.environ, rounds=(1, AT_ONCE))
    if as_json:
        click.echo(json_text(_document(trial)))
    elif trial.trouble:
        raise unavailable(trial.trouble)
    else:
        _print(trial)
    return 0 if trial.is_well else 5


def _document(trial: "EscapeTrial") -> dict[str, Any]:
    return {
        "schema": "evalq.doctor.sandbox/1",
        "ok": trial.is_well,
        "finding": trial.finding,
        "isolation": "strong",
        "escapes": [
            {
                "name": alone.escape.name,
                "tried": alone.escape.tried,
                "contained": alone.contained and together.contained,
                "ms": alone.wall_ms,
                "alone": _result(alone),
                "four_at_once": _result(together),
            }
            for alone, together in _pairs(trial)
        ],
    }


def _result(finding: "EscapeResult") -> dict[str, Any]:
    return {"contained": finding.contained, "evidence": finding.evidence, "ms": finding.wall_ms}


def _pairs(trial: "EscapeTrial") -> "Iterator[tuple[EscapeResult, EscapeResult]]":
    """Each escape as it went alone and as it went among others."""
    return zip(*trial.rounds.values(), strict=True) if trial.rounds else iter(())


def _print(trial: "EscapeTrial") -> None:
    from evalq.cli.output import print_table

    print_table(
        ("escape", "tried", "alone", "ms", "four at once", "ms", "what came of it"), table_rows(trial)
    )
    step = "evalq check" if trial.is_well else "evalq doctor --sandbox --json"
    click.echo(f"{trial.finding}\nnext  {step}", err=True)


def table_rows(trial: "EscapeTrial") -> list[tuple[str, ...]]:
    """One line per escape; the evidence is that of the worse round."""
    return [
        (
            alone.escape.name,
            alone.escape.tried,
            _word(alone),
            str(alone.wall_ms),
            _word(together),
            str(together.wall_ms),
            (together if alone.contained else alone).evidence,
        )
        for alone, together in _pairs(trial)
    ]


def _word(finding: "EscapeResult") -> str:
    return "contained" if finding.contained else "ESCAPED"


@click.command()
@click.option("--json", "as_json", is_flag=True)
@click.option(
    "--sandbox",
    "tries_sandbox",
    is_flag=True,
    help="Try to get out of the sandbox in every way known; exit 5 if one works.",
)
def doctor(as_json: bool, tries_sandbox: bool) -> int:
    """Say what is reachable, which versions, which keys are present (never their values)."""
    from evalq.engines.doctor import diagnose

    if tries_sandbox:
        pass

        return show_escapes(as_json=as_json)

    report = diagnose(load_settings(Path.cwd(), os.environ), Path.cwd(), os.environ)
    if as_json:
        click.echo(
            json_text({"schema": "evalq.doctor/1", "ok": report.is_well, "checks": report.documents()})
        )
    else:
        for check in report.checks:
            click.echo(f"{'✓' if check.ok else '✗' if check.needed else '–'} {check.name}: {check.finding}")
    return 0 if report.is_well else 6


@click.group()
def schema() -> None:
    """Apply or show the database schema."""


@schema.command("apply")
def schema_apply() -> int:
    """Apply what is missing; safe to run at any time and from several machines."""
    from evalq.engines.session import open_database
    from evalq.store.database import applied_version, apply_schema

    with open_database(load_settings(Path.cwd(), os.environ)) as db:
        for file in apply_schema(db):
            click.echo(f"applied {file.name}")
        click.echo(f"the schema is at version {applied_version(db)}")
    return 0


@schema.command("show")
def schema_show() -> int:
    """Print the schema's SQL."""
    from evalq.store.database import schema_files

    for file in schema_files():
        click.echo(file.sql)
    return 0


@click.command()
def up() -> int:
    """Start the embedded engines and a fleet, and keep them running until `evalq down`."""
    from evalq.engines import attach
    from evalq.engines.broker import QUEUES
    from evalq.engines.supervisor import ensure_supervisor, wait_for_fleet
    from evalq.store.database import Database, apply_schema

    settings = load_settings(Path.cwd(), os.environ)
    folder = data_dir(settings, Path.cwd(), os.environ)
    with attach(folder, keep=True) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        db.close()
        fleet = settings.fleet
        ensure_supervisor(folder, processes=fleet.processes, slots=fleet.slots, queues=QUEUES, env=os.environ)
        wait_for_fleet(folder)
    click.echo(f"running in {folder}: Postgres, Valkey, {fleet.processes} workers of {fleet.slots} slots")
    click.echo("next  evalq bake-off … --detach   evalq doctor   evalq down", err=True)
    return 0


@click.command()
@click.option("--force", is_flag=True, help="Even while other commands use them.")
def down(force: bool) -> int:
    """Stop what `up` started; calls in flight come home first."""
    from evalq.engines import stop_engines
    from evalq.engines.supervisor import stop_supervisor

    folder = data_dir(load_settings(Path.cwd(), os.environ), Path.cwd(), os.environ)
    stopped = stop_supervisor(folder)
    stopped = stop_engines(folder, force=force) or stopped
    click.echo("stopped" if stopped else "nothing was running")
    return 0


@click.command()
@click.option("-c", "--slots", type=click.IntRange(1, 1000), help="Jobs at once; default: fleet.slots.")
@click.option("-Q", "--queues", help="Queues to serve, separated by commas; default: all but the sandbox's.")
@click.option("--sandbox", is_flag=True, help="Run code for graders, and nothing else; keys are dropped.")
@click.option("--events/--no-events", default=True, show_default=True, help="Tell Flower about every job.")
@click.option("--loglevel", default="INFO", show_default=True)
def worker(slots: int | None, queues: str | None, sandbox: bool, events: bool, loglevel: str) -> None:
    """Run a worker against EVALQ_DATABASE_URL and EVALQ_BROKER_URL."""
    from evalq.engines.broker import QUEUES
    from evalq.engines.supervisor import SANDBOX_SLOTS
    from evalq.keys import without_keys
    from evalq.records import SANDBOX_QUEUE

    settings = load_settings(Path.cwd(), os.environ)
    if sandbox:
        harmless = without_keys(os.environ)
        os.environ.clear()
        os.environ.update(harmless)
    concurrency = str(slots or (SANDBOX_SLOTS if sandbox else settings.fleet.slots))
    served = SANDBOX_QUEUE if sandbox else queues or ",".join(QUEUES)
    node = f"evalq-{os.getpid()}@{socket.gethostname()}"
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", *(["-E"] if events else [])]
    pool = ["--pool", "threads", "-c", concurrency, "-Q", served, "-n", node, "-l", loglevel]
    _become(*process_argv("worker", *pool, *quiet))


@click.command()
@click.option("--loglevel", default="INFO", show_default=True)
def beat(loglevel: str) -> None:
    """Run the scheduler against the given URLs: what was lost is brought back, drift checks are opened.

    EVALQ_BEAT=redbeat keeps the schedule in the broker, if celery-redbeat is installed: several may run.
    """
    scheduler = scheduler_options(os.environ)
    folder = data_dir(load_settings(Path.cwd(), os.environ), Path.cwd(), os.environ)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    schedule = str(folder / "beat-schedule")
    _become(*process_argv("beat", "-l", loglevel, "-s", schedule, "--pidfile=", *scheduler))


def scheduler_options(environ: Mapping[str, str]) -> list[str]:
    """The scheduler EVALQ_BEAT asks for, as options of celery beat."""
    wanted = environ.get("EVALQ_BEAT", "").strip()
    if wanted not in ("", "redbeat"):
        raise InputError(Problem(f"EVALQ_BEAT={wanted!r} is no scheduler", "leave it out, or say redbeat"))
    if wanted and find_spec("redbeat") is None:
        raise InputError(Problem("EVALQ_BEAT asks for RedBeat", "install it: pip install celery-redbeat"))
    return ["-S", "redbeat.RedBeatScheduler"] if wanted else []


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5555, show_default=True)
@click.option("--address", default="127.0.0.1", show_default=True)
def flower(port: int, address: str) -> None:
    """Run Flower against the given URLs. EVALQ_FLOWER_AUTH=user:password is required."""
    auth = os.environ.get("EVALQ_FLOWER_AUTH", "")
    if ":" not in auth:
        raise InputError(
            Problem(
                "Flower shows and controls the fleet and needs a password",
                "set EVALQ_FLOWER_AUTH=user:password",
            )
        )
    # Flower reads its options from FLOWER_… too: the password stays off the command line.
    os.environ["FLOWER_BASIC_AUTH"] = auth
    celery = [sys.executable, "-m", "celery", "-A", "workers.monitor"]
    _become(*celery, "flower", f"--port={port}", f"--address={address}")


def _become(*argv: str) -> NoReturn:
    """Become a part of the fleet: signals and exit code are its own."""
    settings = load_settings(Path.cwd(), os.environ)
    if not (settings.database_url and settings.broker_url):
        raise InputError(
            Problem(
                "a part of a fleet needs its database and broker",
                "set EVALQ_DATABASE_URL and EVALQ_BROKER_URL, or use `evalq up`",
            )
        )
    os.environ |= {"EVALQ_DATABASE_URL": settings.database_url, "EVALQ_BROKER_URL": settings.broker_url}
    sys.stdout.flush()
    os.execv(argv[0], argv)  # noqa: S606 - no shell is the point
