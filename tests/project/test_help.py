"""The command line answers for itself at once: help, version, a wrong name, without the heavy libraries."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from patience import PATIENCE_S

import evalq as evalq_package
from evalq.cli.main import COMMANDS, GROUPS
from evalq.cli.main import evalq as program

HEAVY = {
    *("celery", "kombu", "redis", "flower", "tornado"),
    *("numpy", "scipy", "sklearn"),
    *("psycopg", "psycopg_pool", "pydantic", "yaml", "rich", "tenacity"),
    *("anthropic", "openai", "google", "httpx", "httpx2", "requests"),
}
SHOW_IMPORTS = """
import atexit, sys
atexit.register(lambda: print("imported", *sorted({name.partition(".")[0] for name in sys.modules})))
from evalq.cli.main import run
run(sys.argv[1:])
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def evalq(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "evalq", *arguments)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bakeof"]])
def test_a_quick_answer_imports_nothing_heavy(arguments: list[str]) -> None:
    done = python("-c", SHOW_IMPORTS, *arguments)
    imported = set(done.stdout.splitlines()[-1].split())
    assert {"imported", "click", "evalq"} <= imported
    assert imported & HEAVY == set()


def test_the_help_of_a_command_imports_no_engine_and_no_provider() -> None:
    places = {place.partition(":")[0] for place, _ in COMMANDS.values()}
    done = python("-c", f"import sys, {', '.join(sorted(places))}; print(*sys.modules)")
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert imported & (HEAVY - {"pydantic", "yaml", "rich"}) == set()


def test_help_lists_every_command_with_its_line() -> None:
    done = evalq("--help")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    for name, (_, line) in COMMANDS.items():
        assert f"{name} {line}" in words


def test_help_may_be_asked_for_briefly_and_is_shown_when_nothing_is_asked() -> None:
    assert evalq("-h").stdout == evalq("--help").stdout
    bare = evalq()
    assert "First steps:" in bare.stderr
    assert bare.returncode == 2


def test_the_version_is_that_of_the_package() -> None:
    done = evalq("--version")
    assert (done.returncode, done.stdout) == (0, f"evalq {version('evalq')}\n")


@pytest.mark.parametrize(("wrong", "near"), [("bakeof", "bake-off"), ("runz", "runs"), ("judge", "judges")])
def test_a_wrong_command_is_answered_with_the_near_one(wrong: str, near: str) -> None:
    done = evalq(wrong)
    assert done.returncode == 2
    assert f"There is no command {wrong!r}. Did you mean {near}" in done.stderr
    assert done.stdout == ""


def test_a_command_like_no_other_gets_no_guess() -> None:
    done = evalq("xyzzy")
    assert done.returncode == 2
    assert "Did you mean" not in done.stderr


def test_the_installed_program_is_the_module() -> None:
    installed = Path(sys.executable).with_name("evalq")
    done = subprocess.run(
        [installed, "--help"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout) == (0, evalq("--help").stdout)


def test_help_shows_the_commands_by_group_and_fits_eighty_columns() -> None:
    lines = evalq("--help").stdout.splitlines()
    assert [line.removesuffix(":") for line in lines if line.removesuffix(":") in GROUPS] == list(GROUPS)
    assert len(COMMANDS) == sum(len(group) for group in GROUPS.values())
    assert [line for line in lines if len(line) > 80] == []


def test_the_shell_may_complete_every_command() -> None:
    completer = ShellComplete(program, {}, "evalq", "_EVALQ_COMPLETE")
    assert [item.value for item in completer.get_completions([], "")] == list(COMMANDS)
    assert [item.value for item in completer.get_completions([], "bake")] == ["bake-off"]
    assert program.get_command(click.Context(program), "bakeof") is None


def test_the_python_api_is_there_when_it_is_used() -> None:
    assert callable(evalq_package.bake_off)
    assert isinstance(evalq_package.BakeOff, type)
    with pytest.raises(AttributeError, match="module 'evalq' has no attribute 'bakeoffs'"):
        _ = evalq_package.bakeoffs
