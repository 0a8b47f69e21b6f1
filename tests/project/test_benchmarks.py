"""The figures of `make bench`: medians, ratios, tables, the README's quote, and whose CPU a stack is."""

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run_tree
from benchmarks.measurement import Measurement, Workload, collect_series
from benchmarks.peers import Contender, promptfoo_config
from benchmarks.results_page import (
    MARKERS,
    Setting,
    render_page,
    render_quote,
    render_ratios,
    render_table,
    replace_quote,
)
from benchmarks.worker_profile import count_parts, name_part
from benchmarks.workloads import shrink, take_turns

ROOT = Path(__file__).parents[2]
WORK = Workload("W9", judges=2, cases=50, latency_ms=100, at_once=10)
SETTING = Setting("2030-01-01", "2 cores, 4 GB", (0.1, 0.2), {"evalq": "1"}, {"promptfoo": "no npm"})


def measurement(contender: str, wall_s: float, **other: object) -> Measurement:
    made = Measurement(
        contender=contender,
        workload=WORK,
        exit_code=0,
        wall_s=wall_s,
        quiet_s=wall_s + 1,
        cpu_s={"workers": 0.3, "Postgres": 0.1},
        peak_rss_mb={"workers": 80.0},
        peak_total_mb=200.0,
        calls=100,
        asked_twice=0,
        peak_in_flight=10,
        first_call_s=0.5,
        after_last_answer_s=0.25,
        transactions=50,
        valkey_commands={"evalsha": 7, "lpush": 3},
    )
    return dataclasses.replace(made, **other)


def test_the_ideal_is_the_waiting_alone() -> None:
    assert (WORK.calls, WORK.ideal_s) == (100, 1.0)


def test_a_series_has_the_median_of_its_complete_runs() -> None:
    walls = (2.0, 9.0, 3.0)
    runs = [measurement("evalq", wall) for wall in walls]
    failed = [measurement("evalq", 0.1, exit_code=1), measurement("evalq", 0.1, calls=99)]
    [series] = collect_series([*runs, *failed])
    assert series.median(lambda run: run.times_ideal) == 3.0
    assert series.spread(lambda run: run.wall_s) == (2.0, 9.0)
    assert series.n_incomplete == 2


def test_a_series_without_a_complete_run_has_no_median() -> None:
    [series] = collect_series([measurement("openai", 1.0, exit_code=1)])
    assert math.isnan(series.median(lambda run: run.wall_s))
    assert "| openai | – |" in render_page(SETTING, [series])


def test_a_part_that_a_run_lacks_counts_nothing_in_it() -> None:
    runs = [measurement("evalq", 1.0, cpu_s=cpu) for cpu in ({"CLI": 4.0}, {"CLI": 1.0, "workers": 6.0}, {})]
    [series] = collect_series(runs)
    assert series.median_by_part(lambda run: run.cpu_s) == {"CLI": 1.0, "workers": 0.0}


def test_cpu_a_call_is_that_of_all_parts() -> None:
    assert measurement("evalq", 1.0).cpu_ms_a_call == pytest.approx(4.0)


def test_ratios_are_to_the_ideal_and_to_evalq() -> None:
    series = collect_series([measurement("evalq", 2.0), measurement("promptfoo", 5.0)])
    assert render_ratios(series).splitlines()[-1] == "| W9 | 2.00 | 5.00 (2.50) |"


def test_a_table_has_one_cell_per_column_in_every_row() -> None:
    lines = render_table(["a", "b"], [["1", "2"], ["3", "4"]]).splitlines()
    assert lines == ["| a | b |", "| --- | ---: |", "| 1 | 2 |", "| 3 | 4 |"]


def test_the_page_says_what_was_counted_and_what_was_left_out() -> None:
    page = render_page(SETTING, collect_series([measurement("evalq", 2.0)]), ["## More"])
    assert "Not measured: promptfoo (no npm)." in page
    assert "SQL transactions per 1,000 jobs: 500" in page
    assert "100 (evalsha 70, lpush 30)" in page
    assert page.endswith("## More\n")


def test_the_quote_replaces_what_is_between_the_markers_and_nothing_else() -> None:
    opening, closing = MARKERS
    text = f"before\n{opening}\nold\nlines\n{closing}\nafter\n"
    once = replace_quote(text, "new")
    assert once == f"before\n{opening}\nnew\n{closing}\nafter\n"
    assert replace_quote(once, "new") == once


@pytest.mark.parametrize("text", ["none", "{0}", "{1} {0}", "{0} {1} {0} {1}"])
def test_a_text_without_a_place_for_the_quote_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        replace_quote(text.format(*MARKERS), "new")


def test_the_readme_has_room_for_the_quote_of_four_workloads() -> None:
    runs = [dataclasses.replace(measurement("evalq", 2.0), workload=work) for work in _four_workloads()]
    quoted = replace_quote(
        (ROOT / "README.md").read_text("utf-8"), render_quote(SETTING, collect_series(runs))
    )
    assert len(quoted.splitlines()) < 150


def _four_workloads() -> list[Workload]:
    return [dataclasses.replace(WORK, name=f"W{number}") for number in range(4)]


def test_evalq_has_its_turn_before_every_peer() -> None:
    contenders = [Contender(name, "", lambda *_: pytest.fail("not run")) for name in ("evalq", "a", "b")]
    assert [one.name for one in take_turns(contenders, 2, 2)] == ["evalq", "a", "evalq", "b"] * 2
    assert [one.name for one in take_turns(contenders, 3, 1)] == ["evalq", "a", "evalq", "b", "evalq"]
    assert [one.name for one in take_turns(contenders[:1], 2, 1)] == ["evalq", "evalq"]


def test_a_smaller_workload_never_has_more_calls_at_once_than_calls() -> None:
    assert shrink(WORK, 0.04) == dataclasses.replace(WORK, cases=2, at_once=4)


def test_a_stack_belongs_to_the_innermost_part_in_it() -> None:
    loop = "run_forever (asyncio/base_events.py:607);run_case (workers/jobs.py:40)"
    stacks = {
        f"{loop};claim (evalq/store/batches.py:9);loads (json/__init__.py:1)": "store",
        f"{loop};_fetch (evalq/engines/async_scripts.py:9)": "limiter",
        f"{loop};post (openai/_base_client.py:9);send (httpx2/_client.py:9)": "transport",
        loop: "rest of a job",
        "poll (kombu/utils/eventio.py:81)": "celery, kombu",
        "<module> (site.py:1)": "other",
    }
    assert {stack: name_part(stack) for stack in stacks} == stacks
    assert count_parts([f"{loop} 3", f"{loop} 4"]) == {"rest of a job": 7}


def test_promptfoo_gets_every_case_once_and_as_many_at_once() -> None:
    config = json.loads(json.dumps(promptfoo_config(WORK, "http://127.0.0.1:1")))
    assert (len(config["providers"]), len(config["tests"])) == (WORK.judges, WORK.cases)
    assert config["evaluateOptions"]["maxConcurrency"] == WORK.at_once
    assert config["tests"][3]["vars"]["q"] == 'say "token-3"'


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_the_cpu_of_a_process_left_behind_is_counted_and_its_end_awaited(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    leave = (
        f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {burn!r}], start_new_session=True)"
    )
    report = tmp_path / "tree.json"
    argv = [sys.executable, "-P", str(run_tree.__file__), str(report), "300", sys.executable, "-c", leave]
    subprocess.run(argv, check=True)
    facts = json.loads(report.read_text())
    assert facts["exit_code"] == 0
    assert facts["cpu_s"] >= 0.5
    assert facts["started"] < facts["ended"] <= facts["quiet"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_a_command_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    report = tmp_path / "tree.json"
    command = ["sh", "-c", "sleep 3600 & sleep 3600"]
    subprocess.run([sys.executable, "-P", str(run_tree.__file__), str(report), "0.5", *command], check=True)
    assert json.loads(report.read_text())["exit_code"] == -9
