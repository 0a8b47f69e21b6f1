import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalq.calling.pricing import prices_as_of
from evalq.cli.definitions import judges
from evalq.engines.doctor import diagnose
from evalq.keys import PROVIDER_KEYS, keys_file, store_key
from evalq.settings import load_settings

OWN = """
judges:
  local: {provider: openai, model: gpt-5.4-mini, base_url: "http://127.0.0.1:8000/v1", concurrency: 8}
  priced: {provider: openai, model: gpt-5.4-mini, price: {input: 1.50, output: 2}, rpm: 480, input_tpm: 40000}
  search: {provider: http, url: "http://127.0.0.1:9000/search", headers_env: {Authorization: SEARCH_KEY}}
"""


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in (*PROVIDER_KEYS.values(), "SEARCH_KEY"):
        monkeypatch.delenv(name, raising=False)
    Path("evalq.yaml").write_text(OWN, "utf-8")
    return {"HOME": str(tmp_path)}


def run(*args: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(judges, args)


def listed() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(run("--json").stdout)}


def test_a_judge_of_the_catalogue_is_listed_with_all_there_is_to_know() -> None:
    assert listed()["grok-4-fast-reasoning"] == {
        "name": "grok-4-fast-reasoning",
        "provider": "xai",
        "model": "grok-4-fast-reasoning",
        "price": {"input": "0.2", "output": "0.5"},
        "limits": {"rpm": None, "input_tpm": None, "output_tpm": None, "concurrency": None},
        "key_present": False,
        "aliases": ["grok-4-fast"],
    }


def test_the_judges_of_the_project_are_listed_too() -> None:
    rows = listed()
    assert rows["local"]["price"] is None
    assert rows["local"]["limits"]["concurrency"] == 8
    assert rows["priced"]["price"] == {"input": "1.5", "output": "2"}
    assert rows["search"]["price"] == {"input": "0", "output": "0"}


def test_a_key_counts_wherever_it_is(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    store_key(environ, "XAI_API_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
    rows = listed()
    assert {rows[name]["key_present"] for name in ("grok-4.3", "haiku-4.5", "sim-grader", "local")} == {True}
    assert {rows[name]["key_present"] for name in ("gpt-5.4-mini", "gemini-2.5-flash", "search")} == {False}
    monkeypatch.setenv("SEARCH_KEY", "s")
    assert listed()["search"]["key_present"]


def test_the_table_has_a_line_per_judge_and_the_day_of_the_prices_goes_to_stderr() -> None:
    result = run()
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == ["judge", "provider", "model", "$ per Mtok in/out", "limits", "key", "also called"]
    rows = {line[0]: line[1:] for line in lines[1:]}
    assert rows.keys() == listed().keys()
    assert rows["local"] == ["openai", "gpt-5.4-mini", "?", "8 concurrency", "yes", "-"]
    assert rows["priced"][2:5] == ["1.5/2", "480 rpm, 40,000 input_tpm", "no"]
    assert rows["haiku-4.5"][5] == "claude-haiku-4.5"
    assert f"prices of {prices_as_of()}" in result.stderr


def found(environ: dict[str, str]) -> dict[str, bool]:
    checks = diagnose(load_settings(Path.cwd(), environ), Path.cwd(), environ).checks
    return {check.name: check.ok for check in checks}


def test_the_doctor_finds_a_key_in_the_file(environ: dict[str, str]) -> None:
    store_key(environ, "XAI_API_KEY", "x")
    keys = found(environ)
    assert keys["key XAI_API_KEY"]
    assert not keys["key OPENAI_API_KEY"]
    assert "keys file" not in keys


def test_the_doctor_finds_fault_with_an_open_file_and_goes_on(environ: dict[str, str]) -> None:
    store_key(environ, "XAI_API_KEY", "x")
    keys_file(environ).chmod(0o644)
    keys = found(environ | {"OPENAI_API_KEY": "o"})
    assert (keys["keys file"], keys["key XAI_API_KEY"], keys["key OPENAI_API_KEY"]) == (False, False, True)
