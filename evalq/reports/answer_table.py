"""One row per case, judge and sample: as CSV that no spreadsheet runs, and as Parquet."""

import csv
import io
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from evalq.errors import InputError, Problem
from evalq.reports.cases import AnswerView, CaseView

COLUMNS = (
    *("case_id", "stratum", "judge", "sample", "verdict", "error_kind"),
    *("latency_ms", "cost_usd", "input_tokens", "output_tokens"),
    *("graders", "reasons", "input", "expected", "answer"),
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula, and a formula may call a program or a server."""

_TEN_PLACES = Decimal("0.0000000001")
_NOT_IN_TEXT = dict.fromkeys((0, *range(0xD800, 0xE000)), "\N{REPLACEMENT CHARACTER}")


def render_csv(cases: Iterable[CaseView]) -> Iterator[str]:
    """The rows as lines of CSV, heading first; texts that look like formulas get an apostrophe in front."""
    yield _csv_line(COLUMNS)
    for row in answer_rows(cases):
        yield _csv_line([_neutralise(row[column]) for column in COLUMNS])


def render_parquet(cases: Iterable[CaseView]) -> bytes:
    """The rows as a Parquet file; InputError without pyarrow."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        remedy = "install it with pip install 'evalq[parquet]', or take --csv"
        raise InputError(Problem("Parquet needs pyarrow, which is not installed", remedy)) from None
    numbers = {"sample": arrow.int32(), "latency_ms": arrow.int64(), "cost_usd": arrow.decimal128(18, 10)}
    numbers |= {"input_tokens": arrow.int64(), "output_tokens": arrow.int64()}
    schema = arrow.schema([(column, numbers.get(column, arrow.string())) for column in COLUMNS])
    rows = []
    for row in answer_rows(cases):
        rows.append({**row, "cost_usd": row["cost_usd"].quantize(_TEN_PLACES)})
    target = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), target)
    return target.getvalue()


def answer_rows(cases: Iterable[CaseView]) -> Iterator[dict[str, Any]]:
    """One row per answer, in the order of cases, judges and samples."""
    for case in cases:
        for answer in case.answers:
            yield _answer_row(case, answer)


def _answer_row(case: CaseView, answer: AnswerView) -> dict[str, Any]:
    marks = []
    for grade in answer.grades:
        mark = {True: "passed", False: "failed", None: "undecided"}[grade.passed]
        marks.append(f"{grade.grader}={'pending' if grade.pending else mark}")
    reasons = [grade.reason for grade in answer.grades if grade.reason]
    input_tokens, output_tokens = answer.tokens or (None, None)
    row: dict[str, Any] = {
        "case_id": case.case_id,
        "stratum": case.stratum,
        "judge": answer.judge,
        "sample": answer.sample,
        "verdict": answer.verdict,
        "error_kind": answer.error_kind,
        "latency_ms": answer.latency_ms,
        "cost_usd": answer.cost_usd,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "graders": "; ".join(marks),
        "reasons": "; ".join(reasons),
        "input": case.input_text,
        "expected": case.expected_text,
        "answer": answer.answer_text,
    }
    return {name: _storable(value) for name, value in row.items()}


def _storable(value: Any) -> Any:
    """Text without what no file of text can hold: lone surrogates and zero bytes."""
    return value.translate(_NOT_IN_TEXT) if isinstance(value, str) else value


def _neutralise(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _csv_line(cells: Iterable[str]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="\r\n").writerow(list(cells))
    return target.getvalue()
