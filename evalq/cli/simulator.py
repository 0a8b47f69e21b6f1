"""The command that runs the provider simulator on this machine: simulator."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note
from evalq.errors import InputError, Problem

if TYPE_CHECKING:
    from evalq.engines.simulator.profile import SimulatorConfig

KEY_NAME = "EVALQ_SIMULATOR_KEY"

_MODEL = "simulated"
_PRICE = "price: {input: 1, output: 4}"


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8400, show_default=True, help="0: any free one."
)
@click.option("--config", type=click.Path(path_type=Path), help="Profiles by model, in YAML or JSON.")
@options.task("With --eval-set: cases whose answers it knows.", "tasks", multiple=True)
@options.eval_set("One for each --task, or several for one.", "evalsets", multiple=True)
@pass_context
def simulator(
    context: Context, port: int, config: Path | None, tasks: tuple[str, ...], evalsets: tuple[str, ...]
) -> int:
    """Run a stand-in for OpenAI, Anthropic and Gemini on this machine, until Ctrl-C.

    It speaks their protocols, answers at no cost, fails as its config demands, and keeps a ledger of what a
    provider would have billed.
    """
    from evalq.engines.simulator.server import SimulatorServer

    settings = _load_config(config, tasks, evalsets)
    server = SimulatorServer(settings, port=port, root=context.root)
    try:
        click.echo(_introduce(server.url, settings))
        server.run()
    except KeyboardInterrupt:
        ledger = server.provider.ledger.document()
        note(f"stopped after {ledger['requests']} requests, {ledger['billed']} billed")
    return 0


def _load_config(path: Path | None, tasks: Sequence[str], evalsets: Sequence[str]) -> "SimulatorConfig":
    from evalq.definitions.definition import validate
    from evalq.definitions.files import TASK_SUFFIXES, load_located
    from evalq.engines.simulator.profile import KnownSet, Profile, SimulatorConfig

    written = validate(SimulatorConfig, load_located(path, TASK_SUFFIXES)) if path else SimulatorConfig()
    known = [KnownSet(task=task, eval_set=evalset) for task, evalset in pair_sets(tasks, evalsets)]
    profiles = written.profiles
    if known and not profiles:  # cases without a profile are there to be answered
        profiles = {"*": Profile(answer="cases")}
    return SimulatorConfig(profiles=profiles, cases=[*written.cases, *known])


def pair_sets(tasks: Sequence[str], evalsets: Sequence[str]) -> list[tuple[str, str]]:
    """Each task with the evalset at its position; a single task with all of them."""
    if len(tasks) == 1 and evalsets:
        tasks = [tasks[0]] * len(evalsets)
    if len(tasks) != len(evalsets):
        remedy = "name an --eval-set for each --task"
        raise InputError(Problem(f"{len(tasks)} tasks, but {len(evalsets)} evalsets", remedy))
    return list(zip(tasks, evalsets, strict=True))


def _introduce(url: str, settings: "SimulatorConfig") -> str:
    named = [name for name in settings.profiles if name != "*"]
    model = named[0] if named else _MODEL
    bases = {"openai": f"{url}/v1", "anthropic": url, "google": url}
    judges = [
        f'  {model}-{provider}: {{provider: {provider}, model: "{model}", base_url: "{base}", '
        f"api_key_env: {KEY_NAME}, {_PRICE}}}"
        for provider, base in bases.items()
    ]
    lines = [
        f"simulating on {url} (Ctrl-C stops it)",
        f"ledger: {url}/_simulator/ledger",
        "",
        f"# evalq.yaml; any key will do: export {KEY_NAME}=simulated",
        "judges:",
        *judges,
    ]
    return "\n".join(lines)
