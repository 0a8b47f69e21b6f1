import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from patience import PATIENCE_S

from evalq.cli.keys import keys
from evalq.errors import InputError, Refused
from evalq.keys import PROVIDER_KEYS, keys_file

SECRET = "sk-ant-0123456789"


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in PROVIDER_KEYS.values():
        monkeypatch.delenv(name, raising=False)


def run(*args: str, piped: str = "") -> Result:
    return CliRunner(catch_exceptions=False).invoke(keys, args, input=piped)


def listed() -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(run("list", "--json").stdout)}


def test_a_key_is_taken_from_a_pipe_and_never_shown_again() -> None:
    result = run("set", "anthropic", piped=f"{SECRET}\n")
    assert result.exit_code == 0
    assert result.stdout == f"ANTHROPIC_API_KEY is kept in {keys_file(os.environ)}\n"
    assert keys_file(os.environ).read_text("utf-8") == f"ANTHROPIC_API_KEY={SECRET}\n"
    shown = result.output + run("list").output + run("list", "--json").output
    assert not any(SECRET[at : at + 4] in shown for at in range(len(SECRET) - 3))


def test_a_key_typed_at_a_terminal_is_asked_for_and_not_echoed() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from evalq.cli.keys import keys; keys()", "set", "xai"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = os.read(ours, 1000)
    while b"XAI_API_KEY" not in seen:
        seen += os.read(ours, 1000)
    os.write(ours, f"{SECRET}\n".encode())
    while b"evalq judges" not in seen:
        seen += os.read(ours, 1000)
    assert process.wait(timeout=PATIENCE_S) == 0
    os.close(ours)
    assert SECRET.encode() not in seen
    assert keys_file(os.environ).read_text("utf-8") == f"XAI_API_KEY={SECRET}\n"


def test_the_keys_are_listed_by_name_and_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    run("set", "MY_KEY", piped=SECRET)
    run("set", "openai", piped=SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    rows = listed()
    assert set(rows) == {*PROVIDER_KEYS.values(), "MY_KEY"}
    assert rows["MY_KEY"] == {"name": "MY_KEY", "present": True, "source": "file"}
    assert rows["OPENAI_API_KEY"]["source"] == "environment"
    assert rows["XAI_API_KEY"] == {"name": "XAI_API_KEY", "present": False, "source": None}


def test_the_list_is_a_plain_table_when_piped() -> None:
    run("set", "xai", piped=SECRET)
    assert run("list").stdout.splitlines() == [
        "key\tstate\tsource",
        "ANTHROPIC_API_KEY\tabsent\t-",
        "GEMINI_API_KEY\tabsent\t-",
        "OPENAI_API_KEY\tabsent\t-",
        "XAI_API_KEY\tpresent\tfile",
    ]


def test_a_variable_that_a_judge_of_the_project_asks_for_is_listed() -> None:
    Path("evalq.yaml").write_text(
        "judges:\n  local: {provider: openai, model: m, base_url: 'http://h/v1', api_key_env: LOCAL_KEY}\n",
        "utf-8",
    )
    assert listed()["LOCAL_KEY"] == {"name": "LOCAL_KEY", "present": False, "source": None}


def test_a_key_can_be_unset() -> None:
    run("set", "xai", piped=SECRET)
    assert run("unset", "xai").stdout == "XAI_API_KEY is removed\n"
    assert keys_file(os.environ).read_text("utf-8") == ""
    again = run("unset", "xai")
    assert (again.exit_code, again.stdout) == (0, f"there was no XAI_API_KEY in {keys_file(os.environ)}\n")


def test_the_environments_own_key_is_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAI_API_KEY", SECRET)
    assert "the environment's own XAI_API_KEY comes first" in run("set", "xai", piped="other").stderr
    assert "the environment still has XAI_API_KEY" in run("unset", "xai").stderr


def test_a_key_in_place_of_a_name_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError) as caught:
        run("set", SECRET, piped=SECRET)
    assert SECRET not in str(caught.value)
    assert "anthropic, openai, xai, google, gemini" in str(caught.value)


def test_an_empty_pipe_stores_nothing() -> None:
    with pytest.raises(InputError, match="this is not a key for XAI_API_KEY"):
        run("set", "xai")
    assert not keys_file(os.environ).exists()


def test_an_open_file_is_refused_by_every_command() -> None:
    run("set", "xai", piped=SECRET)
    keys_file(os.environ).chmod(0o644)
    for args in (["list"], ["set", "xai"], ["unset", "xai"]):
        with pytest.raises(Refused, match="chmod 600"):
            run(*args, piped=SECRET)
