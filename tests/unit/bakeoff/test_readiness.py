import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalq.bakeoff.plan import Plan, make_plan
from evalq.bakeoff.readiness import check_readiness
from evalq.cli.preflight import exit_code_of, plan_document
from evalq.definitions.catalogue import all_judges, pick_judges
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.money import read_usd
from evalq.definitions.task import TaskConfig

TASK = TaskConfig(name="t", system_prompt="be brief", user_template="say {word}")
CASES = EvalSet(name="s", cases=[EvalCase(id="c1", inputs={"word": "hello"})])


def plan_of(*judges: str) -> Plan:
    return make_plan(TASK, CASES, pick_judges(judges, all_judges({})))


def problems_of(judge: str, **environ: str) -> list[str]:
    (found,) = check_readiness(plan_of(judge), environ)
    return [str(problem) for problem in found.problems]


@pytest.fixture
def port() -> Iterator[int]:
    """A server that listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_missing_key_is_named_with_the_command_that_sets_it() -> None:
    expected = "opus-4.7 needs ANTHROPIC_API_KEY, which is not set; evalq keys set anthropic"
    assert problems_of("opus-4.7") == [expected]
    assert problems_of("opus-4.7", ANTHROPIC_API_KEY="sk-fake") == []


def test_a_server_that_does_not_listen_is_named(port: int) -> None:
    assert problems_of(f"http://127.0.0.1:{port}/answer") == []
    (problem,) = problems_of("http://127.0.0.1:1/answer")
    assert problem.startswith("no server answers at 127.0.0.1:1: ")


@pytest.mark.parametrize("url", ["http://h:99999/x", "http://no-such-host.invalid/x"])
def test_an_address_that_leads_nowhere_is_named(url: str) -> None:
    assert problems_of(f"mine={url}")[0].startswith("no server answers at ")


def test_an_import_that_fails_says_why_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judge_that_stumbles.py").write_text("x = 1\nraise ValueError('no weights')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    (problem,) = problems_of("python:judge_that_stumbles:f")
    assert "ValueError: no weights (judge_that_stumbles.py:2)" in problem


def test_a_program_that_is_not_there_or_may_not_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.sh").write_text("#!/bin/sh\n", "utf-8")
    assert "there is no program './answer.sh'" in problems_of("command:./answer.sh")[0]
    Path("answer.sh").chmod(0o755)
    assert problems_of("command:./answer.sh") == []


def test_the_document_has_a_prompt_for_every_judge() -> None:
    plan = plan_of("sim-grok-4.3", "opus-4.7")
    found = check_readiness(plan, {})
    document = plan_document(plan, read_usd(5), found)
    assert document["ok"] is False
    assert [judge["ready"] for judge in document["judges"]] == [True, False]
    parts = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "say hello"}]
    assert [judge["prompt"] for judge in document["judges"]] == [{"case": "c1", "parts": parts}] * 2


@pytest.mark.parametrize(
    ("judges", "code"),
    [
        (["sim-grok-4.3"], 0),
        (["sim-grok-4.3", "http://127.0.0.1:1/a"], 6),
        (["command:./no-such", "http://127.0.0.1:1/a"], 2),
        (["opus-4.7"], 0),
    ],
)
def test_the_exit_code_tells_servers_from_what_the_user_must_write(judges: list[str], code: int) -> None:
    assert exit_code_of(check_readiness(plan_of(*judges), {})) == code
