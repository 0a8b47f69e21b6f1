"""A shell completes names of the project's files and judges, and never sees an error."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from evalq.cli.completion import completion
from evalq.cli.main import evalq

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Completes the last of some words in a project with two tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("tasks", "evalsets/triage", "evalsets/trips"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("tasks/triage", "tasks/trips", "evalsets/triage/dev", "evalsets/trips/tiny"):
        (tmp_path / f"{name}.yaml").write_text("not: read\n", "utf-8")
    completer = ShellComplete(evalq, {}, "evalq", "_EVALQ_COMPLETE")

    def call(*words: str) -> list[str]:
        return [item.value for item in completer.get_completions(list(words[:-1]), words[-1])]

    return call


def test_tasks_are_those_of_the_project_then_the_shipped(complete: Complete) -> None:
    assert complete("bake-off", "--task", "tri") == ["triage", "trips"]
    assert "knowledge_audit" in complete("power", "--task", "")


def test_evalsets_are_those_of_the_task_named(complete: Complete) -> None:
    assert complete("bake-off", "--task", "triage", "--eval-set", "") == ["dev"]
    assert {"dev", "tiny", "dev-93"} <= set(complete("bake-off", "--eval-set", ""))


def test_judges_are_completed_one_after_the_other(complete: Complete, tmp_path: Path) -> None:
    own = "judges: {mine: {provider: simulated, model: m, price: {input: 0, output: 0}}}\n"
    (tmp_path / "evalq.yaml").write_text(own, "utf-8")
    assert complete("bake-off", "--judges", "min") == ["mine"]
    assert complete("bake-off", "--models", "mine,sim-ha") == ["mine,sim-haiku-4.5"]
    assert complete("bake-off", "--judges", "sim-haiku-4.5,sim-haiku") == []


def test_what_names_a_bake_off_is_offered_without_any_engine(complete: Complete, tmp_path: Path) -> None:
    assert complete("inspect", "") == ["last", "@-2"]
    assert complete("kappa", "last", "la") == ["last"]
    assert complete("inspect", "7/") == []
    assert not (tmp_path / ".evalq").exists()


def test_broken_settings_and_a_dead_database_complete_nothing(
    complete: Complete, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("EVALQ_BROKER_URL", "redis://127.0.0.1:1/0")
    assert complete("inspect", "") == ["last", "@-2"]
    (tmp_path / "evalq.yaml").write_text("judges: [\n", "utf-8")
    assert complete("bake-off", "--judges", "") == []
    assert complete("inspect", "l") == ["last"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_for_each_shell(shell: str) -> None:
    done = CliRunner().invoke(completion, [shell], standalone_mode=False)
    assert isinstance(done.exception, type(None))
    assert f"_EVALQ_COMPLETE={shell}_complete" in done.output


def test_every_option_that_takes_a_name_completes_it() -> None:
    context = click.Context(evalq)
    for name in ("bake-off", "power", "verify", "calibrate", "generate"):
        command = evalq.get_command(context, name)
        assert command is not None
        named = [param for param in command.params if param.name in ("task", "eval_set", "judge", "judges")]
        assert named
        assert [param.name for param in named if param._custom_shell_complete is None] == []
