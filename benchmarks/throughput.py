"""A whole bake-off against the simulator, cold start to table: wall over ideal, CPU a call, nothing twice."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from evalq.engines.simulator.process import Simulator, running_simulator

TASK = """\
name: echo
system_prompt: Repeat what you are told to say.
user_template: "{q}"
scoring: {mode: strict_substring, pass_rule: any_substring}
max_tokens: 64
"""


SERVERS = ("postgres", "valkey-server")


@dataclass
class CpuMeter:
    """CPU seconds of evalq's processes (they carry a marker) and of servers started since."""

    marker: str = field(default_factory=lambda: uuid.uuid4().hex)
    since: float = field(default_factory=time.time)
    seconds: dict[tuple[int, str], float] = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Sample until stopped."""
        while not self.stopped.wait(0.1):
            for process in psutil.process_iter():
                self._sample(process)

    def _sample(self, process: psutil.Process) -> None:
        try:
            if self._is_ours(process):
                spent = process.cpu_times()
                self.seconds[process.pid, process.name()] = spent.user + spent.system
        except (psutil.Error, OSError):
            return

    def _is_ours(self, process: psutil.Process) -> bool:
        if process.create_time() < self.since - 1:
            return False
        return process.name() in SERVERS or process.environ().get("EVALQ_BENCH_MARKER") == self.marker

    def total(self, *, servers: bool) -> float:
        """Seconds of the engines, or of everything else."""
        return sum(spent for (_, name), spent in self.seconds.items() if (name in SERVERS) == servers)


def write_cases(folder: Path, cases: int) -> None:
    """An evalset of the echo task."""
    (folder / "evalsets" / "echo").mkdir(parents=True)
    lines = [
        json.dumps(
            {"id": f"c{i}", "inputs": {"q": f'say "token-{i}"'}, "expected": {"any_of": [f"token-{i}"]}}
        )
        for i in range(cases)
    ]
    (folder / "evalsets" / "echo" / "dev.jsonl").write_text("\n".join(lines))


def write_project(folder: Path, url: str, *, cases: int, judges: int, slots: int) -> None:
    """A task, an evalset and judges of the OpenAI protocol."""
    (folder / "tasks").mkdir()
    (folder / "tasks" / "echo.yaml").write_text(TASK)
    write_cases(folder, cases)
    price = {"input": 1, "output": 2}
    models = {
        f"judge-{i}": {"provider": "openai", "model": f"m{i}", "base_url": f"{url}/v1", "price": price}
        for i in range(judges)
    }
    settings = {"judges": models, "fleet": {"processes": 2, "slots": slots // 2}}
    (folder / "evalq.yaml").write_text(json.dumps(settings))


def clean_environment() -> dict[str, str]:
    """The environment without settings of evalq: a benchmark brings its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}


def run(folder: Path, meter: CpuMeter) -> tuple[float, dict[str, object]]:
    """One `evalq bake-off`; wall seconds and its result."""
    env = clean_environment() | {"EVALQ_BENCH_MARKER": meter.marker}
    watcher = threading.Thread(target=meter.watch, daemon=True)
    watcher.start()
    started = time.perf_counter()
    argv = [sys.executable, "-m", "evalq", "bake-off", "--task", "echo", "--eval-set", "dev", "--json"]
    judges = ",".join(json.loads((folder / "evalq.yaml").read_text())["judges"])
    done = subprocess.run(
        [*argv, "--judges", judges], cwd=folder, env=env, stdout=subprocess.PIPE, check=False
    )
    wall = time.perf_counter() - started
    meter.stopped.set()
    watcher.join()
    return wall, json.loads(done.stdout)


def main() -> None:
    """Print the figures of one workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("cases", 500), ("judges", 6), ("slots", 128), ("latency-ms", 200)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, running_simulator() as simulator:
        folder = Path(name)
        write_project(folder, simulator.url, cases=asked.cases, judges=asked.judges, slots=asked.slots)
        simulator.set_profiles({f"m{i}": {"latency_ms": asked.latency_ms} for i in range(asked.judges)})
        meter = CpuMeter()
        wall, result = run(folder, meter)
        report(asked, wall, result, meter, simulator)


def report(
    asked: argparse.Namespace, wall: float, result: dict[str, object], meter: CpuMeter, simulator: Simulator
) -> None:
    """Wall over ideal, CPU per call, calls seen."""
    calls = asked.cases * asked.judges
    ideal = calls * asked.latency_ms / 1000 / asked.slots
    ledger = simulator.ledger()
    print(f"{calls:,} calls of {asked.latency_ms} ms, {asked.slots} at once: ideal {ideal:.1f} s")
    print(f"wall {wall:.1f} s = {wall / ideal:.2f} × ideal, cold start to table, state {result['state']}")
    print(f"CPU {meter.total(servers=False) / calls * 1000:.1f} ms a call in evalq's processes")
    print(f"CPU {meter.total(servers=True) / calls * 1000:.1f} ms a call in Postgres and Valkey")
    twice = sum(1 for count in ledger["by_key"].values() if count > 1)
    print(f"seen by the provider: {ledger['requests']:,} requests, {twice} questions asked twice,", end=" ")
    print(f"at most {ledger['peak_in_flight']} in flight; calls by our journal: {result['calls']}")


if __name__ == "__main__":
    main()
