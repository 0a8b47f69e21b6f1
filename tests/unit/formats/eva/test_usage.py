"""One use of a prompt: which variables win, what its scripts are told, and what its row says."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalq.errors import InputError, Refused
from evalq.formats.eva.promote import review
from evalq.formats.eva.usage import PreparedUse, prepare_use, read_given, usage_row, verify_output
from evalq.grading.sandbox.program import CallResult, Program, ProgramRun

META = """\
id: greet
title: Greet
summary: Greets
status: draft
version: 0.1.0
created: 2026-01-01
updated: 2026-01-01
model: sim-opus-4.7
inputs: [{name: who, required: true}, {name: day}]
promotion: {min_uses: 1}
"""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Sandbox:
    """Gives each script the result laid down for it, and keeps what it was given."""

    def __init__(self, *results: CallResult) -> None:
        self.results = list(results)
        self.sources: list[str] = []

    def __call__(self, program: Program) -> ProgramRun:
        assert (program.executor, program.function) == ("shell", "")
        self.sources.append(program.source)
        return ProgramRun((self.results.pop(0),), "strong")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "prompts" / "greet"
    (made / "examples" / "ann").mkdir(parents=True)
    (made / "meta.yml").write_text(META)
    (made / "prompt.xml").write_text("Greet {{who}} on {{day}}.")
    (made / "examples" / "ann" / "inputs.yml").write_text("who: Ann\nday: Sunday\n")
    return made


def add_script(folder: Path, name: str, text: str = "#!/bin/bash\ntrue\n") -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def prepare(folder: Path, *pairs: str, case: str | None = None, run: Sandbox | None = None) -> PreparedUse:
    given = read_given(pairs, ())
    return prepare_use(folder, folder.parents[1], case=case, given=given, run=run or Sandbox())


def test_given_values_go_over_those_of_the_case_and_the_guard_s_over_both(folder: Path) -> None:
    add_script(folder, "guard.sh")
    sandbox = Sandbox(CallResult("returned", "checking\nday=Friday\nnote"))
    use = prepare(folder, "who=Bob's", "day=Monday", case="ann", run=sandbox)
    assert use.prompt == "Greet Bob's on Friday."
    assert "export EVA_VAR_who='Bob'\"'\"'s'" in sandbox.sources[0]
    assert "export EVA_VAR_WHO=" in sandbox.sources[0]
    assert "export EVA_PROMPT_ID=greet\nexport EVA_CASE=ann" in sandbox.sources[0]


def test_an_optional_variable_is_empty_and_a_required_one_is_missed(folder: Path) -> None:
    assert prepare(folder, "who=Ann").prompt == "Greet Ann on ."
    with pytest.raises(InputError, match=r"prompt.xml: no value for \{\{who\}\} \(line 1\); give --var"):
        prepare(folder)


def test_a_guard_that_fails_refuses_the_use(folder: Path) -> None:
    add_script(folder, "guard.sh")
    failed = CallResult("raised", raised=("ExitCode",), message="exit code 3: not today")
    with pytest.raises(Refused, match=r"guard.sh: the guard refuses this use: exit code 3: not today"):
        prepare(folder, "who=Ann", run=Sandbox(failed))


def test_a_script_for_another_interpreter_is_refused(folder: Path) -> None:
    add_script(folder, "guard.sh", "#!/usr/bin/env python3\nprint()\n")
    with pytest.raises(InputError, match=r"guard.sh:1: .*python3' is not a shell; write it for bash"):
        prepare(folder, "who=Ann")


@pytest.mark.parametrize("first", ["#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash -e", "# no shebang"])
def test_shells_are_run(folder: Path, first: str) -> None:
    add_script(folder, "guard.sh", f"{first}\ntrue\n")
    assert prepare(folder, "who=Ann", run=Sandbox(CallResult("returned", ""))).values == {"who": "Ann"}


def test_the_verifier_decides_by_its_end(folder: Path) -> None:
    use = prepare(folder, "who=Ann")
    assert verify_output(use, "Hi", Sandbox()) is None
    add_script(folder, "verify.sh")
    sandbox = Sandbox(CallResult("returned", ""), CallResult("raised"), CallResult("timed_out"))
    assert [verify_output(use, "Hi 'you'", sandbox) for _ in range(3)] == [True, False, False]
    assert "export EVA_OUTPUT_FILE=/tmp/eva-output" in sandbox.sources[0]
    (folder / "verify.sh").chmod(0o644)
    assert verify_output(use, "Hi", Sandbox()) is None


def test_a_row_says_what_eva_s_would(folder: Path) -> None:
    use = prepare(folder, "who=Ann", "day=Friday")
    digest = hashlib.sha256(b"day=Friday\nwho=Ann").hexdigest()[:12]
    row = usage_row(use, now=NOW, output="Hello dear Ann", verified=True, duration_ms=12)
    assert row == {
        "ts": "2026-01-02T03:04:05Z",
        "case": None,
        "vars_hash": digest,
        "sent": True,
        "exit_code": 0,
        "verified": True,
        "duration_ms": 12,
        "prompt_words": 4,
        "output_words": 3,
    }
    assert usage_row(use, now=NOW)["sent"] is False


def test_variables_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert read_given(["a=1", "b=x=y\nz"], [tmp_path / "a.txt"]) == {
        "file_contents": "text",
        "a": "1",
        "b": "x=y\nz",
    }
    with pytest.raises(InputError, match="--var is not of the form NAME=VALUE"):
        read_given(["novalue"], ())


def test_the_folder_is_the_one_that_promotion_counts(folder: Path) -> None:
    assert review(prepare(folder, "who=Ann").folder).to == "tested"
