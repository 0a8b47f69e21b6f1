"""A function of the user's as a judge: its answers are kept, whatever it raises becomes a fault."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from asking import complete

from evalq.calling.providers import connect
from evalq.definitions.judge import PythonJudge
from evalq.errors import FaultKind, ProviderFault
from evalq.records import CaseContext, Completion, Prompt

MODULE = """
import sys, threading

go = threading.Event()
def wait(inputs): return "waited" if go.wait(60) else "waited in vain"
def greet(inputs): return "hello " + inputs["name"]
def rank(inputs): return ["n1", "ü"]
def spoil(inputs): inputs.clear(); return "spoilt"
def blank(inputs): return "  \\n"
def forget(inputs): inputs["name"]
def stumble(inputs): return inputs["no such key"]
def hide(inputs): return {1, 2, 3}
def leave(inputs): sys.exit(3)
number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judge_of_mine.py").write_text(MODULE, "utf-8")
    (tmp_path / "judge_with_a_typo.py").write_text("def judge(inputs: return", "utf-8")
    (tmp_path / "judge_that_breaks.py").write_text("1 / 0", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


def ask(name: str) -> Completion:
    judge = PythonJudge(name="mine", provider="python", callable=name)
    return complete(connect(judge, {}), Prompt("s", "u", 64, CaseContext("t", "c", inputs=INPUTS)))


INPUTS = {"name": "Ada"}


def test_the_function_is_given_the_cases_inputs_and_its_text_is_the_answer() -> None:
    completion = ask("judge_of_mine:greet")
    assert (completion.state, completion.text) == ("answered", "hello Ada")
    assert completion.model == "judge_of_mine:greet"
    assert completion.latency_ms >= 0


def test_anything_but_text_is_answered_as_json() -> None:
    assert ask("judge_of_mine:rank").text == '["n1", "ü"]'


def test_the_function_cannot_change_the_case() -> None:
    assert ask("judge_of_mine:spoil").text == "spoilt"
    assert INPUTS == {"name": "Ada"}


@pytest.mark.parametrize("function", ["blank", "forget"])
def test_no_answer_is_empty_and_no_fail(function: str) -> None:
    assert ask(f"judge_of_mine:{function}").state == "empty"


@pytest.mark.parametrize(
    ("function", "error"), [("stumble", "KeyError"), ("hide", "TypeError"), ("leave", "SystemExit")]
)
def test_what_it_raises_is_a_permanent_fault_with_its_message_and_line(function: str, error: str) -> None:
    with pytest.raises(ProviderFault) as caught:
        ask(f"judge_of_mine:{function}")
    assert caught.value.kind == "permanent"
    assert caught.value.message.startswith(f"judge_of_mine:{function} raised {error}")
    assert re.search(r"\([a-z_]+\.py:\d+\)$", caught.value.message)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module:judge", "No module named 'no_such_module'"),
        ("judge_of_mine:no_such_function", "no_such_function"),
        ("judge_of_mine:number", "is not callable"),
        ("judge_with_a_typo:judge", "judge_with_a_typo.py, line 1"),
        ("judge_that_breaks:judge", "division by zero"),
    ],
)
def test_a_function_that_cannot_be_had_is_fatal_for_the_judge(name: str, reason: str) -> None:
    with pytest.raises(ProviderFault, match=reason) as caught:
        ask(name)
    kind: FaultKind = "fatal"
    assert caught.value.kind == kind
    assert name in caught.value.message


def test_the_working_folder_is_on_the_path_only_while_the_function_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "only_there.py").write_text("def greet(inputs): return 'found'\n")
    monkeypatch.chdir(tmp_path / "inner")
    before = list(sys.path)
    assert ask("only_there:greet").text == "found"
    assert sys.path == before


def test_the_loop_goes_on_while_a_function_works() -> None:
    """Were the loop held up, nobody would tell the function to end."""

    async def run() -> str:
        judge = PythonJudge(name="mine", provider="python", callable="judge_of_mine:wait")
        adapter = connect(judge, {})
        call = asyncio.create_task(adapter.complete(Prompt("s", "u", 64, CaseContext("t", "c"))))
        await asyncio.sleep(0)
        sys.modules["judge_of_mine"].go.set()
        return (await call).text

    assert asyncio.run(run()) == "waited"
