"""Commands for the parts of a deployment: doctor, schema, up, down, worker, beat, flower."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.engines.fleet import process_argv
from evalq.engines.head_start import python_path
from evalq.errors import EvalqError, InputError, Problem, Refused

if TYPE_CHECKING:
    from evalq.grading.sandbox.availability import EscapeTrial
    from evalq.grading.sandbox.escape_test import EscapeResult

_loglevel = click.option("--loglevel", default="INFO", show_default=True, help="The least level to log.")


@click.command()
@options.as_json("The evalq.doctor/1 document, with --sandbox evalq.doctor.sandbox/1.")
@click.option(
    "--sandbox",
    "tries_sandbox",
    is_flag=True,
    help="Try to escape from the sandbox in every known way; exit code 5 if one works.",
)
@click.option(
    "--worker",
    "asks_worker",
    is_flag=True,
    help="Only ask whether a worker of this machine answers; else exit code 6.",
)
@pass_context
def doctor(context: Context, as_json: bool, tries_sandbox: bool, asks_worker: bool) -> int:
    """Show what is reachable, which versions, which keys are present (never their values)."""
    from evalq.engines.doctor import diagnose

    if asks_worker:
        return _ask_worker(context)
    if tries_sandbox:
        return _try_escapes(context, as_json=as_json)
    report = diagnose(context.settings, context.cwd, context.environ)
    if as_json:
        print_json({"schema": "evalq.doctor/1", "ok": report.is_well, "checks": report.documents()})
    else:
        for check in report.checks:
            failure = "✗" if check.needed else "–"
            click.echo(f"{'✓' if check.ok else failure} {check.name}: {check.finding}")
    return 0 if report.is_well else 6


def _ask_worker(context: Context) -> int:
    """The health check of a container: whether one of its own workers answers over the broker."""
    from evalq.engines.broker import Broker, make_app

    url, host = context.settings.broker_url, socket.gethostname()
    if url is None:
        raise InputError(Problem("no broker is set, so there is no worker to ask", "set EVALQ_BROKER_URL"))
    names = [name for name in Broker(make_app(url)).workers() if name.endswith(f"@{host}")]
    click.echo(f"{', '.join(names)} answers" if names else f"no worker of {host} answers")
    return 0 if names else 6


def _try_escapes(context: Context, *, as_json: bool) -> int:
    """Try to escape from the sandbox; 5 when one attempt works, or there is no sandbox."""
    from evalq.grading.sandbox.availability import hold_trial
    from evalq.grading.sandbox.escape_test import AT_ONCE
    from evalq.grading.sandbox.program import unavailable

    trial = hold_trial(context.environ, rounds=(1, AT_ONCE))
    if as_json:
        print_json(_escapes_document(trial))
    elif trial.trouble:
        raise unavailable(trial.trouble)
    else:
        head = ("escape", "tried", "alone", "ms", "four at once", "ms", "evidence")
        print_table(head, escape_rows(trial))
        note(trial.finding)
        suggest("evalq check" if trial.is_well else "evalq doctor --sandbox --json")
    return 0 if trial.is_well else 5


def _escapes_document(trial: "EscapeTrial") -> dict[str, Any]:
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
                "alone": _result_document(alone),
                "four_at_once": _result_document(together),
            }
            for alone, together in _pair_results(trial)
        ],
    }


def _result_document(finding: "EscapeResult") -> dict[str, Any]:
    return {"contained": finding.contained, "evidence": finding.evidence, "ms": finding.wall_ms}


def _pair_results(trial: "EscapeTrial") -> "Iterator[tuple[EscapeResult, EscapeResult]]":
    """Each escape as tried alone and as tried with others at once."""
    return zip(*trial.rounds.values(), strict=True) if trial.rounds else iter(())


def escape_rows(trial: "EscapeTrial") -> list[tuple[str, ...]]:
    """One row per escape, with the evidence of the worse round."""
    return [
        (
            alone.escape.name,
            alone.escape.tried,
            _format_result(alone),
            str(alone.wall_ms),
            _format_result(together),
            str(together.wall_ms),
            (together if alone.contained else alone).evidence,
        )
        for alone, together in _pair_results(trial)
    ]


def _format_result(finding: "EscapeResult") -> str:
    return "contained" if finding.contained else "ESCAPED"


@click.group()
def schema() -> None:
    """Apply or show the database schema."""


@schema.command("apply")
@pass_context
def schema_apply(context: Context) -> int:
    """Apply what is missing; safe to run at any time and from several machines."""
    from evalq.store.database import applied_version, apply_schema

    with context.open_database() as db:
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
@click.option(
    "--flower", is_flag=True, help="Run Flower too, on loopback; its address and password are printed."
)
@click.option(
    "--flower-port", type=click.IntRange(1, 65535), default=5555, show_default=True, help="Where it listens."
)
@pass_context
def up(context: Context, flower: bool, flower_port: int) -> int:
    """Start the embedded engines and a fleet, and keep them running until `evalq down`.

    Flower takes the password of EVALQ_FLOWER_AUTH=user:password; without one it gets a random one.
    """
    from evalq.engines.embedded import attach
    from evalq.engines.flower import choose_flower_place
    from evalq.engines.supervisor import ensure_supervisor, wait_for_fleet
    from evalq.store.database import Database, apply_schema

    folder, fleet = context.data_dir, context.settings.fleet
    place = choose_flower_place(flower_port, context.environ) if flower else None
    with attach(folder, keep=True) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        db.close()
        is_new = ensure_supervisor(
            folder,
            processes=fleet.processes,
            slots=fleet.slots_per_process,
            providers=_usable_providers(context),
            flower=place,
            env=context.environ,
        )
        wait_for_fleet(folder)
        if place:
            if not is_new:
                raise Refused("a fleet runs already, without Flower; `evalq down`, then `evalq up --flower`")
            place.wait()
    click.echo(
        f"running in {folder}: Postgres, Valkey, {fleet.processes} workers of {fleet.slots_per_process} slots"
    )
    if place:
        click.echo(f"Flower: {place.url} (sign in as {place.auth.replace(':', ', password ', 1)})")
        click.echo("pages:  `evalq web` serves them on http://127.0.0.1:8400, with /metrics for Prometheus")
    suggest("evalq bake-off … --detach", "evalq doctor", "evalq down")
    return 0


def _usable_providers(context: Context) -> set[str]:
    """The providers of the project's own judges, and those with a key: bake-offs to come will call them."""
    from evalq.keys import PROVIDER_KEYS

    usable: set[str] = {judge.provider for judge in context.settings.judges.values()}
    # A keys file that cannot be read is reported by the bake-off that needs it.
    with suppress(EvalqError):
        environ = context.environment_with_keys()
        usable |= {provider for provider, variable in PROVIDER_KEYS.items() if environ.get(variable)}
    return usable


@click.command()
@click.option("--force", is_flag=True, help="Stop even what other commands use.")
@pass_context
def down(context: Context, force: bool) -> int:
    """Stop what `up` started; calls in flight come home first."""
    from evalq.engines.embedded import stop_engines
    from evalq.engines.supervisor import stop_supervisor

    stopped_fleet = stop_supervisor(context.data_dir)
    stopped_engines = stop_engines(context.data_dir, force=force)
    click.echo("stopped" if stopped_fleet or stopped_engines else "nothing was running")
    return 0


@click.command()
@click.option("-c", "--slots", type=click.IntRange(1, 4096), help="Calls at once; default: fleet.slots.")
@click.option("-Q", "--queues", help="Queues to serve, separated by commas; default: all but the sandbox's.")
@click.option("--sandbox", is_flag=True, help="Only run code for graders, without any keys.")
@click.option(
    "--events/--no-events", default=True, show_default=True, help="Send an event to Flower for every job."
)
@_loglevel
@pass_context
def worker(
    context: Context, slots: int | None, queues: str | None, sandbox: bool, events: bool, loglevel: str
) -> None:
    """Run a worker against EVALQ_DATABASE_URL and EVALQ_BROKER_URL."""
    from evalq.engines.fleet import QUEUES
    from evalq.engines.supervisor import SANDBOX_SLOTS
    from evalq.keys import without_keys
    from evalq.records import SANDBOX_QUEUE

    if sandbox:
        environ, served, default_slots = without_keys(context.environ), SANDBOX_QUEUE, SANDBOX_SLOTS
    else:
        environ, served = dict(context.environ), queues or ",".join(QUEUES)
        default_slots = context.settings.fleet.slots_per_process
    node = f"evalq-{os.getpid()}@{socket.gethostname()}"
    pool = ["-c", str(slots or default_slots), "-Q", served, "-n", node, "-l", loglevel]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    if events:
        quiet.append("-E")
    _become(context, process_argv("worker", *pool, *quiet), environ)


@click.command()
@_loglevel
@pass_context
def beat(context: Context, loglevel: str) -> None:
    """Run the scheduler against the given URLs: it brings back lost jobs and opens drift checks.

    EVALQ_BEAT=redbeat keeps the schedule in the broker, so that several may run; it needs celery-redbeat.
    """
    scheduler = _choose_scheduler(context.environ)
    context.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    schedule = str(context.data_dir / "beat-schedule")
    argv = process_argv("beat", "-l", loglevel, "-s", schedule, "--pidfile=", *scheduler)
    _become(context, argv, dict(context.environ))


def _choose_scheduler(environ: Mapping[str, str]) -> list[str]:
    """The scheduler EVALQ_BEAT asks for, as options of celery beat."""
    wanted = environ.get("EVALQ_BEAT", "").strip()
    if wanted not in ("", "redbeat"):
        raise InputError(
            Problem(f"EVALQ_BEAT={wanted!r} is not a scheduler", "leave it out, or set it to redbeat")
        )
    if wanted and find_spec("redbeat") is None:
        raise InputError(Problem("EVALQ_BEAT asks for RedBeat", "install it: pip install celery-redbeat"))
    return ["-S", "redbeat.RedBeatScheduler"] if wanted else []


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5555, show_default=True, help="Where to listen."
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@pass_context
def flower(context: Context, port: int, address: str) -> None:
    """Run Flower against the given URLs. EVALQ_FLOWER_AUTH=user:password is required."""
    from evalq.engines.flower import check_flower_auth

    auth = context.environ.get("EVALQ_FLOWER_AUTH", "")
    check_flower_auth(auth)
    # Flower reads its options from FLOWER_… too: the password stays off the command line.
    environ = {**context.environ, "FLOWER_BASIC_AUTH": auth}
    _become(
        context,
        process_argv("flower", f"--port={port}", f"--address={address}"),
        environ,
        needs_database=False,
    )


def _become(
    context: Context, argv: Sequence[str], environ: Mapping[str, str], *, needs_database: bool = True
) -> NoReturn:
    """Replace this process by a part of the fleet, which then gets the signals and sets the exit code."""
    settings = context.settings
    if not settings.broker_url or (needs_database and not settings.database_url):
        raise InputError(
            Problem(
                "a part of a fleet needs its database and broker",
                "set EVALQ_DATABASE_URL and EVALQ_BROKER_URL, or use `evalq up`",
            )
        )
    urls = {"EVALQ_DATABASE_URL": settings.database_url or "", "EVALQ_BROKER_URL": settings.broker_url}
    sys.stdout.flush()
    whole = {**environ, **urls, "PYTHONPATH": python_path(environ)}
    os.execve(argv[0], list(argv), whole)  # noqa: S606 - no shell is the point
