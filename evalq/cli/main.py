"""The `evalq` program: it finds commands by name and imports only the one that is used."""

import gc
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from evalq.errors import EvalqError, InputError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# group: name: (module and function, one line of help). The lines live here so that --help imports nothing.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "First steps": {
        "demo": ("evalq.cli.bakeoff:demo", "Run a bake-off of seven simulated models: no key, no cost."),
        "init": (
            "evalq.cli.new_task:init",
            "Write a task and its cases, from a table of yours or an example.",
        ),
        "judges": ("evalq.cli.definitions:judges", "List the judges you can name."),
        "keys": ("evalq.cli.keys:keys", "Keep provider keys in a file only you can read."),
        "doctor": ("evalq.cli.services:doctor", "Show what is reachable, which versions, which keys."),
        "config": ("evalq.cli.config:config", "Show every setting and where it comes from."),
        "completion": (
            "evalq.cli.completion:completion",
            "Print the script that lets a shell complete names.",
        ),
    },
    "Bake-offs": {
        "bake-off": (
            "evalq.cli.bakeoff:bake_off",
            "Run judges, the models on trial, on a task and compare them.",
        ),
        "watch": ("evalq.cli.control:watch", "Follow a bake-off until it ends."),
        "pause": ("evalq.cli.control:pause", "Stop spending on a bake-off, or on some of its judges."),
        "resume": ("evalq.cli.control:resume", "Go on with a stopped bake-off."),
        "retry": ("evalq.cli.control:retry", "Run the errored jobs of a bake-off again."),
        "cancel": ("evalq.cli.control:cancel", "Stop a bake-off for good; stored answers stay."),
    },
    "Results": {
        "runs": ("evalq.cli.inspect:runs", "List the bake-offs."),
        "inspect": ("evalq.cli.inspect:inspect", "Show a bake-off: its table, its cases, its failures."),
        "report": (
            "evalq.cli.report:report",
            "Write a report to share: HTML, Markdown, JUnit, CSV and more.",
        ),
        "web": ("evalq.cli.pages:web", "Serve pages on loopback: runs, cases, drift, fleet, cost."),
        "compare": ("evalq.cli.compare:compare", "Compare two runs: what changed, and whether it got worse."),
        "kappa": ("evalq.cli.compare:kappa", "Measure which runs err alike."),
        "frontier": ("evalq.cli.portfolio:frontier", "Compare cost and quality over several tasks."),
        "power": ("evalq.cli.power:power", "Compute how many cases it takes to see a difference."),
        "cost": ("evalq.cli.costs:cost", "Sum what was spent, by judge, provider, purpose and day."),
    },
    "Tasks and cases": {
        "check": ("evalq.cli.definitions:check", "Validate tasks and evalsets."),
        "import": (
            "evalq.cli.import_export:import_",
            "Turn an EVAL.yaml, evals.json or promptfoo file into a task.",
        ),
        "ingest": ("evalq.cli.ingest:ingest", "Turn production data into scrubbed cases, after a review."),
        "generate": (
            "evalq.cli.generate:generate",
            "Have a model draft cases for people to edit and accept.",
        ),
        "holdout": (
            "evalq.cli.holdout:holdout",
            "Freeze holdout sets, list every look at them, verify the log.",
        ),
    },
    "Grading and people": {
        "score": ("evalq.cli.score:score", "Grade stored answers again; no model on trial is asked."),
        "replay": (
            "evalq.cli.replay:replay",
            "Render and grade one stored answer again, and show what differs.",
        ),
        "cache": ("evalq.cli.score:cache", "Show and prune the cached verdicts of grader models."),
        "review": (
            "evalq.cli.review:review",
            "Rate answers that wait for people, and see how far they agree.",
        ),
        "calibrate": (
            "evalq.cli.calibrate:calibrate",
            "Compare the grader with people's labels, and correct the rates.",
        ),
    },
    "Drift": {
        "verify": ("evalq.cli.drift:verify", "Check judges against their own past, or with one real call."),
        "drift": ("evalq.cli.drift:drift", "Show how judges change over time, and accept a baseline."),
        "alerts": ("evalq.cli.alerts:alerts", "List the alerts and their deliveries; try every channel."),
    },
    "Suites, skills and prompts of other tools": {
        "suite": ("evalq.cli.suite:suite", "Create and run suites of evals, and report on them."),
        "gate": ("evalq.cli.gate:gate", "Pass or fail a phase by the evals of a suite."),
        "baseline": ("evalq.cli.baseline:baseline", "Capture, show and compare the baselines of a suite."),
        "triggers": (
            "evalq.cli.triggers:triggers",
            "Measure which requests load a skill, and which of several.",
        ),
        "eva": ("evalq.cli.eva:eva", "Evaluate, use and promote prompts kept in eva's folders."),
        "transpile": (
            "evalq.cli.import_export:transpile",
            "Turn agentv's EVAL.yaml into the evals.json of skill-creator.",
        ),
    },
    "Engines and fleet": {
        "up": ("evalq.cli.services:up", "Start the embedded engines and a fleet, and keep them running."),
        "down": ("evalq.cli.services:down", "Stop what `up` started."),
        "worker": ("evalq.cli.services:worker", "Run a worker against the given database and broker."),
        "beat": (
            "evalq.cli.services:beat",
            "Run the scheduler: it returns lost jobs and opens drift checks.",
        ),
        "flower": (
            "evalq.cli.services:flower",
            "Run Flower, Celery's own monitor, on loopback with a password.",
        ),
        "limits": ("evalq.cli.costs:limits", "Show each judge's rate limits live."),
        "simulator": (
            "evalq.cli.simulator:simulator",
            "Serve the providers' protocols on loopback, faults on demand.",
        ),
        "schema": ("evalq.cli.services:schema", "Apply or show the database schema."),
        "fsck": ("evalq.cli.fsck:fsck", "Check the database for inconsistencies, and repair them."),
    },
}

COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}

_WITH_FLEET = ("demo", "bake-off", "resume", "retry")
_WITHOUT_FLEET = frozenset(("--help", "-h", "--dry-run", "--detach"))


class LazyGroup(click.Group):
    """A group that knows its commands by name and help line, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order a new user needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, from their help lines alone."""
        del ctx
        widest = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, (_, line) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        """The commands that begin so, from their help lines alone, and the program's own options."""
        from click.shell_completion import CompletionItem

        begun = [name for name in COMMANDS if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name][1]) for name in begun]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command as click does; name similar ones when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="evalq", message="%(prog)s %(version)s")
def evalq() -> None:
    """Find out which language model to use for a task: large parallel bake-offs you can act on.

    Start with `evalq demo`: it needs no key and nothing installed. A judge is a model on trial, or any other
    system that answers; a grader marks its answers.
    """


def run(argv: list[str] | None = None) -> Any:
    """Run the program; errors that the user can fix print a message and no traceback."""
    # Most of what a command allocates are modules, which stay: collecting often would find nothing.
    gc.set_threshold(50_000, 20, 20)
    _start_fleet_early(sys.argv[1:] if argv is None else argv)
    try:
        code = evalq.main(args=argv, prog_name="evalq", standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except KeyboardInterrupt:
        code = 130
    except click.ClickException as exc:
        exc.show()
        code = exc.exit_code
    except EvalqError as exc:
        _print_error(exc)
        code = exc.exit_code
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C must not change the exit code
    gc.freeze()  # on its way out the interpreter would look for garbage in all that was imported
    sys.exit(code if isinstance(code, int) else 0)


def _start_fleet_early(argv: list[str]) -> None:
    """Let the fleet's process import while this one does."""
    if argv and argv[0] in _WITH_FLEET and not _WITHOUT_FLEET.intersection(argv):
        from evalq.engines.head_start import start_early

        start_early()


def _print_error(exc: EvalqError) -> None:
    from evalq.reports.text import clean

    for problem in exc.problems if isinstance(exc, InputError) else (exc,):
        click.echo(f"error: {clean(str(problem))}", err=True)
