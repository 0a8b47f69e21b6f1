"""Whatever the user can mend ends with one clear message, its own exit code, and no traceback."""

import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good")
TASK = """\
name: {name}
system_prompt: Answer.
user_template: "{template}"
scoring: {{mode: strict_substring, pass_rule: exact_match}}
{more}
"""
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{now}: &{now} [{', '.join(['*' + before] * 9)}]\n"
    for before, now in zip("abcdefg", "bcdefgh", strict=True)
)
CASE = '{"id": "a", "inputs": {"country": "x"}, "expected": {"answer": "y"}}'

FILES = {
    "tasks/keyed.yaml": TASK.format(name="keyed", template="{country}?", more="max_token: 5"),
    "tasks/absent.yaml": TASK.format(name="absent", template="{town}?", more=""),
    "tasks/nosy.yaml": TASK.format(name="nosy", template="{x.__class__}", more=""),
    "tasks/bomb.yaml": BOMB,
    "evalsets/capitals/twice.jsonl": f"{CASE}\n{CASE}\n",
    "evalsets/capitals/empty.yaml": "cases: []\n",
    "evalsets/capitals/nothing.jsonl": "",
    "evalsets/capitals/anonymous.csv": "inputs.country,expected.answer\nx,y\n",
    "evalsets/capitals/one.jsonl": f"{CASE}\n",
    "evalsets/capitals/holdout-1.jsonl": f"{CASE}\n",
}


@pytest.fixture(scope="module")
def messy(project: Any) -> Any:
    """A project with everything wrong in it."""
    for name, text in FILES.items():
        project.write(name, text)
    return project


def bake(task: str = "capitals", eval_set: str = "one", judges: str = "good", *more: str) -> tuple[str, ...]:
    return ("bake-off", "--task", task, "--eval-set", eval_set, "--judges", judges, *more)


def complaint(project: Any, code: int, *arguments: str) -> str:
    """The one message of a command that ends with this exit code."""
    done = project.run(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    (message,) = re.findall(r"^error: (.*)$", done.stderr, re.MULTILINE | re.IGNORECASE)
    return str(message)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(bake("tasks/none.yaml"), "tasks/none.yaml: no such task file", id="missing task file"),
        pytest.param(bake("capital"), "did you mean 'capitals'", id="unknown task"),
        pytest.param(bake("keyed"), "tasks/keyed.yaml:5: unknown key 'max_token'", id="unknown key"),
        pytest.param(bake(judges="goood"), "did you mean good", id="unknown judge"),
        pytest.param(bake(eval_set="twice"), "twice.jsonl:2: case id 'a' is used twice", id="duplicate id"),
        pytest.param(bake("absent", "evalsets/capitals/one.jsonl"), "uses {town}", id="absent input"),
        pytest.param(bake("nosy"), "tasks/nosy.yaml:3: user_template", id="attribute in a template"),
        pytest.param(bake("bomb"), "tasks/bomb.yaml:", id="alias bomb"),
        pytest.param(bake(eval_set="empty"), "empty.yaml:1: cases", id="empty evalset"),
        pytest.param(bake(eval_set="nothing"), "nothing.jsonl", id="empty file"),
        pytest.param(bake(eval_set="anonymous"), "anonymous.csv:1: CSV without an id", id="no id column"),
        pytest.param(
            (*bake(), "--samples", "0"), "--samples 0 is out of range; give 1 to 1000", id="samples"
        ),
        pytest.param((*bake(), "--samples", "many"), "'many' is not a valid integer", id="no number"),
        pytest.param(
            (*bake(), "--max-cost-usd", "nan"), "is not a finite amount of dollars", id="no dollars"
        ),
        pytest.param((*bake(), "--scorer", "vibes"), "'vibes' is not one of", id="unknown scorer"),
        pytest.param(
            ("bake-of",), "There is no command 'bake-of'. Did you mean bake-off", id="unknown command"
        ),
        pytest.param(("bake-off",), "Missing option '--task'", id="no task named"),
    ],
)
def test_bad_input_is_answered_with_one_clear_message(
    messy: Any, arguments: tuple[str, ...], words: str
) -> None:
    assert words in complaint(messy, 2, *arguments)
    assert not messy.data_dir.exists()


def test_an_unknown_bake_off_is_answered_with_where_to_look(new_project: Any) -> None:
    project = new_project()
    assert "there is no bake-off 7; `evalq runs` lists them" in complaint(project, 2, "inspect", "7")
    assert "there is no bake-off yet; `evalq demo`" in complaint(project, 2, "watch", "last")


@pytest.mark.parametrize("eval_set", ["holdout-99", "holdout-30-sample"])
def test_a_frozen_set_is_refused(messy: Any, eval_set: str) -> None:
    assert "frozen holdout" in complaint(messy, 5, *bake("knowledge_audit", eval_set))


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that is taken, and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("arguments", [BAKE, ("runs",), ("inspect", "last"), ("schema", "apply")])
def test_an_unreachable_database_is_named_without_its_password(
    new_project: Any, closed_port: int, arguments: tuple[str, ...]
) -> None:
    place = f"127.0.0.1:{closed_port}"
    urls = {
        "EVALQ_DATABASE_URL": f"postgresql://someone:s3cr3t-pw@{place}/evalq",
        "EVALQ_BROKER_URL": f"redis://:s3cr3t-pw@{place}/0",
    }
    message = complaint(new_project(**urls), 6, *arguments)
    assert "the database cannot be reached" in message
    assert "check EVALQ_DATABASE_URL" in message
    assert "s3cr3t" not in message
