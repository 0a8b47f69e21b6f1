import base64
import json
from typing import Any

import pytest

from evalq.errors import UngradableAnswer
from evalq.grading.sandbox.program import (
    CallResult,
    FunctionCall,
    Program,
    read_ready,
    read_results,
    request_bytes,
)

NONCE = "5" * 32
PROGRAM = Program("def f(): ...", "f", (FunctionCall(),), 2.5)


def seen(said: str | bytes = b"", **more: Any) -> dict[str, Any]:
    said = said.encode() if isinstance(said, str) else said
    encoded = base64.b64encode(said).decode()
    return {"stopped": None, "status": 0, "ms": 7, "said": encoded, "output": "", **more}


def results(*all_seen: Any, nonce: str = NONCE) -> tuple[CallResult, ...]:
    return read_results(f"{nonce}\n{json.dumps(all_seen)}".encode(), NONCE, PROGRAM)


def result(said: str | bytes = b"", **more: Any) -> CallResult:
    (one,) = results(seen(said, **more))
    return one


def test_the_request_holds_code_arguments_and_limits_behind_its_length() -> None:
    program = Program("code", "f", (FunctionCall((1,), {"a": 2}),), 2.5)
    sent = request_bytes(program, isolation="strong", processes=16, is_filtered=True)
    request = json.loads(sent[10:])
    assert int(sent[:10]) == len(sent) - 10
    assert (request["source"], request["calls"], request["timeout_s"]) == ("code", [[[1], {"a": 2}]], 2.5)
    assert request["limits"]["RLIMIT_AS"] == 512 * 2**20
    assert (request["limits"]["RLIMIT_NPROC"], request["call_limits"]) == (16, {"RLIMIT_CPU": 4})


def test_a_value_comes_back_with_its_output_and_time() -> None:
    output = base64.b64encode("đã in\xff".encode("latin-1", "replace")).decode()
    one = result('{"value": [1, {"a": null}]}\n', output=output)
    assert (one.end, one.value, one.wall_ms) == ("returned", [1, {"a": None}], 7)
    assert "in\N{REPLACEMENT CHARACTER}" in one.output


@pytest.mark.parametrize(
    ("kind", "names", "end"),
    [
        ("raised", ["KeyError", "LookupError"], "raised"),
        ("raised", ["MemoryError"], "out_of_memory"),
        ("unloadable", ["SyntaxError"], "unloadable"),
        ("unreadable", ["TypeError"], "unreadable"),
    ],
)
def test_trouble_comes_back_with_its_names_and_line(kind: str, names: list[str], end: str) -> None:
    one = result(json.dumps({kind: {"names": names, "message": "no", "line": 3}}))
    assert (one.end, one.raised, one.message) == (end, tuple(names), "no (line 3)")


@pytest.mark.parametrize(
    ("stopped", "end", "message"),
    [
        ("late", "timed_out", "no result within 2.5 s"),
        ("output", "too_much_output", "more than 64 KB of output"),
        ("value", "unreadable", "the value is larger than 256 KB"),
    ],
)
def test_a_call_that_was_stopped_says_why_whatever_it_said(stopped: str, end: str, message: str) -> None:
    one = result('{"value": 1}\n', stopped=stopped)
    assert (one.end, one.value, one.message) == (end, None, message)


@pytest.mark.parametrize(
    "said",
    ["", "{", "[1]", "{}", '{"value": 1, "raised": 2}', '{"other": 1}', '{"raised": {"names": []}}', "\xff"],
)
def test_words_without_sense_are_no_words(said: str) -> None:
    one = result(said.encode("latin-1"), status=3)
    assert (one.end, one.message) == ("died", "the process ended itself with exit code 3")


def test_a_value_nested_beyond_reason_is_no_value() -> None:
    assert result('{"value": ' + "[" * 100_000).end == "died"


@pytest.mark.parametrize(("status", "name"), [(-9, "SIGKILL"), (-11, "SIGSEGV"), (-99, "signal 99")])
def test_a_process_that_was_killed_says_by_what(status: int, name: str) -> None:
    assert result(status=status).message == f"the process was ended by {name}"


def test_another_nonce_is_no_result() -> None:
    with pytest.raises(UngradableAnswer, match="without a result"):
        results(seen(), nonce="6" * 32)


@pytest.mark.parametrize("body", ["", "{", "[1]", '[{"stopped": null}]', "[" * 100_000, "7"])
def test_a_result_in_another_form_cannot_be_graded(body: str) -> None:
    with pytest.raises(UngradableAnswer, match="not in the agreed form"):
        read_results(f"{NONCE}\n{body}".encode(), NONCE, PROGRAM)


def test_a_result_for_another_number_of_calls_cannot_be_graded() -> None:
    with pytest.raises(UngradableAnswer, match="number of calls"):
        results(seen(), seen())


def test_readiness_comes_with_the_version() -> None:
    assert read_ready(b"ready 3.12.1\nrest") == ("3.12.1", b"rest")


@pytest.mark.parametrize("reply", [b"", b"ready 3.12", b"Traceback\n", b"3.12\nready"])
def test_without_readiness_nothing_has_started(reply: bytes) -> None:
    assert read_ready(reply) is None
