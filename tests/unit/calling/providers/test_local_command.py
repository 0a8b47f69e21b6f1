"""A program as a judge, with real small programs: answers, exit codes, time limits."""

import json
import os
import sys
from pathlib import Path

import pytest
from asking import complete
from patience import PATIENCE_S

from evalq.calling.providers import connect
from evalq.definitions.judge import CommandJudge
from evalq.engines.processes import wait_until
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt

PROMPT = Prompt(
    "system",
    "user ü",
    64,
    CaseContext("t", "c1", sample=2, inputs={"text": "việt"}, expected={"answer": "x"}),
)


def ask(program: str, *, timeout_s: float = PATIENCE_S, environ: dict[str, str] | None = None) -> Completion:
    """Ask a program given as Python source; -S starts it faster."""
    return ask_command([sys.executable, "-S", "-c", program], timeout_s=timeout_s, environ=environ)


def ask_command(
    command: list[str], *, timeout_s: float = PATIENCE_S, environ: dict[str, str] | None = None
) -> Completion:
    judge = CommandJudge(name="mine", provider="command", command=command, timeout_s=timeout_s)
    return complete(connect(judge, environ or {}), PROMPT)


def says(text: str) -> str:
    return f"import sys; sys.stdin.read(); sys.stdout.buffer.write({text.encode()!r})"


def fault(program: str, **options: float) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        ask(program, **options)  # type: ignore[arg-type]
    return caught.value


def test_the_program_is_given_the_question_as_one_json_object() -> None:
    echo = "import json, sys; print(json.dumps({'answer': sys.stdin.read()}))"
    asked = json.loads(ask(echo).text)
    assert asked == {
        **{"task": "t", "case_id": "c1", "sample": 2, "inputs": {"text": "việt"}},
        **{"system": "system", "turns": [], "user": "user ü", "max_tokens": 64},
    }


def test_its_answer_is_kept_with_the_time_it_took() -> None:
    completion = ask(says('{"answer": "mười", "more": 1}'))
    assert (completion.state, completion.text) == ("answered", "mười")
    assert completion.model == sys.executable
    assert completion.latency_ms > 0


def test_an_answer_that_is_no_text_is_kept_as_json() -> None:
    assert ask(says('{"answer": ["n1", "ü"]}')).text == '["n1", "ü"]'


@pytest.mark.parametrize("answer", ['""', '" \\n"', "null"])
def test_no_answer_is_empty_and_no_fail(answer: str) -> None:
    assert ask(says(f'{{"answer": {answer}}}')).state == "empty"


@pytest.mark.parametrize(
    "output", ["hello", "two\nlines", "[1]", '"answer"', '{"reply": "x"}', "[" * 100_000]
)
def test_plain_text_and_other_json_are_the_answer_as_they_are(output: str) -> None:
    completion = ask(says(output))
    assert (completion.state, completion.text) == ("answered", output)


def test_a_program_that_prints_nothing_has_not_answered() -> None:
    assert ask(says("")).state == "empty"


def test_bytes_that_are_no_utf8_are_kept_as_marks() -> None:
    completion = ask("import sys; sys.stdout.buffer.write(b'\\xff')")
    assert (completion.state, completion.text) == ("answered", "\ufffd")


@pytest.mark.parametrize(
    ("how", "ended"),
    [("sys.exit(3)", "ended with exit code 3"), ("os.kill(os.getpid(), 9)", "was killed by signal 9")],
)
def test_a_program_that_fails_is_a_permanent_fault(how: str, ended: str) -> None:
    failed = fault(f"import os, sys; print('{{}}'); sys.stdout.flush(); {how}")
    assert (failed.kind, failed.message) == ("permanent", f"the program {ended}")


def test_what_a_failed_program_wrote_last_to_its_standard_error_is_kept() -> None:
    message = fault("print('x' * 9000, file=__import__('sys').stderr); raise ValueError('no model')").message
    assert message.startswith("the program ended with exit code 1: ")
    assert message.endswith("ValueError: no model")
    assert len(message) < 500


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], [os.sep]])
def test_a_program_that_cannot_be_started_is_fatal_for_the_judge(command: list[str]) -> None:
    with pytest.raises(ProviderFault, match="cannot start") as caught:
        ask_command(command)
    assert caught.value.kind == "fatal"


def test_a_program_that_never_reads_its_question_may_answer() -> None:
    assert ask('print(\'{"answer": "blind"}\')').text == "blind"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True


def test_a_program_over_its_time_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    parent = (
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)"
    )
    late = fault(parent, timeout_s=3.0)
    assert (late.kind, late.message) == ("ambiguous", "no answer within 3 s")
    assert wait_until(lambda: not is_alive(int(note.read_text())), timeout_s=PATIENCE_S)


def test_the_programs_environment_is_ours_without_evalqs_own_secrets() -> None:
    environ = {"EVALQ_DATABASE_URL": "postgresql://secret", "EVALQ_BROKER_URL": "redis://secret", "MINE": "1"}
    shown = json.loads(
        ask("import json, os; print(json.dumps({'answer': dict(os.environ)}))", environ=environ).text
    )
    assert shown["MINE"] == "1"
    assert not [name for name in shown if name.startswith("EVALQ_")]


def test_the_expected_answer_is_not_told() -> None:
    echo = "import json, sys; print(json.dumps({'answer': sys.stdin.read()}))"
    assert "expected" not in ask(echo).text
