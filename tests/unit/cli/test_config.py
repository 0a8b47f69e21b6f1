import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evalq.cli.config import config
from evalq.cli.context import Context


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "evalq.yaml").write_text(
        "max_cost_usd: 3\nfleet:\n  processes: 4\njudges:\n  mine: {provider: python, callable: 'a:b'}\n"
        "alerts:\n  - command: [./alert, --token=secret-part]\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def show(project: Path, *args: str, **environ: str) -> Result:
    surroundings = Context({"HOME": str(project / "home"), **environ})
    return CliRunner(catch_exceptions=False).invoke(config, ["show", *args], obj=surroundings)


def test_every_setting_says_where_it_comes_from(project: Path) -> None:
    found = json.loads(show(project, "--json", EVALQ_DISPLAY="plain").stdout)
    sources = {row["name"]: (row["value"], row["source"]) for row in found["settings"]}
    assert sources["max_cost_usd"] == ("3", "evalq.yaml:1")
    assert sources["fleet.processes"] == ("4", "evalq.yaml:3")
    assert sources["judges.mine"] == ("python", "evalq.yaml:5")
    assert sources["display"] == ("plain", "environment: EVALQ_DISPLAY")
    assert sources["sandbox"] == ("strong", "default")


def test_no_secret_is_shown(project: Path) -> None:
    shown = show(
        project,
        EVALQ_DATABASE_URL="postgresql://me:pa55word@host/db?sslpassword=t0ken",
        XAI_API_KEY="xai-very-secret",
    ).stdout
    assert "postgresql://(hidden)@host/db?(hidden)" in shown
    for secret in ("pa55word", "t0ken", "xai-very-secret", "secret-part"):
        assert secret not in shown


def test_a_key_says_which_of_its_two_places_it_is_from(project: Path) -> None:
    keys = project / "home/.config/evalq/.env"
    keys.parent.mkdir(parents=True)
    keys.write_text("ANTHROPIC_API_KEY=sk-stored\n", "utf-8")
    keys.chmod(0o600)
    found = json.loads(show(project, "--json", XAI_API_KEY="xai-1").stdout)
    sources = {row["name"]: row["source"] for row in found["keys"]}
    assert sources["ANTHROPIC_API_KEY"] == str(keys)
    assert sources["XAI_API_KEY"] == "environment: XAI_API_KEY"
    assert sources["OPENAI_API_KEY"] == "not set; evalq keys set OPENAI_API_KEY"


def test_another_folder_with_data_is_named(project: Path) -> None:
    other = project / "home/.local/share/evalq"
    for folder in (other, project / ".evalq"):
        (folder / "postgres").mkdir(parents=True)
    places = {row["name"]: row["value"] for row in json.loads(show(project, "--json").stdout)["places"]}
    assert places["data folder"] == str(project / ".evalq")
    assert places["other data"] == str(other)
