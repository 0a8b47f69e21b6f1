"""The command that runs the provider simulator on loopback."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

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
@click.option("--task", "tasks", multiple=True, help="With --eval-set: cases whose answers it knows.")
@click.option("--eval-set", "evalsets", multiple=True, help="One for each --task, or several for one.")
def simulator(port: int, config: Path | None, tasks: tuple[str, ...], evalsets: tuple[str, ...]) -> int:
    """Run a stand-in for OpenAI, Anthropic and Gemini on this machine, until Ctrl-C.

    It speaks their protocols, answers at no cost, fails as told by its config, and keeps a ledger of what a
    provider would have billed.
    """
    from evalq.engines.simulator.server import SimulatorServer
    from evalq.settings import project_root

    settings = _config(config, tasks, evalsets)
    server = SimulatorServer(settings, port=port, root=project_root(Path.cwd()))
    try:
        click.echo(_introduction(server.url, settings))
        server.run()
    except KeyboardInterrupt:
        ledger = server.provider.ledger.document()
        click.echo(f"stopped after {ledger['requests']} requests, {ledger['billed']} billed", err=True)
    return 0


def _config(path: Path | None, tasks: Sequence[str], evalsets: Sequence[str]) -> "SimulatorConfig":
    from evalq.definitions.definition import validate
    from evalq.definitions.files import TASK_SUFFIXES, load_located
    from evalq.engines.simulator.profile import KnownSet, Profile, SimulatorConfig

    written = validate(SimulatorConfig, load_located(path, TASK_SUFFIXES)) if path else SimulatorConfig()
    known = [KnownSet(task=task, eval_set=evalset) for task, evalset in paired(tasks, evalsets)]
    # Who names cases and no profile wants them answered.
    profiles = written.profiles or ({"*": Profile(answer="cases")} if known else {})
    return SimulatorConfig(profiles=profiles, cases=[*written.cases, *known])


def paired(tasks: Sequence[str], evalsets: Sequence[str]) -> list[tuple[str, str]]:
    """Each task with the evalset in its place; a single task with all of them."""
    if len(tasks) == 1 and evalsets:
        tasks = [tasks[0]] * len(evalsets)
    if len(tasks) != len(evalsets):
        remedy = "name an --eval-set for each --task"
        raise InputError(Problem(f"{len(tasks)} tasks, but {len(evalsets)} evalsets", remedy))
    return list(zip(tasks, evalsets, strict=True))


def _introduction(url: str, settings: "SimulatorConfig") -> str:
    model = next((name for name in settings.profiles if name != "*"), _MODEL)
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
