"""Review from the command line: a bake-off waits for people without blocking, and they complete it."""

import contextlib
import json
import os
import pty
import sys
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "essays", "--eval-set", "dev-3", "--judges", "good,poor")
TASK = """\
name: essays
system_prompt: Be brief.
user_template: "Write about {topic}."
graders:
  - type: human
    name: quality
    rubric: How good is it?
    evaluators: {min_required: 2, max_allowed: 3, agreement_threshold: 0.7}
    rating_scale: {type: likert, range: [1, 5], labels: {1: Poor, 5: Excellent}}
"""


@pytest.fixture(scope="module")
def waiting(served: Any) -> dict[str, Any]:
    """A bake-off that only people can grade."""
    served.write("tasks/essays.yaml", TASK)
    cases = [{"id": f"c{i}", "inputs": {"topic": f"topic {i}"}} for i in range(3)]
    served.write("evalsets/essays/dev-3.json", json.dumps({"cases": cases}))
    document: dict[str, Any] = served.bake(*BAKE, code=3)
    return document


def said(served: Any, *arguments: str) -> str:
    done = served.run("review", *arguments)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_what_waits_for_people_ends_as_partial_and_is_counted(waiting: dict[str, Any]) -> None:
    assert waiting["partial"] is True
    assert [(run["n_pending"], run["n_error"], run["accuracy"]) for run in waiting["runs"]] == [
        (3, 0, None)
    ] * 2
    assert waiting["next"][0] == f"evalq review next {waiting['id']}"


def test_people_who_disagree_are_adjudicated(served: Any, waiting: dict[str, Any]) -> None:
    item = served.bake("review", "next", str(waiting["id"]), "--reviewer", "ann")
    assert (item["left"], item["reviews"]["min_required"], item["blind"]) == (6, 2, True)
    ratings = [
        {"item": item["item"], "reviewer": who, "rating": n}
        for who, n in (("ann", 1), ("bob", 5), ("cat", 3))
    ]
    served.write("three.jsonl", "\n".join(json.dumps(line) for line in ratings))
    assert "disputed: 1" in said(served, "import", "three.jsonl")
    (grader,) = served.bake("review", "status", str(waiting["id"]))["graders"]
    assert [one["item"] for one in grader["disagreements"]] == [item["item"]]
    full = served.run("review", "rate", item["item"], "4", "--reviewer", "dee")
    assert (full.returncode, "max_allowed is 3" in full.stderr) == (5, True)
    decided = served.bake("review", "rate", item["item"], "4", "--reviewer", "dee", "--adjudicate")
    assert (decided["state"], decided["n_pending"]) == ("decided", 5)


def test_at_a_terminal_one_is_asked_item_after_item(served: Any, waiting: dict[str, Any]) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(served.folder)
        command = [sys.executable, "-m", "evalq", "review", "next", "last", "--reviewer", "eve"]
        os.execve(sys.executable, command, served.environ)
    os.write(terminal, b"3\nu\nq\n")
    seen = b""
    with contextlib.suppress(OSError):  # Linux says so when the other end is closed
        while part := os.read(terminal, 4096):
            seen += part
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(terminal)
    assert seen.count(b"\xe2\x94\x80\xe2\x94\x80 question") == 3
    assert b"0 rated" in seen


def test_reviews_complete_a_bake_off(served: Any, waiting: dict[str, Any]) -> None:
    number = str(waiting["id"])
    said(served, "export", number, "-o", "r.jsonl")
    lines = [json.loads(line) for line in (served.folder / "r.jsonl").read_text("utf-8").splitlines()]
    rated = [
        {**line, "rating": step, "reviewer": who} for line in lines for who, step in (("ann", 5), ("bob", 4))
    ]
    served.write("r.jsonl", "\n".join(json.dumps(line) for line in rated))
    assert said(served, "import", "r.jsonl").startswith("10 ratings stored, 0 left open; items decided: 5")
    document = served.bake("inspect", number)
    assert [(run["n_pass"], run["n_pending"]) for run in document["runs"]] == [(3, 0)] * 2
    assert document["partial"] is False
    rows = "SELECT n_pass, n_pending, accuracy::float FROM eval_runs WHERE bakeoff_id = %s"
    assert served.rows(rows, waiting["id"]) == [(3, 0, 1.0)] * 2
    assert served.bake("calibrate", number)["labels"]["votes"] == 14
    said(served, "undo", "--reviewer", "bob")
    assert served.rows(rows, waiting["id"]) != [(3, 0, 1.0)] * 2


def test_what_the_user_can_mend_is_said(served: Any, waiting: dict[str, Any]) -> None:
    done = served.run("review", "rate", "ffff", "4")
    assert (done.returncode, done.stderr) == (
        2,
        "error: there is no item 'ffff'; `evalq review next` names one\n",
    )
