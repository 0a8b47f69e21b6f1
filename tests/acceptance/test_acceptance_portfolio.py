"""Several tasks in one command: one bake-off after the other under one cap, then dollars against quality."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

SETTINGS = """\
fleet: {processes: 1, slots: 16}
judges:
  good: {provider: simulated, model: good, accuracy: 0.95, time_scale: 0, price: {input: 5, output: 25}}
  poor: {provider: simulated, model: poor, accuracy: 0.2, time_scale: 0, price: {input: 1, output: 5}}
  mute:
    {provider: simulated, model: mute, misbehaviour: {empty: 1}, time_scale: 0, price: {input: 1, output: 5}}
  slow: {provider: simulated, model: slow, latency_ms: {p50: 300, p95: 400}, price: {input: 1, output: 5}}
  dear: {provider: simulated, model: dear, time_scale: 0, price: {input: 1000, output: 0}}
  unknown: {provider: simulated, model: unknown, time_scale: 0, price: {input: 1000, output: 0}}
"""
TASK = """\
name: {name}
system_prompt: Answer with one word.
user_template: "What is the capital of {{country}}?"
scoring: {{mode: strict_substring, pass_rule: exact_match}}
max_tokens: 16
"""
THREE = ("bake-off", "--task", "rivers,capitals,towns", "--judges")


def add_task(project: Any, name: str, **sets: int) -> None:
    project.write(f"tasks/{name}.yaml", TASK.format(name=name))
    for set_name, n_cases in sets.items():
        cases = [
            {"id": f"c{i}", "inputs": {"country": f"{name} {i}"}, "expected": {"answer": f"answer {i}"}}
            for i in range(n_cases)
        ]
        project.write(f"evalsets/{name}/{set_name.replace('_', '-')}.json", json.dumps({"cases": cases}))


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any]) -> Any:
    """Three tasks, of twelve, twelve and thirty cases."""
    project = new_project(SETTINGS)
    add_task(project, "rivers", dev_12=12)
    add_task(project, "towns", dev_12=12, more=30)
    return project


@pytest.fixture(scope="module")
def idle(new_project: Callable[..., Any]) -> Any:
    """The same tasks in a project in which nothing has run."""
    project = new_project(SETTINGS)
    add_task(project, "rivers", dev_12=12)
    add_task(project, "towns", dev_12=12, more=30)
    return project


def spent(document: dict[str, Any]) -> Decimal:
    return sum((Decimal(task["spent_usd"]) for task in document["tasks"]), Decimal(0))


def test_three_tasks_in_one_command_come_to_one_document(served: Any) -> None:
    document = served.bake(*THREE, "good,poor,mute", "--eval-set", "towns=more", code=3)
    assert document["schema"] == "evalq.portfolio/1"
    ended = [(task["task"], task["eval_set"], task["state"], task["n_done"]) for task in document["tasks"]]
    assert ended == [
        ("rivers", "dev-12", "concluded", 36),
        ("capitals", "dev-12", "concluded", 36),
        ("towns", "more", "concluded", 90),
    ]
    assert (document["not_started"], document["cap_usd"]) == ([], "5.00")
    assert Decimal(document["spent_usd"]) == spent(document) > 0
    frontier = document["frontier"]
    assert set(frontier["per_task"]) == {"rivers", "capitals", "towns"}
    overall = {offer["judge"]: offer for offer in frontier["overall"]}
    assert set(overall) == {"good", "poor"}
    rates = [offers["accuracy"] for task in frontier["per_task"].values() for offers in task[1:]]
    assert overall["good"]["accuracy"] == pytest.approx(sum(rates) / 3, abs=1e-4)
    assert overall["good"]["ci_low"] < overall["good"]["accuracy"] <= overall["good"]["ci_high"]
    assert all(offer["on_frontier"] for offer in overall.values())
    assert Decimal(overall["poor"]["usd_per_case"]) < Decimal(overall["good"]["usd_per_case"])
    assert frontier["comparisons"][0]["separable"]
    assert {(left["task"], left["judge"]) for left in frontier["excluded"]} == {
        ("rivers", "mute"),
        ("capitals", "mute"),
        ("towns", "mute"),
    }
    ids = ",".join(str(task["id"]) for task in document["tasks"])
    assert document["next"] == [f"evalq frontier {ids}"]
    again = served.bake("frontier", ids)
    assert (again["frontier"], again["spent_usd"]) == (frontier, document["spent_usd"])


def test_every_task_has_its_table_and_the_frontier_follows(served: Any) -> None:
    done = served.run(*THREE, "good,poor", "--eval-set", "dev-12", "-o", "all.json")
    assert done.returncode == 0, done.stderr
    headings = re.findall(r"^# bake-off\t\d+\t(\w+)\tdev-12$", done.stdout, re.MULTILINE)
    assert headings == ["rivers", "capitals", "towns"]
    rows = [line.split("\t")[:2] for line in done.stdout.partition("\ntask\tjudge\t")[2].splitlines()[1:]]
    assert rows[:8:2] == [[task, "poor"] for task in ("rivers", "capitals", "towns", "overall")]
    assert "3 tasks: 72 calls, est. $" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("next  evalq frontier ")
    written = json.loads((served.folder / "all.json").read_text("utf-8"))
    assert written["schema"] == "evalq.portfolio/1"


def test_all_tasks_are_those_of_the_project(served: Any) -> None:
    document = served.bake("bake-off", "--all-tasks", "--judges", "good")
    assert [task["task"] for task in document["tasks"]] == ["capitals", "rivers", "towns"]
    assert [offer["judge"] for offer in document["frontier"]["overall"]] == ["good"]


def test_the_first_set_is_taken_when_none_is_named(served: Any) -> None:
    assert served.bake("bake-off", "--task", "towns", "--judges", "good")["eval_set"] == "dev-12"


def test_one_cap_holds_for_all_and_stops_the_second_task(served: Any) -> None:
    # Twelve questions are projected at about 0.16 and cost 0.25: three fit the cap by projection, one and a
    # part of the second by what they cost.
    document = served.bake(*THREE, "dear", "--eval-set", "dev-12", "--max-cost-usd", "0.5", code=4)
    assert [task["state"] for task in document["tasks"]] == ["concluded", "capped"]
    assert (document["not_started"], document["cap_usd"]) == (["towns"], "0.50")
    first, second = (Decimal(task["spent_usd"]) for task in document["tasks"])
    assert Decimal(document["tasks"][1]["cap_usd"]) == Decimal("0.5") - first
    assert 0 < first + second <= Decimal("0.5")
    stopped = document["tasks"][1]["id"]
    assert document["next"][0].startswith(f"evalq resume {stopped} --max-cost-usd ")
    assert document["next"][1] == "evalq bake-off --task towns --eval-set dev-12 --judges dear"
    assert any("not started: towns" in warning for warning in document["warnings"])


def test_a_task_the_rest_of_the_cap_cannot_pay_for_is_not_started(served: Any) -> None:
    # After the first task less is left than the thirty questions of the second are projected at.
    # The judge has answered nothing before: its costs are a guess.
    tasks = ("bake-off", "--task", "rivers,towns", "--eval-set", "rivers=dev-12,towns=more", "--judges")
    document = served.bake(*tasks, "unknown", "--max-cost-usd", "0.6", code=4)
    assert [task["state"] for task in document["tasks"]] == ["concluded"]
    assert document["not_started"] == ["towns"]


def test_a_projection_of_all_tasks_over_the_cap_is_refused_before_the_first_call(idle: Any) -> None:
    done = idle.run(*THREE, "dear", "--eval-set", "dev-12", "--max-cost-usd", "0.4")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.search(r"cost of all 3 tasks \$0\.\d+ exceeds the cap \$0\.40", done.stderr)
    assert not idle.data_dir.exists()


def test_a_dry_run_prices_all_tasks_and_calls_nothing(idle: Any) -> None:
    done = idle.run(*THREE, "good", "--dry-run")
    assert done.returncode == 0
    assert "What is the capital of rivers 0?" in done.stdout
    assert done.stderr.count("1 judge: 12 calls") == 3
    assert not idle.data_dir.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*THREE[:2], "rivers,nowhere,townz", "--judges", "good"), ["no task 'nowhere'", "no task 'townz'"]),
        ((*THREE, "good", "--eval-set", "more"), ["no evalset 'more'", "capitals", "rivers"]),
        ((*THREE, "nobody"), ["no judge 'nobody'"]),
        (THREE[:3], ["no judge is named"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    idle: Any, arguments: tuple[str, ...], words: list[str]
) -> None:
    done = idle.run(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert all(each in done.stderr for each in words)
    assert "Traceback" not in done.stderr
    assert not idle.data_dir.exists()


def test_bake_offs_of_one_task_make_no_frontier(served: Any) -> None:
    done = served.run("frontier", "last,last")
    assert (done.returncode, done.stdout) == (2, "")
    assert "name one per task" in done.stderr


def test_detached_tasks_run_at_once_each_under_its_share_of_the_cap(served: Any) -> None:
    done = served.run(*THREE, "good,poor", "--detach", "--max-cost-usd", "1")
    assert done.returncode == 0, done.stderr
    ids = done.stdout.split()
    assert len(ids) == 3
    assert done.stderr.splitlines()[-1] == f"next  evalq frontier {','.join(ids)}"
    caps = served.rows("SELECT cap_usd, cap_usd > 0 FROM bakeoffs WHERE id = ANY(%s)", [int(i) for i in ids])
    assert sum(cap for cap, _ in caps) <= 1
    assert all(is_some for _, is_some in caps)
    assert [served.bake("watch", each)["state"] for each in ids] == ["concluded"] * 3


def test_ctrl_c_pauses_the_task_under_way_and_says_how_to_run_the_rest(new_project: Any) -> None:
    project = new_project(SETTINGS, EVALQ_FLEET_SLOTS="2")
    project.write_cases("dev-12", 40)
    add_task(project, "rivers", dev_12=12)
    add_task(project, "towns", dev_12=12)
    command = project.start(
        "bake-off", "--task", "capitals,rivers,towns", "--judges", "slow", "--display", "plain"
    )
    assert command.says(r"[1-9]\d% "), command.stderr.read_text("utf-8")
    command.interrupt()
    assert command.end() == 130
    said = command.stderr.read_text("utf-8")
    assert "not started: rivers, towns" in said
    assert command.stdout.read_text("utf-8") == ""
    resume, rest = re.findall(r"^next  evalq (.*)$", said, re.MULTILINE)
    (paused,) = project.bake("runs")
    assert (paused["state"], 0 < paused["done"] < 40) == ("paused", True)
    caps = [Decimal(words.rpartition("--max-cost-usd ")[2]) for words in (resume, rest)]
    assert Decimal("4.99") < sum(caps) <= 5
    project.settings = {}
    resumed = project.bake(*resume.split())
    assert (resumed["id"], resumed["state"], resumed["n_done"]) == (paused["id"], "concluded", 40)
    others = project.bake(*rest.split())
    assert [task["task"] for task in others["tasks"]] == ["rivers", "towns"]
