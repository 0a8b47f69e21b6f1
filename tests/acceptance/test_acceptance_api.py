"""The Python API: the same bake-off from a script or a notebook."""

import json
from typing import Any

IN_A_LOOP = """\
import asyncio, json
import evalq

async def main():
    seen = []
    baked = evalq.bake_off(task="capitals", eval_set="dev-12", judges=["poor", "good", "mute"],
                           max_cost_usd=1, on_progress=seen.append)
    print(json.dumps({
        "id": baked.id, "state": baked.state, "judges": [run.judge for run in baked.runs],
        "document": baked.to_dict(), "rows": baked.to_rows(), "done": seen[-1].done,
    }, default=str))

asyncio.run(main())
"""
AS_VALUES = """\
import asyncio, json, threading, warnings
import evalq
from evalq.errors import EvalqError

seen = []

def recall(inputs):
    seen.append(threading.current_thread().name)
    if inputs["country"] == "country 3":
        raise LookupError("nothing under three")
    return inputs["country"].replace("country", "capital")

async def guess(inputs):
    return {"answer": "capital 1", "cost_usd": 0}

cases = [
    {"id": f"c{i}", "country": f"country {i}", "expected": f"capital {i}"}
    for i in range(12)
]
baked = asyncio.run(
    evalq.bake_off_async(task="The capital of {country}?", eval_set=cases, judges=[recall, guess, "mute"])
)
loaded = evalq.load("last")
frame = baked.to_frame()
failed = baked.cases("failures", judge="recall")
try:
    baked.cases(judge="god")
except EvalqError as exc:
    refused = str(exc)
print(json.dumps({
    "id": baked.id, "loaded": loaded == baked, "printed": str(baked), "html": baked._repr_html_(),
    "passed": {run.judge: [run.n_pass, run.n_fail, run.n_error] for run in baked.runs},
    "in_this_process": len(seen), "rows": len(frame), "columns": list(frame.columns),
    "verdicts": frame.groupby("judge")["verdict"].value_counts().to_dict().__len__(),
    "failed": [(case.case_id, answer.answer_text) for case in failed for answer in case.answers],
    "disagreements": len(baked.cases("disagreements")), "refused": refused,
    "reports": [loaded.report(f"x{end}").read_text()[:15] for end in (".html", ".md", ".csv")],
}))
"""
CANCELLED = """\
import asyncio
import evalq

async def main():
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(evalq.bake_off_async(
        task="capitals", eval_set="dev-12", judges=["slow"], samples=50,
        on_progress=lambda progress: progress.done and loop.call_soon_threadsafe(begun.set),
    ))
    await begun.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", evalq.load("last").state)

asyncio.run(main())
"""
WRONG = """\
import evalq
from evalq.errors import CapReached, InputError

for wrong in ({"judges": ["god"]}, {"samples": 0}, {"max_cost_usd": 0}):
    try:
        evalq.bake_off(**{"task": "capitals", "eval_set": "dev-12", "judges": ["good"], **wrong})
    except (InputError, CapReached) as exc:
        print(type(exc).__name__)
"""


def test_a_bake_off_in_a_running_event_loop_returns_what_it_came_to(project: Any) -> None:
    done = project.python("-c", IN_A_LOOP)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["state"], said["judges"], said["done"]) == ("concluded", ["good", "poor", "mute"], 36)
    assert said["document"] == project.bake("inspect", str(said["id"]))
    rows = {row["judge"]: row for row in said["rows"]}
    assert (rows["good"]["task"], rows["good"]["n_cases"], rows["mute"]["accuracy"]) == ("capitals", 12, None)
    assert all(not isinstance(value, dict | list) for row in said["rows"] for value in row.values())
    assert project.is_quiet()


def test_functions_and_lists_are_judges_and_cases_and_their_answers_can_be_read(project: Any) -> None:
    done = project.python("-c", AS_VALUES)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["passed"] == {"recall": [11, 0, 1], "guess": [1, 11, 0], "mute": [0, 0, 12]}
    assert (said["loaded"], said["in_this_process"], said["rows"]) == (True, 12, 36)
    assert {"case_id", "judge", "sample", "verdict", "passed", "answer", "cost_usd"} <= set(said["columns"])
    [(case_id, message)] = said["failed"]
    assert case_id == "c3"
    assert "LookupError: nothing under three (recall, line 10)" in message
    assert said["disagreements"] == 10
    assert "12/12 empty outputs" in said["printed"]
    assert "<table>" in said["html"]
    assert "judge 'god' is not in bake-off" in said["refused"]
    assert said["reports"] == ["<!doctype html>", "<!-- evalq repo", "case_id,stratum"]
    assert project.is_quiet()


def test_a_cancelled_task_pauses_its_bake_off(project: Any) -> None:
    done = project.python("-c", CANCELLED)
    assert (done.returncode, done.stdout) == (0, "cancelled paused\n"), done.stderr


def test_what_is_wrong_is_raised_before_anything_starts(project: Any) -> None:
    done = project.python("-c", WRONG)
    assert (done.stdout.split(), done.stderr) == (["InputError", "InputError", "CapReached"], "")
