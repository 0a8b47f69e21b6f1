"""Whatever code under test writes in place of its result is a fail of its answer, never a grader error."""

import binascii
import json

import pytest

from evalq.grading.sandbox.program import FunctionCall, Program, read_results

NONCE = "0" * 32
PROGRAM = Program("def f(): ...", "f", (FunctionCall(()),))

FORGED = [
    b"",
    b"\x00\xff",
    b"null",
    b"[]",
    b"{}",
    b'{"value": 1, "raised": 2}',
    b'{"odd": {"names": ["E"], "message": "", "line": null}}',
    b'{"raised": null}',
    b'{"raised": {}}',
    b'{"raised": {"names": [], "message": "", "line": 1}}',
    b'{"raised": {"names": 1, "message": "", "line": 1}}',
    b'{"raised": {"names": ["E"], "message": "", "line": Infinity}}',
    b'{"raised": {"names": ["E"], "message": "", "line": -1e999}}',
    b'{"raised": {"names": ["E"], "message": "", "line": NaN}}',
    b'{"raised": {"names": ["E"], "message": "", "line": [1]}}',
    b'{"raised": {"names": ["E"], "message": "", "line": "x"}}',
    b'{"value": ' + b"[" * 100_000,
    b'{"value": ' + b"9" * 100_000 + b"}",
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda reply: repr(reply[:60]))
def test_a_forged_reply_is_a_call_that_died(forged: bytes) -> None:
    said = binascii.b2a_base64(forged, newline=False).decode()
    seen = [{"stopped": None, "status": 0, "ms": 1, "said": said, "output": ""}]
    [result] = read_results(f"{NONCE}\n{json.dumps(seen)}".encode(), NONCE, PROGRAM)
    assert result.end == "died"
