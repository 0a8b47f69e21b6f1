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


def test_what_is_wrong_is_raised_before_anything_starts(project: Any) -> None:
    done = project.python("-c", WRONG)
    assert (done.stdout.split(), done.stderr) == (["InputError", "InputError", "CapReached"], "")
