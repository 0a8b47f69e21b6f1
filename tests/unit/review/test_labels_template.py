"""The file to be filled in: what people see, and that it can be read back."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.errors import InputError
from evalq.review.calibration_result import ToLabel
from evalq.review.labels import EXCERPT, Shown, read_labels, render_csv, render_jsonl

ROW = ToLabel(7, "a", "c1", 2, "VN", "judges disagree")
SHOWN = Shown({"country": "France"}, {"answer": "Paris", "why": ["x"]}, "It is\nParis, isn't it?")


def cells(shown: Shown) -> dict[str, str]:
    (row,) = csv.DictReader(io.StringIO(render_csv([ROW], {7: shown})))
    return row


def test_people_see_question_expectation_and_answer_but_no_verdict() -> None:
    assert cells(SHOWN) == {
        "judge": "a",
        "case_id": "c1",
        "sample": "2",
        "passed": "",
        "labeller": "",
        "stratum": "VN",
        "input": "France",
        "expected": 'answer: Paris\nwhy: ["x"]',
        "answer": "It is\nParis, isn't it?",
        "comment": "",
    }


@pytest.mark.parametrize(
    ("expected", "text"), [(None, ""), ("as it is", "as it is"), ({"any_of": [1]}, "[1]"), ([2], "[2]")]
)
def test_an_expectation_of_any_form_is_shown(expected: object, text: str) -> None:
    assert cells(Shown({}, expected, ""))["expected"] == text


def test_a_long_answer_is_cut() -> None:
    answer = cells(Shown({}, None, "x" * 5000))["answer"]
    assert len(answer) == EXCERPT
    assert answer.endswith("x…")


@pytest.mark.parametrize(
    "answer",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"],
)
def test_a_spreadsheet_finds_nothing_to_run(answer: str) -> None:
    assert cells(Shown({}, None, answer))["answer"] == f"'{answer}"


def test_nothing_in_it_moves_a_cursor() -> None:
    assert "\x1b" not in render_csv([ROW], {7: Shown({}, None, "\x1b[2J")})
    assert "\\u001b" not in render_jsonl([ROW], {7: Shown({}, None, "\x1b[2J")})


@given(st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_a_filled_in_file_is_read_back_whatever_was_said(asked: str, answer: str, is_csv: bool) -> None:
    shown = {7: Shown({"q": asked}, None, answer)}
    empty = render_csv([ROW], shown) if is_csv else render_jsonl([ROW], shown)
    with pytest.raises(InputError, match="no label in it"):
        read_labels(empty, "l", is_csv=is_csv)

    (label,) = read_labels(fill(empty, is_csv=is_csv), "l", is_csv=is_csv).labels

    assert (label.judge, label.case_id, label.sample, label.passed) == ("a", "c1", 2, True)


def fill(text: str, *, is_csv: bool) -> str:
    if not is_csv:
        return json.dumps({**json.loads(text), "passed": True})
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "passed": "yes"} for row in rows)
    return out.getvalue()
