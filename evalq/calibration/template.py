"""A file to be filled in: the answers to label, with all a person needs to judge them but the verdict."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.calibration.labels import COLUMNS, FOR_PEOPLE
from evalq.calibration.result import ToLabel
from evalq.reports.text import clean

EXCERPT = 2000
"""Characters of an answer, an input or an expectation shown at most."""

_HEAD = (*COLUMNS, *FOR_PEOPLE)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Shown:
    """What was asked, what was expected and what the judge said."""

    inputs: Any
    expected: Any
    answer: str


def render_csv(rows: Sequence[ToLabel], texts: Mapping[int, Shown]) -> str:
    """One row per answer, `passed` and `labeller` left empty; nothing in it that a spreadsheet would run."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _HEAD, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        fields = _fields(row, texts[row.job_id])
        writer.writerow({**fields, **{name: _harmless(str(fields[name])) for name in FOR_PEOPLE}})
    return out.getvalue()


def render_jsonl(rows: Sequence[ToLabel], texts: Mapping[int, Shown]) -> str:
    """The same as JSON, one object a line; `passed` is null until somebody fills it in."""
    objects = ({**_fields(row, texts[row.job_id]), "passed": None} for row in rows)
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)


def _fields(row: ToLabel, shown: Shown) -> dict[str, Any]:
    return {
        "judge": row.judge,
        "case_id": row.case_id,
        "sample": row.sample,
        "passed": "",
        "labeller": "",
        "stratum": row.stratum,
        "input": _excerpt(_plain(shown.inputs)),
        "expected": _excerpt(_plain(shown.expected)),
        "answer": _excerpt(shown.answer),
        "comment": "",
    }


def _plain(value: Any) -> str:
    """A single text as it is, more as lines of name and value."""
    if not isinstance(value, dict):
        return "" if value is None else _text(value)
    if len(value) == 1:
        return _text(next(iter(value.values())))
    return "\n".join(f"{name}: {_text(part)}" for name, part in value.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _excerpt(text: str) -> str:
    text = clean(text)
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _harmless(cell: str) -> str:
    """A model may answer with a formula; an apostrophe makes it text."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
