"""Rows of answers: one per case, judge and sample, and never a formula."""

import csv
import io
import sys
from dataclasses import replace

import pytest
from report_scene import HOSTILE, make_case

from evalq.errors import InputError
from evalq.reports.answer_table import COLUMNS, FORMULA_STARTS, render_csv, render_parquet


def read_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_cell_is_a_formula_and_every_row_is_whole(text: str) -> None:
    csv.field_size_limit(1_000_000)
    case = make_case(1, text, judge=text[:99], stratum=text[:99])
    rows = read_rows("".join(render_csv([replace(case, case_id=text[:50])])))
    assert len(rows) == 3
    for row in rows:
        assert set(row) == set(COLUMNS)
        assert not [cell for cell in row.values() if cell.startswith(FORMULA_STARTS)]
        row["answer"].encode()


def test_a_row_tells_all_about_an_answer() -> None:
    passed, failed, errored = read_rows("".join(render_csv([make_case(4, "Hanoi")])))
    assert (passed["case_id"], passed["judge"], passed["sample"]) == ("case-004", "good@short", "1")
    assert (passed["cost_usd"], passed["latency_ms"], passed["input_tokens"]) == ("0.002", "800", "10")
    assert (failed["verdict"], failed["graders"]) == ("failed", "strict_substring=failed")
    assert (failed["reasons"], failed["answer"]) == ("Hanoi", "Hanoi")
    assert (errored["error_kind"], errored["latency_ms"]) == ("empty", "")


def test_a_grade_that_waits_for_people_is_pending() -> None:
    case = make_case(0, "x")
    grade = case.answers[0].grades[0]._replace(passed=None, pending=True)
    [row] = read_rows(
        "".join(render_csv([replace(case, answers=(replace(case.answers[0], grades=(grade,)),))]))
    )
    assert row["graders"] == "strict_substring=pending"


def test_parquet_holds_the_same_rows_with_numbers_as_numbers() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(render_parquet([make_case(4, "=1+1")])))
    rows = table.to_pylist()
    assert [row["judge"] for row in rows] == ["good@short", "poor", "mute"]
    assert rows[0]["answer"] == "=1+1"
    assert (rows[0]["latency_ms"], str(rows[0]["cost_usd"])) == (800, "0.0020000000")
    assert rows[2]["input_tokens"] is None


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'evalq\[parquet\]'"):
        render_parquet([])
