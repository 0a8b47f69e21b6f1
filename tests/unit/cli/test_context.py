"""What every command is given: its context, and the options that belong together."""

import ast
from decimal import Decimal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.errors import InputError, Refused

CLI = Path(__file__).parents[3] / "evalq" / "cli"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "evalq.yaml").write_text("max_cost_usd: 3\n", "utf-8")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    return tmp_path


def test_settings_come_from_the_given_environment_over_the_project(project: Path) -> None:
    assert Context({}).settings.max_cost_usd == 3
    assert Context({"EVALQ_MAX_COST_USD": "4"}).settings.max_cost_usd == 4
    assert Context({}).root == project
    assert Context({"HOME": str(project)}).data_dir == project / ".evalq"


def test_settings_are_read_once(project: Path) -> None:
    context = Context({})
    assert context.settings.max_cost_usd == 3
    (project / "evalq.yaml").write_text("max_cost_usd: 9\n", "utf-8")
    assert context.settings.max_cost_usd == 3


@pytest.mark.usefixtures("project")
def test_bad_settings_matter_only_when_they_are_needed() -> None:
    context = Context({"EVALQ_DISPLAY": "loud"})
    assert context.root
    with pytest.raises(InputError):
        _ = context.settings


@pytest.mark.usefixtures("project")
def test_the_cap_of_the_command_line_comes_first_even_when_it_is_zero() -> None:
    assert Context({}).cap_usd(None) == 3
    assert Context({}).cap_usd(Decimal(0)) == 0


@pytest.mark.usefixtures("project")
def test_a_bake_off_is_left_only_to_a_fleet_that_runs() -> None:
    with pytest.raises(Refused, match="evalq up"):
        Context({}).require_fleet()
    Context({"EVALQ_DATABASE_URL": "postgresql://h/d", "EVALQ_BROKER_URL": "redis://h"}).require_fleet()


def test_a_command_gets_its_run_options_as_one_value() -> None:
    given: list[RunOptions] = []

    @click.command()
    @click.argument("name")
    @options.max_cost
    @options.detach
    @options.output
    @options.collect_run_options
    @pass_context
    def command(context: Context, name: str, run: RunOptions) -> None:
        assert (name, type(context)) == ("a", Context)
        given.append(run)

    CliRunner().invoke(command, ["a", "--max-cost-usd", "2.50", "--json"], catch_exceptions=False)
    assert given == [RunOptions(max_cost_usd=Decimal("2.50"), as_json=True)]


def test_the_command_line_reads_the_environment_in_one_place() -> None:
    readers = set()
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv"):
                readers.add(path.name)
    assert readers == {"context.py"}
