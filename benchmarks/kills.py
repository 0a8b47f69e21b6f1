"""Workers killed in the middle of a bake-off: what is asked twice, what is lost, and whether the books agree.

`python -m benchmarks.kills [--kills 3]` kills; `python -m benchmarks.kills --runs 20` runs without kills and
counts the questions asked twice, which must be none.
"""

import argparse
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.contest import TIMEOUT_S, print_repeats, run_once
from benchmarks.echo_project import bake_off_arguments, clean_environment, write_project
from benchmarks.engine_counts import Journal, read_journal
from benchmarks.measurement import WORKLOADS, Workload
from benchmarks.peers import default_cache, find_evalq
from benchmarks.tree_meter import name_evalq_part
from benchmarks.workloads import shrink
from evalq.engines.data_folder import DataFolder
from evalq.engines.processes import identify, wait_until
from evalq.engines.simulator.process import Simulator, running_simulator

UNDER_FIRE = Workload("kills", judges=6, cases=300, latency_ms=200, at_once=128)
FLEET = {"processes": 2, "lease_s": 4}
_POLL_S = 0.02


@dataclass(frozen=True)
class Kill:
    """One SIGKILL: after how many calls it came, and how many the provider had open just before.

    `dropped` is by how many that fell with its end: roughly its own, since the other workers go on.
    """

    pid: int
    calls: int
    in_flight: int
    dropped: int


def kill_workers(
    command: "subprocess.Popen[bytes]", simulator: Simulator, data_dir: Path, *, calls: int, kills: int
) -> list[Kill]:
    """Kill a worker each time another share of the calls has been made; the supervisor replaces it."""
    made: list[Kill] = []
    while len(made) < kills and command.poll() is None:
        ledger = simulator.ledger()
        if ledger["requests"] >= calls * (len(made) + 1) // (kills + 1):
            workers = find_workers(data_dir)
            if workers:
                made.append(kill_one(workers[len(made) % len(workers)], simulator))
        time.sleep(_POLL_S)
    return made


def kill_one(pid: int, simulator: Simulator) -> Kill:
    """Kill a worker, and look at the provider's open calls right before and after."""
    before = simulator.ledger()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: identify(pid) is None, timeout_s=TIMEOUT_S)
    time.sleep(_POLL_S)  # the provider hears of it a moment later
    dropped = before["in_flight"] - simulator.ledger()["in_flight"]
    return Kill(pid, before["requests"], before["in_flight"], dropped)


def find_workers(data_dir: Path) -> list[int]:
    """The worker processes of the project's supervisor."""
    try:
        children = psutil.Process(DataFolder(data_dir).supervisor_pid()).children()
        return sorted(child.pid for child in children if name_evalq_part(child) == "workers")
    except psutil.Error:
        return []


@dataclass(frozen=True)
class Aftermath:
    """What a bake-off under fire came to, by the provider, the journal and `evalq fsck`."""

    kills: Sequence[Kill]
    exit_code: int
    wall_s: float
    counts: Mapping[str, int]
    journal: Journal
    fsck: "subprocess.CompletedProcess[str]"

    @property
    def repeats(self) -> int:
        """Calls the provider saw beyond one per question."""
        return sum(count - 1 for count in self.counts.values())

    @property
    def in_flight(self) -> int:
        """Calls open at the kills: so many may have been lost and repeated."""
        return sum(kill.in_flight for kill in self.kills)

    @property
    def is_clean(self) -> bool:
        """Whether every case has its outcome, the books agree, and no call was repeated without need."""
        is_complete = self.exit_code == 0 and self.journal.jobs_without_outcome == 0
        return is_complete and self.fsck.returncode == 0 and self.repeats <= self.in_flight


def run_under_fire(simulator: Simulator, workload: Workload, kills: int) -> int:
    """One bake-off with kills; prints what came of it, and returns 1 if a promise was broken."""
    simulator.reset()
    simulator.set_profiles({"*": {"latency_ms": workload.latency_ms}})
    folder = Path(tempfile.mkdtemp(prefix="bench-kills-"))
    size = {"cases": workload.cases, "judges": workload.judges, "slots": workload.at_once}
    write_project(folder, simulator.url, **size, fleet=FLEET)
    after = look_at_aftermath(folder, simulator, workload, kills)
    print_aftermath(after)
    if after.is_clean and len(after.kills) == kills:
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    print(after.fsck.stdout + after.fsck.stderr)
    twice = [key for key, count in after.counts.items() if count > 1]
    print_repeats(folder / ".evalq", twice, after.journal)
    return 1


def look_at_aftermath(folder: Path, simulator: Simulator, workload: Workload, kills: int) -> Aftermath:
    """Run the bake-off, kill its workers, then ask everyone who kept a record."""
    started = time.monotonic()
    made, exit_code = _bake_off(folder, simulator, workload, kills)
    wall_s = time.monotonic() - started
    counts = simulator.ledger()["by_key"]
    journal = read_journal(folder / ".evalq")
    return Aftermath(made, exit_code, wall_s, counts, journal, _evalq(folder, "fsck"))


def print_aftermath(after: Aftermath) -> None:
    """Print every kill, and what was repeated, lost or left unknown."""
    for kill in after.kills:
        print(f"killed {kill.pid} after {kill.calls} calls, {kill.in_flight} in flight", end=" ")
        print(f"of all workers, {kill.dropped} fewer when it was gone")
    print(f"the bake-off took {after.wall_s:.1f} s and ended with code {after.exit_code}")
    lost = after.journal.jobs_without_outcome
    print(f"journal by state: {after.journal.states}; {lost} jobs without an outcome")
    print(f"jobs by the number of workers lost with them: {after.journal.jobs_by_losses}")
    print(f"fsck ended with code {after.fsck.returncode}")
    print(f"{after.repeats} repeats seen by the provider, {after.in_flight} calls in flight at the kills")


def _bake_off(folder: Path, simulator: Simulator, workload: Workload, kills: int) -> tuple[list[Kill], int]:
    argv = [sys.executable, "-m", "evalq", *bake_off_arguments(workload.judges), "--display", "none"]
    with (folder / "output.txt").open("wb") as output:
        command = subprocess.Popen(
            argv, cwd=folder, env=clean_environment(), stdout=output, stderr=subprocess.STDOUT
        )
        made = kill_workers(command, simulator, folder / ".evalq", calls=workload.calls, kills=kills)
        try:
            return made, command.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            command.kill()
            return made, command.wait()


def _evalq(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "evalq", *arguments]
    return subprocess.run(
        argv, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False
    )


def run_in_peace(simulator: Simulator, workload: Workload, runs: int) -> int:
    """Bake-offs without kills; prints the questions asked twice, and returns 1 if there were any."""
    evalq = find_evalq(default_cache())
    twice = 0
    for number in range(1, runs + 1):
        run = run_once(evalq, dataclasses.replace(workload, name=f"run {number}"), simulator)
        twice += run.asked_twice
        print(
            f"run {number}: {run.calls} calls, {run.asked_twice} asked twice, {run.wall_s:.1f} s", flush=True
        )
    print(f"{twice} questions asked twice in {runs} runs of {workload.calls:,} calls, nothing killed")
    return int(twice > 0)


def main() -> int:
    """Print what came of it; exit code 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=3, help="of one run")
    parser.add_argument("--runs", type=int, default=0, help="so many runs of W2 without kills instead")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases; for a quick look")
    asked = parser.parse_args()
    with running_simulator() as simulator:
        if asked.runs:
            return run_in_peace(simulator, shrink(WORKLOADS["W2"], asked.share), asked.runs)
        return run_under_fire(simulator, shrink(UNDER_FIRE, asked.share), asked.kills)


if __name__ == "__main__":
    sys.exit(main())
