"""The simulator as a process and as a command: it starts, dies with its parent, refuses what is wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from patience import PATIENCE_S

from evalq.cli.simulator import pair_sets, simulator
from evalq.definitions.yaml_text import load_yaml
from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator
from evalq.errors import EvalqError, InputError, Unreachable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    with running_simulator() as simulator:
        yield simulator


def wait_for(is_so: Callable[[], bool]) -> None:
    assert wait_until(is_so, timeout_s=PATIENCE_S)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


HOLDER = """
import sys, time
from evalq.engines.simulator.process import running_simulator
with running_simulator() as sim:
    print(sim.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_dies_with_its_parent_however_that_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    wait_for(lambda: not is_alive(pid))


def test_it_is_gone_after_its_block() -> None:
    with running_simulator({"profiles": {"m": {"fixed": "x"}}}) as sim:
        pid = sim.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_unknown_evalset_keeps_it_from_starting(capfd: pytest.CaptureFixture[str]) -> None:
    config = {"cases": [{"task": "knowledge_audit", "eval_set": "nope"}]}
    with pytest.raises(Unreachable, match="code 2"), running_simulator(config):
        pass
    assert "no evalset 'nope'" in capfd.readouterr().err


def test_the_command_says_how_to_use_it_and_stops_at_ctrl_c() -> None:
    program = "from evalq.cli.simulator import simulator; simulator()"
    argv = [sys.executable, "-c", program, "--port", "0", "--task", "mail_classify", "--eval-set", "dev-30"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [child.stdout.readline() for _ in range(8)]
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=PATIENCE_S)
    assert said[0].startswith("simulating on http://127.0.0.1:")
    assert sorted(load_yaml("".join(said[3:]), "evalq.yaml").value["judges"]) == [
        "simulated-anthropic",
        "simulated-google",
        "simulated-openai",
    ]
    assert "stopped after 0 requests" in err
    assert child.returncode == 0


def test_the_command_refuses_a_wrong_config_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sim.yaml"
    file.write_text("profiles:\n  m:\n    schedule: [500, 5OO]\n")
    result = CliRunner().invoke(simulator, ["--config", str(file)])
    assert isinstance(result.exception, EvalqError)
    assert f"{file}:3" in str(result.exception)


def test_the_command_refuses_a_port_that_is_taken(sim: Simulator) -> None:
    result = CliRunner().invoke(simulator, ["--port", sim.url.rpartition(":")[2]])
    assert isinstance(result.exception, Unreachable)


def test_tasks_and_evalsets_are_paired_by_their_places() -> None:
    assert pair_sets(["a", "b"], ["x", "y"]) == [("a", "x"), ("b", "y")]
    assert pair_sets(["a"], ["x", "y"]) == [("a", "x"), ("a", "y")]
    assert pair_sets([], []) == []
    with pytest.raises(InputError):
        pair_sets(["a", "b"], ["x"])
