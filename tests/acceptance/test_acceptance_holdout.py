"""Frozen sets as their users meet them: refused, decided on for good, and every look on record."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--judges", "good,poor", "--eval-set")
FINAL = "--final-decision"


@pytest.fixture(scope="module")
def frozen(served: Any) -> Any:
    """A project with a fleet and some holdouts."""
    for name in ("look", "log", "change", "crash", "kill", "api"):
        served.write_cases(f"holdout-{name}", 6)
    return served


@pytest.fixture(scope="module")
def file(frozen: Any) -> Path:
    path: Path = frozen.folder / "evalsets" / "capitals" / "holdout-runs.log"
    return path


def entries(file: Path, eval_set: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [line for line in lines if line["eval_set"] == eval_set]


def test_a_holdout_is_refused_and_nothing_is_recorded(frozen: Any, file: Path) -> None:
    done = frozen.run(*BAKE, "holdout-look")
    assert (done.returncode, done.stdout) == (5, "")
    assert "is a frozen holdout" in done.stderr
    typed = "evalq bake-off --task capitals --eval-set holdout-look --judges good,poor --final-decision"
    assert f"\n  {typed}\n" in done.stderr
    assert "--eval-set dev-12" in done.stderr
    assert "in Postgres and in evalsets/capitals/holdout-runs.log" in done.stderr
    smoke = frozen.run(
        "verify", "--smoke", "--task", "capitals", "--eval-set", "holdout-look", "--judges", "good"
    )
    assert smoke.returncode == 5
    assert frozen.run(*BAKE, "holdout-look", FINAL, "--dry-run").returncode == 0
    assert not file.exists()


def test_nothing_is_final_on_a_dev_set(frozen: Any) -> None:
    done = frozen.run(*BAKE, "dev-12", FINAL)
    assert done.returncode == 2
    assert "'dev-12' is not a holdout" in done.stderr


def test_a_holdout_cannot_hide_behind_another_name(frozen: Any) -> None:
    case = {"id": "c", "inputs": {"country": "x"}, "expected": {"answer": "y"}}
    frozen.write("evalsets/capitals/holdout-hidden.json", json.dumps({"name": "dev-1", "cases": [case]}))
    done = frozen.run(*BAKE, "holdout-hidden")
    assert done.returncode == 2
    assert "a holdout has the name of its file, not 'dev-1'" in done.stderr


def test_a_final_decision_is_on_record_and_a_second_look_is_warned_of(frozen: Any, file: Path) -> None:
    first = frozen.bake(*BAKE, "holdout-look", FINAL)
    intent, result = entries(file, "holdout-look")
    assert (intent["kind"], intent["judges"], result["kind"]) == ("intent", ["good", "poor"], "result")
    assert {run["judge"]: run["n"] for run in result["runs"]} == {"good": 6, "poor": 6}
    assert first["holdout_head"] == f"{result['seq']}:{result['hash']}"
    assert first["holdout_look"] == 1
    kinds = frozen.rows("SELECT DISTINCT run_type FROM eval_runs WHERE bakeoff_id = %s", first["id"])
    assert kinds == [("final-decision",)]

    again = frozen.run(*BAKE, "holdout-look", FINAL, "--json")
    second = json.loads(again.stdout)
    warning = "this is look 2 at holdout-look"
    assert f"WARNING  {warning}" in again.stderr
    assert again.stderr.index(warning) < again.stderr.index("100%")
    assert second["warnings"][0].startswith(warning)
    assert second["holdout_look"] == 2

    table = frozen.run(*BAKE, "dev-12").stdout
    assert f"# holdout\tholdout log of capitals at {second['holdout_head']}" in table


def test_what_the_api_looks_at_is_on_record_too(frozen: Any, file: Path) -> None:
    call = "evalq.bake_off(task='capitals', eval_set='holdout-api', judges=['good']{})"
    refused = frozen.python("-c", f"import evalq; {call.format('')}")
    assert "is a frozen holdout" in refused.stderr
    code = f"import evalq; print({call.format(', final_decision=True')}.result.holdout_head)"
    done = frozen.python("-c", code)
    assert done.returncode == 0, done.stderr
    last = entries(file, "holdout-api")[-1]
    assert done.stdout == f"{last['seq']}:{last['hash']}\n"


@pytest.fixture(scope="module")
def logged(frozen: Any, file: Path) -> bytes:
    """The log after a freeze and a look."""
    assert frozen.run("holdout", "freeze", "holdout-log", "--task", "capitals").returncode == 0
    frozen.bake(*BAKE, "holdout-log", FINAL)
    return file.read_bytes()


@pytest.fixture
def tampered(frozen: Any, file: Path, logged: bytes) -> Iterator[Callable[..., list[str]]]:
    """Changes the file and returns what verify-log finds; the file is put back afterwards."""

    def verify(change: Callable[[list[bytes]], list[bytes]], *arguments: str, code: int = 1) -> list[str]:
        file.write_bytes(b"".join(change(logged.splitlines(keepends=True))))
        done = frozen.run("holdout", "verify-log", "--task", "capitals", *arguments)
        assert done.returncode == code, done.stderr
        return list(done.stdout.splitlines())

    yield verify
    file.write_bytes(logged)


def test_a_tampered_log_is_reported_with_its_line(tampered: Any, frozen: Any) -> None:
    log = "evalsets/capitals/holdout-runs.log"
    (intact,) = tampered(lambda lines: lines, code=0)
    assert intact.startswith("capitals: intact, head ")
    edited = tampered(lambda lines: [lines[0], lines[1].replace(b'"n_pass":', b'"n_pass":1'), *lines[2:]])
    assert edited[0].startswith(f"{log}:2: edit: it was changed")
    swapped = tampered(lambda lines: [lines[1], lines[0], *lines[2:]])
    assert [line.split(": it")[0] for line in swapped[:2]] == [f"{log}:1: swap", f"{log}:2: swap"]
    removed = tampered(lambda lines: lines[1:])
    assert removed[0].startswith(f"{log}:1: deletion: it says seq 2, and before it seq 1 is missing")
    cut = tampered(lambda lines: lines[:-1])
    assert len(cut) == 1
    assert ": truncation: it is missing: the database also holds seq" in cut[0]


def test_a_log_cut_off_in_the_database_too_is_found_by_an_anchor(tampered: Any, frozen: Any) -> None:
    anchor = tampered(lambda lines: lines, code=0)[0].split("head ")[1]
    assert tampered(lambda lines: lines, "--anchor", anchor, code=0)
    seq, digest = anchor.split(":")
    beyond = tampered(lambda lines: lines, "--anchor", f"{int(seq) + 1}:{digest}")
    assert all(f":{int(seq) + 1}: truncation: " in line for line in beyond)
    other = tampered(lambda lines: lines, "--anchor", f"{seq}:{'0' * 64}")
    assert f"database:{seq}: edit: it is not the line anchored as seq {seq}" in other
    assert frozen.run("holdout", "verify-log", "--task", "capitals", "--anchor", "x").returncode == 2


def test_a_tampered_log_lets_nobody_look(tampered: Any, frozen: Any) -> None:
    tampered(lambda lines: [lines[1], lines[0], *lines[2:]])
    done = frozen.run(*BAKE, "holdout-look", FINAL)
    assert done.returncode == 5
    assert "evalsets/capitals/holdout-runs.log:1: says seq 2, seq 1 belongs here" in done.stderr


def test_a_changed_set_is_refused_until_the_change_is_on_record(frozen: Any, file: Path) -> None:
    freeze = ("holdout", "freeze", "holdout-change", "--task", "capitals")
    assert frozen.run(*freeze).returncode == 0
    assert "was frozen already" in frozen.run(*freeze).stdout
    frozen.write_cases("holdout-change", 5)
    done = frozen.run(*BAKE, "holdout-change", FINAL)
    assert done.returncode == 5
    assert "'holdout-change' is not what it was" in done.stderr
    assert frozen.run(*freeze).returncode == 5
    assert frozen.run(*freeze, "--again").returncode == 2
    verified = frozen.bake("holdout", "verify-log", "--task", "capitals", code=1)
    assert [found["kind"] for found in verified["logs"][0]["findings"]] == ["set"]
    assert frozen.run(*freeze, "--again", "--reason", "case 5 was a copy").returncode == 0
    assert frozen.bake(*BAKE, "holdout-change", FINAL)["holdout_look"] == 1
    assert entries(file, "holdout-change")[1]["reason"] == "case 5 was a copy"


def test_a_look_that_was_stopped_is_an_intent_without_result(frozen: Any, file: Path) -> None:
    bake = (*BAKE[:3], "--judges", "slow", "--eval-set", "holdout-crash", "--samples", "200", FINAL)
    started = frozen.run(*bake, "--detach", "--max-cost-usd", "50")
    assert started.returncode == 0, started.stderr
    number = started.stdout.strip()
    assert frozen.run("cancel", number).returncode == 0
    log = frozen.run("holdout", "log", "--task", "capitals")
    (line,) = [line for line in log.stdout.splitlines() if "holdout-crash" in line]
    assert line.split("\t")[3:] == [
        "intent", "holdout-crash", "final-decision", number, "slow", "NO RESULT: bake-off is cancelled",
    ]  # fmt: skip
    assert "capitals holdout-crash: looks 1, drift checks 0" in log.stderr
    document = frozen.bake("holdout", "log", "--task", "capitals")
    (intent,) = [one for one in document["logs"][0]["entries"] if one["eval_set"] == "holdout-crash"]
    assert (intent["open"], intent["bakeoff_id"], intent["state"]) == (True, int(number), "cancelled")


def test_a_look_whose_command_was_killed_is_completed_by_the_fleet(frozen: Any, file: Path) -> None:
    bake = (*BAKE[:3], "--judges", "slow", "--eval-set", "holdout-kill", "--display", "plain", FINAL)
    command = frozen.start(*bake, "--samples", "50")
    assert command.says(r"run=\d+")
    command.process.send_signal(signal.SIGKILL)
    command.end()
    assert [entry["kind"] for entry in entries(file, "holdout-kill")] == ["intent"]
    assert frozen.run("watch", "last").returncode == 0
    assert [entry["kind"] for entry in entries(file, "holdout-kill")] == ["intent", "result"]
    assert frozen.run("holdout", "verify-log", "--task", "capitals").returncode == 0
    assert frozen.run("fsck").returncode == 0


def test_the_log_of_a_set_that_came_with_evalq_is_the_projects(frozen: Any) -> None:
    bake = ("bake-off", "--task", "knowledge_audit", "--eval-set", "holdout-99", "--judges", "good")
    frozen.bake(*bake, "--scorer", "strict_substring", FINAL)
    log = frozen.folder / "evalsets" / "knowledge_audit" / "holdout-runs.log"
    assert [entry["kind"] for entry in entries(log, "holdout-99")] == ["intent", "result"]
    verified = frozen.bake("holdout", "verify-log", "--task", "knowledge_audit")
    assert verified["ok"] is True
