"""The sandbox on this machine: every escape is tried, and ordinary code works in it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from answers import mark_code
from patience import PATIENCE_S

from evalq.definitions.graders.code import FunctionOutput
from evalq.definitions.yaml_text import load_yaml
from evalq.engines.processes import wait_until
from evalq.errors import Refused
from evalq.grading.sandbox.availability import outlook, require_sandbox
from evalq.grading.sandbox.escape_test import ESCAPES, lay_bait, processes_with, try_escape
from evalq.grading.sandbox.program import FunctionCall, Program
from evalq.grading.sandbox.running import run, system_interpreter

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def report(environ: dict[str, str]) -> dict[str, Any]:
    """What `evalq doctor --sandbox --json` says; only CI must have a sandbox."""
    argv = [sys.executable, "-m", "evalq", "doctor", "--sandbox", "--json"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    document: dict[str, Any] = json.loads(done.stdout)
    if not document["escapes"]:
        assert os.environ.get("CI") != "true", document["finding"]
        pytest.skip(f"no sandbox on this machine: {document['finding']}")
    assert done.returncode == (0 if document["ok"] else 5)
    return document


@pytest.fixture(autouse=True)
def _sandbox(report: dict[str, Any]) -> None:
    """Every test here needs one."""


@pytest.mark.parametrize("way", ["alone", "four_at_once"])
@pytest.mark.parametrize("name", [escape.name for escape in ESCAPES])
def test_no_escape_succeeds(report: dict[str, Any], name: str, way: str) -> None:
    (row,) = (row for row in report["escapes"] if row["name"] == name)
    assert row[way]["contained"], row[way]["evidence"]


def test_the_doctor_finds_all_well(report: dict[str, Any]) -> None:
    assert (report["ok"], report["finding"]) == (True, "every escape contained")
    assert len(report["escapes"]) == len(ESCAPES)


@pytest.mark.parametrize(
    "name",
    ["home file", "tcp to valkey", "tcp to postgres", "abstract socket", "surviving daemon", "host write"],
)
def test_an_escape_that_does_succeed_is_seen(name: str) -> None:
    """Without namespaces these work: a check that could not fail would say nothing."""
    escape = next(escape for escape in ESCAPES if escape.name == name)
    with lay_bait() as bait:
        finding = try_escape(escape, bait, partial(run, isolation="weak"))
        for pid in processes_with(bait.name):
            os.kill(pid, signal.SIGKILL)
    assert not finding.contained, finding.evidence


def test_what_was_tried_once_is_known_until_the_next_boot(environ: dict[str, str]) -> None:
    assert outlook(environ).is_available
    assert require_sandbox("strong", environ) == "strong"


def test_what_others_could_have_written_is_not_believed(environ: dict[str, str]) -> None:
    (mark,) = Path(environ["XDG_CACHE_HOME"], "evalq").iterdir()
    for path, mode in ((mark, 0o620), (mark.parent, 0o722)):
        before = path.stat().st_mode
        path.chmod(mode)
        assert outlook(environ).is_available is None
        path.chmod(before)
    assert outlook(environ).is_available


def test_a_link_in_place_of_the_mark_is_not_believed(environ: dict[str, str], tmp_path: Path) -> None:
    (mark,) = Path(environ["XDG_CACHE_HOME"], "evalq").iterdir()
    aside = mark.rename(tmp_path / "mark")
    mark.symlink_to(aside)
    assert outlook(environ).is_available is None
    mark.unlink()
    aside.rename(mark)


def test_without_bubblewrap_nothing_is_run() -> None:
    program = Program("def f(): ...", "f", (FunctionCall(),))
    with pytest.raises(Refused, match="SANDBOX_UNAVAILABLE: bubblewrap is not installed; install"):
        run(program, isolation="strong", environ={"PATH": ""})


def test_a_worker_that_is_killed_takes_its_sandbox_along() -> None:
    token = f"evalq-test-{os.getpid()}-{time.monotonic_ns()}"
    source = (
        "import os, sys\ndef f(token):\n"
        "    os.execv(sys.executable, ('python', '-I', '-S', '-c', 'import time; time.sleep(600)', token))"
    )
    script = f"""
from evalq.grading.sandbox.program import FunctionCall, Program
from evalq.grading.sandbox.running import run
from evalq.grading.sandbox.isolation import filter_program
run(Program({source!r}, "f", (FunctionCall(({token!r},)),), 60.0), isolation="strong")
"""
    with subprocess.Popen([sys.executable, "-"], cwd=ROOT, stdin=subprocess.PIPE) as worker:
        assert worker.stdin
        worker.stdin.write(script.encode())
        worker.stdin.close()
        assert wait_until(lambda: len(processes_with(token)) == 1, timeout_s=PATIENCE_S)
        worker.kill()
    assert wait_until(lambda: not processes_with(token), timeout_s=PATIENCE_S)


def test_an_ordinary_user_has_the_same_sandbox() -> None:
    python = system_interpreter(Path("/usr/bin/python3"))
    if os.geteuid() != 0 or python is None:
        pytest.skip("these tests run as one, or there is no Python for another")
    script = """
from functools import partial
from evalq.grading.sandbox.escape_test import check_ordinary_code, try_escapes
from evalq.grading.sandbox.running import run
from evalq.grading.sandbox.isolation import filter_program
sandbox = partial(run, isolation="strong")
print([check_ordinary_code(sandbox), *(one.escape.name for one in try_escapes(sandbox) if not one.contained)])
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(ROOT / "evalq", Path(folder, "evalq"), ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run(
            [python.executable, "-B", "-c", script],
            cwd=folder,
            env={"PATH": os.environ["PATH"]},
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.stdout.strip(), done.stderr) == ("['']", "")


def test_the_documented_example_passes_and_fails_where_it_says() -> None:
    text = (ROOT / "docs" / "graders.md").read_text("utf-8").partition("\n## Graders that run code\n")[2]
    block = text.partition("```yaml\n")[2].partition("```")[0]
    [shown] = load_yaml(block, "graders.md").value["graders"]
    grader = FunctionOutput.model_validate(shown)
    said = re.findall(r"^# (passes|fails): '(.*)'$", block, re.MULTILINE)
    marks = [mark_code(grader, code, partial(run, isolation="strong")).passed for _, code in said]
    assert marks == [word == "passes" for word, _ in said] == [True, False]
