"""Where a job's CPU goes: W2 on one worker, its stacks sampled by py-spy and grouped by part."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

from benchmarks.contest import TIMEOUT_S
from benchmarks.echo_project import bake_off_arguments, clean_environment, write_project
from benchmarks.kills import find_workers
from benchmarks.measurement import WORKLOADS, Workload
from benchmarks.peers import InstallFailed, default_cache, install_program
from benchmarks.results_page import render_table
from benchmarks.workloads import shrink
from evalq.engines.simulator.process import Simulator, running_simulator

CELERY_MODULES = ("workers/pool", "workers/consumer", "workers/chords", "workers/process")
# By the beginning of a file's path within its package; the first match counts.
PARTS = {
    "limiter": ("evalq/calling/rate_limit", "evalq/engines/async_scripts"),
    "transport": ("evalq/calling/providers/transport", "evalq/calling/providers/wire", "httpx2/"),
    "store": ("evalq/store/", "psycopg/", "psycopg_pool/"),
    "SDK": ("openai/",),
    "grading": ("evalq/grading/",),
    "celery, kombu": ("celery/", "kombu/", "vine/", "billiard/", "evalq/engines/", *CELERY_MODULES),
    "rest of a job": ("workers/", "evalq/"),
    "asyncio": ("asyncio/", "selectors.py"),
}
OTHER = "other"
_RATE = 200
_POLL_S = 0.05
_SHOWN_FUNCTIONS = 15


def name_part(stack: str) -> str:
    """The part of one stack, outermost frame first: that of the innermost frame which belongs to a part.

    What belongs to none, such as a JSON parser, counts for its caller.
    """
    for frame in reversed(stack.split(";")):
        file = frame.rpartition("(")[2]
        for part, places in PARTS.items():
            if file.startswith(places):
                return part
    return OTHER


def count_parts(lines: Iterable[str]) -> "Counter[str]":
    """Samples by part, from py-spy's raw lines: a stack, a space, how often it was seen."""
    counts: Counter[str] = Counter()
    for line in lines:
        stack, _, seen = line.rpartition(" ")
        counts[name_part(stack)] += int(seen)
    return counts


def count_leaves(lines: Iterable[str]) -> "Counter[str]":
    """Samples by innermost function."""
    counts: Counter[str] = Counter()
    for line in lines:
        stack, _, seen = line.rpartition(" ")
        counts[stack.rpartition(";")[2]] += int(seen)
    return counts


def profile(folder: Path, py_spy: Path, simulator: Simulator, workload: Workload) -> tuple[list[str], float]:
    """Run the workload on one worker; py-spy's raw lines, and the CPU seconds of the worker."""
    simulator.set_profiles({"*": {"latency_ms": workload.latency_ms}})
    write_project(
        folder,
        simulator.url,
        cases=workload.cases,
        judges=workload.judges,
        slots=workload.at_once,
        fleet={"processes": 1},
    )
    argv = [sys.executable, "-m", "evalq", *bake_off_arguments(workload.judges), "--display", "none"]
    null = subprocess.DEVNULL
    command = subprocess.Popen(argv, cwd=folder, env=clean_environment(), stdout=null, stderr=null)
    worker = _wait_for_worker(command, folder / ".evalq")
    stacks = folder / "stacks.txt"
    # Only threads that hold the interpreter: those that wait for work are not told apart reliably otherwise.
    record = [str(py_spy), "record", "--gil", "--pid", str(worker.pid), "--format", "raw", "--function"]
    sampler = subprocess.Popen(
        [*record, "--rate", str(_RATE), "--output", str(stacks)], stdout=null, stderr=null
    )
    cpu_s = _follow_cpu(worker)
    sampler.wait(TIMEOUT_S)
    command.wait(TIMEOUT_S)
    return stacks.read_text("utf-8").splitlines(), cpu_s


def _wait_for_worker(command: "subprocess.Popen[bytes]", data_dir: Path) -> psutil.Process:
    while command.poll() is None:
        if workers := find_workers(data_dir):
            return psutil.Process(workers[0])
        time.sleep(_POLL_S)
    raise SystemExit(f"the bake-off ended with code {command.returncode} before it had a worker")


def _follow_cpu(process: psutil.Process) -> float:
    """CPU seconds of a process at its end, as far as one can look."""
    spent = 0.0
    try:
        while process.status() != psutil.STATUS_ZOMBIE:
            times = process.cpu_times()
            spent = times.user + times.system
            time.sleep(_POLL_S)
    except psutil.NoSuchProcess:
        pass
    return spent


def render_profile(lines: Sequence[str], cpu_s: float, calls: int) -> str:
    """A table of the parts with their share of the samples, and the functions seen most often.

    The samples are of threads that hold the interpreter; system calls, which do not, are shared out alike.
    """
    parts = count_parts(lines)
    total = max(1, parts.total())
    rows = []
    for part, seen in parts.most_common():
        rows.append([part, f"{seen / total:.1%}", f"{seen / total * cpu_s * 1000 / calls:.3f}"])
    table = render_table(["part of the worker", "share", "CPU ms a call"], rows)
    leaves = [
        f"{seen / total:6.1%}  {leaf}" for leaf, seen in count_leaves(lines).most_common(_SHOWN_FUNCTIONS)
    ]
    return "\n".join([table, "", f"{total} samples; innermost functions seen most often:", *leaves])


def main() -> None:
    """Print the profile of one worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.2, help="of W2's cases")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where py-spy is installed")
    asked = parser.parse_args()
    try:
        py_spy = install_program(asked.cache, "py-spy")
    except InstallFailed as exc:
        sys.exit(f"py-spy cannot be installed: {exc}")
    workload = shrink(WORKLOADS["W2"], asked.share)
    folder = Path(tempfile.mkdtemp(prefix="bench-profile-"))
    with running_simulator() as simulator:
        lines, cpu_s = profile(folder, py_spy, simulator, workload)
    print(f"{workload.describe()}, one worker: {cpu_s * 1000 / workload.calls:.2f} ms CPU a call in it\n")
    print(render_profile(lines, cpu_s, workload.calls))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
