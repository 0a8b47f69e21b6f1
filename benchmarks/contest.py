"""One run of one contender on one workload, measured from outside: the provider, the kernel, the engines."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.echo_project import clean_environment
from benchmarks.engine_counts import Journal, ValkeyWatch, find_redeliveries, read_journal
from benchmarks.measurement import Measurement, Workload
from benchmarks.peers import Command, Contender
from benchmarks.tree_meter import TreeMeter
from evalq.engines.simulator.process import Simulator

TIMEOUT_S = 300
_RUN_TREE = Path(__file__).with_name("run_tree.py")
_SHOWN_LINES = 40


@dataclass(frozen=True)
class TreeReport:
    """What `run_tree` writes of a command; times are of the monotonic clock, which the provider reads too."""

    started: float
    ended: float
    quiet: float
    exit_code: int
    cpu_s: float


@dataclass(frozen=True)
class Traces:
    """What a bake-off left in its engines; empty for peers."""

    transactions: int = 0
    valkey_commands: Mapping[str, int] = field(default_factory=dict)


def run_once(contender: Contender, workload: Workload, simulator: Simulator) -> Measurement:
    """One run in a new folder, which is kept only if a question was asked twice."""
    simulator.reset()
    simulator.set_profiles({"*": {"latency_ms": workload.latency_ms}})
    folder = Path(tempfile.mkdtemp(prefix=f"bench-{contender.name}-"))
    command = contender.write(folder, workload, simulator.url)
    data_dir = folder / ".evalq"
    watch = ValkeyWatch(data_dir) if contender.name == "evalq" else nullcontext()
    with watch:
        report, meter = run_command(command, folder, contender)
    ledger = simulator.ledger()
    twice = [key for key, count in ledger["by_key"].items() if count > 1]
    traces = Traces()
    if isinstance(watch, ValkeyWatch) and (report.exit_code == 0 or twice):
        journal = read_journal(data_dir, twice)
        traces = Traces(journal.transactions, watch.commands)
        if twice:
            print_repeats(data_dir, twice, journal)
    if report.exit_code != 0:
        print(f"{contender.name} ended with code {report.exit_code}: {_last_words(folder)}", flush=True)
    if not (twice and contender.name == "evalq"):
        shutil.rmtree(folder, ignore_errors=True)
    return measure(contender, workload, report, meter=meter, ledger=ledger, traces=traces)


def run_command(command: Command, folder: Path, contender: Contender) -> tuple[TreeReport, TreeMeter]:
    """Run a command and all it starts to their end, with a meter on them."""
    report = folder / "tree.json"
    argv = [sys.executable, "-P", str(_RUN_TREE), str(report), str(TIMEOUT_S), *command.argv]
    env = {**clean_environment(), **command.env}
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(argv, cwd=folder, env=env, stdout=output, stderr=subprocess.STDOUT)
        try:
            with TreeMeter(process.pid, contender.name_part) as meter:
                process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    return TreeReport(**json.loads(report.read_text())), meter


def measure(
    contender: Contender,
    workload: Workload,
    report: TreeReport,
    *,
    meter: TreeMeter,
    ledger: Mapping[str, Any],
    traces: Traces,
) -> Measurement:
    """Put together what provider, kernel and engines say of one run."""
    first_at = ledger["first_at"] or report.ended
    last_at = ledger["last_at"] or report.ended
    seen = meter.cpu_s
    return Measurement(
        contender=contender.name,
        workload=workload,
        exit_code=report.exit_code,
        wall_s=report.ended - report.started,
        quiet_s=report.quiet - report.started,
        cpu_s={**seen, "unseen": max(0.0, report.cpu_s - sum(seen.values()))},
        peak_rss_mb=meter.peak_rss_mb,
        peak_total_mb=meter.peak_total_mb,
        calls=ledger["requests"],
        asked_twice=sum(count > 1 for count in ledger["by_key"].values()),
        peak_in_flight=ledger["peak_in_flight"],
        first_call_s=first_at - report.started,
        after_last_answer_s=report.ended - last_at - workload.latency_ms / 1000,
        transactions=traces.transactions,
        valkey_commands=traces.valkey_commands,
    )


def print_repeats(data_dir: Path, keys: list[str], journal: Journal) -> None:
    """Everything that may explain why questions were asked twice; the folder stays."""
    print(f"{len(keys)} questions asked twice; the data folder is kept: {data_dir}")
    print(f"journal by state: {journal.states}; jobs without an outcome: {journal.jobs_without_outcome}")
    print("job, key, attempt, state, fault, sent, settled, fence, losses")
    for row in journal.repeated[:_SHOWN_LINES]:
        print("  ", *row)
    for line in find_redeliveries(data_dir)[:_SHOWN_LINES]:
        print("  ", line)


def _last_words(folder: Path) -> str:
    lines = (folder / "output.txt").read_text("utf-8", "replace").strip().splitlines()
    return " | ".join(lines[-5:])
