"""evalq beside its peers on one mock provider: wall over ideal, CPU a call, memory, calls asked twice.

`python -m benchmarks.workloads [W1 W2 W3 W4] [--runs 3] [--peer-runs 1] [--peers …] [--growth] [--processes]`
"""

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.contest import run_once
from benchmarks.machine import describe_machine, measure_speed
from benchmarks.measurement import GROWTH, WORKLOADS, Measurement, Series, Workload, collect_series
from benchmarks.peers import CONTENDERS, Contender, InstallFailed, default_cache, find_evalq
from benchmarks.results_page import Setting, render_growth, render_page, render_quote, replace_quote
from evalq.engines.simulator.process import Simulator, running_simulator

PROCESSES = (1, 2, 4)
SLOW_PEERS = ("openai", "inspect_ai")
SLOW_PEERS_TAKE = ("W1", "W2")
"""Each of the others would take them five minutes or more a run."""

_WARM_UP = Workload("warm-up", judges=1, cases=4, latency_ms=10, at_once=4)


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=f"some of {', '.join(WORKLOADS)}")
    parser.add_argument("--runs", type=int, default=3, help="of evalq on every workload, at least")
    parser.add_argument("--peer-runs", type=int, default=1, help="of every peer, and of growth and processes")
    parser.add_argument("--peers", default=",".join(CONTENDERS), help="evalq is always one of them")
    parser.add_argument("--growth", action="store_true", help="evalq on 1k, 10k and 100k calls")
    parser.add_argument("--processes", action="store_true", help="evalq's W3 with 1, 2 and 4 processes")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases; for a quick look")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where peers are installed")
    parser.add_argument("--results", type=Path, help="write the page here")
    parser.add_argument("--readme", type=Path, help="quote the ratios between its markers")
    asked = parser.parse_args(argv)
    unknown = {*asked.names} - {*WORKLOADS} | {*asked.peers.split(",")} - {*CONTENDERS}
    if unknown:
        known = ", ".join((*WORKLOADS, *CONTENDERS))
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {known}")
    return asked


def install_all(names: Sequence[str], cache: Path) -> tuple[list[Contender], dict[str, str]]:
    """Those that could be installed, evalq first, and why the others could not."""
    found, absent = [], {}
    for name in dict.fromkeys(["evalq", *names]):
        try:
            contender = CONTENDERS[name](cache)
        except InstallFailed as exc:
            absent[name] = str(exc)
            print(f"{name} is left out: {exc}", flush=True)
            continue
        print(f"{name} {contender.version}", flush=True)
        found.append(contender)
    return found, absent


def take_turns(contenders: Sequence[Contender], runs: int, peer_runs: int) -> Iterator[Contender]:
    """evalq before every run of a peer, so that both meet the machine in the same mood; `runs` at least."""
    evalq, *peers = contenders
    for peer in peers * peer_runs:
        yield evalq
        yield peer
    for _ in range(runs - len(peers) * peer_runs):
        yield evalq


def shrink(workload: Workload, share: float) -> Workload:
    """The same workload with fewer cases, and never more calls at once than there are."""
    cases = max(1, round(workload.cases * share))
    at_once = min(workload.at_once, workload.judges * cases)
    return dataclasses.replace(workload, cases=cases, at_once=at_once)


def run_and_print(contender: Contender, workload: Workload, simulator: Simulator) -> Measurement:
    """One run and its line."""
    run = run_once(contender, workload, simulator)
    print(
        f"{workload.name:<5} {run.contender:<11} {run.times_ideal:6.2f} × ideal  {run.wall_s:6.1f} s  "
        f"{run.cpu_ms_a_call:6.2f} ms CPU a call  {run.peak_in_flight:5} in flight  "
        f"{run.peak_total_mb:5.0f} MB  {run.calls} calls  {run.asked_twice} twice",
        flush=True,
    )
    return run


def compare(asked: argparse.Namespace, contenders: Sequence[Contender], simulator: Simulator) -> list[Series]:
    """All contenders on the workloads that were asked for; on all, if nothing in particular was."""
    names = asked.names
    if not names and not (asked.growth or asked.processes):
        names = list(WORKLOADS)
    runs = []
    for name in names:
        workload = shrink(WORKLOADS[name], asked.share)
        print(f"\n{workload.describe()}", flush=True)
        able = [one for one in contenders if one.name not in SLOW_PEERS or name in SLOW_PEERS_TAKE]
        for one in take_turns(able, asked.runs, asked.peer_runs):
            runs.append(run_and_print(one, workload, simulator))
    return collect_series(runs)


def measure_growth(asked: argparse.Namespace, simulator: Simulator) -> str:
    """evalq alone on more and more calls."""
    series = {}
    for workload in GROWTH:
        smaller = shrink(workload, asked.share)
        runs = [run_and_print(find_evalq(asked.cache), smaller, simulator) for _ in range(asked.peer_runs)]
        [series[f"{smaller.calls:,} calls"]] = collect_series(runs)
    return render_growth("evalq on more and more calls of 50 ms, 256 at once", series)


def measure_processes(asked: argparse.Namespace, simulator: Simulator) -> str:
    """evalq alone with more and more worker processes."""
    series = {}
    workload = shrink(WORKLOADS["W3"], asked.share)
    for processes in PROCESSES:
        evalq = find_evalq(asked.cache, processes=processes)
        runs = [run_and_print(evalq, workload, simulator) for _ in range(asked.peer_runs)]
        [series[f"{processes} processes"]] = collect_series(runs)
    return render_growth(f"evalq with more and more processes: {workload.describe()}", series)


def main() -> None:
    """Measure what was asked for; print it, and write it where that was asked for."""
    asked = parse_arguments()
    contenders, absent = install_all(asked.peers.split(","), asked.cache)
    before = measure_speed()
    with running_simulator() as simulator:
        # The first bake-off of a machine prepares a database that all later ones copy.
        run_once(contenders[0], _WARM_UP, simulator)
        series = compare(asked, contenders, simulator)
        sections = []
        for is_wanted, section in ((asked.growth, measure_growth), (asked.processes, measure_processes)):
            if is_wanted:
                sections.append(section(asked, simulator))
    versions = {one.name: one.version for one in contenders}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    setting = Setting(today, describe_machine(), (before, measure_speed()), versions, absent)
    publish(asked, setting, series, sections)


def publish(
    asked: argparse.Namespace, setting: Setting, series: Sequence[Series], sections: Sequence[str]
) -> None:
    """Print the page, write it, quote it."""
    page = render_page(setting, series, sections)
    print(f"\n{page}")
    if asked.results:
        asked.results.write_text(page, "utf-8")
    if asked.readme and series:
        text = asked.readme.read_text("utf-8")
        asked.readme.write_text(replace_quote(text, render_quote(setting, series)), "utf-8")


if __name__ == "__main__":
    main()
