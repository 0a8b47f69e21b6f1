"""Human labels from a JSONL or CSV file: one answer and what a person says of it per line."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from evalq.definitions.definition import MAX_PROBLEMS, did_you_mean, limit_problems
from evalq.definitions.files import csv_rows, display_path, read_text
from evalq.definitions.located import load_json
from evalq.errors import InputError, Problem
from evalq.records import Verdict
from evalq.reports.text import clean
from evalq.review.calibration_result import ToLabel

LABEL_SUFFIXES = (".csv", ".jsonl")
REQUIRED = ("judge", "case_id", "passed")
COLUMNS = ("judge", "case_id", "sample", "passed", "labeller")
FOR_PEOPLE = ("stratum", "input", "expected", "answer", "comment")
"""Columns that help the labeller; they are not read back."""

KNOWN = (*COLUMNS, *FOR_PEOPLE)
ANONYMOUS = "anonymous"
_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "valid"), True),
    **dict.fromkeys(("false", "0", "no", "invalid"), False),
}

_Row = tuple[int, Mapping[str, Any] | InputError]
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Label:
    """What one person says of one answer, and the line it is written on."""

    judge: str
    case_id: str
    sample: int
    passed: bool
    labeller: str
    line: int


@dataclass(frozen=True)
class LabelFile:
    """The labels of a file, and how many of its rows are not filled in yet."""

    file: str
    labels: tuple[Label, ...]
    n_empty: int = 0


def load_labels(path: Path) -> LabelFile:
    """The labels in a JSONL or CSV file; InputError with every problem and its line."""
    suffix = path.suffix.lower()
    if suffix not in LABEL_SUFFIXES:
        remedy = f"write a {' or '.join(LABEL_SUFFIXES)} file"
        raise InputError(Problem("not a file labels can be read from", remedy, display_path(path)))
    return read_labels(read_text(path), display_path(path), is_csv=suffix == ".csv")


def read_labels(text: str, file: str, *, is_csv: bool) -> LabelFile:
    """The labels in a text; a row whose `passed` is empty is not labelled yet, and only counted."""
    labels: list[Label] = []
    problems: list[Problem] = []
    n_empty = 0
    for line, row in _csv(text, file) if is_csv else _jsonl(text, file):
        if isinstance(row, InputError):
            problems += row.problems
        elif _is_blank(row.get("passed")) and "passed" in row:
            n_empty += 1
        else:
            label, wrong = _label(row, file, line)
            labels += [label] if label else []
            problems += wrong
    if not problems and not labels:
        problems = [Problem("no label in it", "fill in `passed`: true or false", file)]
    if problems:
        raise InputError(*limit_problems(problems))
    return LabelFile(file, tuple(labels), n_empty)


def _jsonl(text: str, file: str) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = load_json(line, file, first_line=number).value
        except InputError as exc:
            yield number, exc
            continue
        is_object = isinstance(value, dict)
        yield number, value if is_object else _refusal("not a JSON object", "write {…}", file, number)


def _csv(text: str, file: str) -> Iterator[_Row]:
    try:
        rows = csv_rows(text, file)
        _, header = next(rows, (1, []))
        names = [name.strip() for name in header]
        _check_header(names, file)
        for line, cells in rows:
            if len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            else:
                message = f"{len(cells)} cells under {len(names)} columns"
                yield line, _refusal(message, "put text that holds commas in double quotes", file, line)
    except InputError as exc:
        yield 1, exc


def _check_header(names: list[str], file: str) -> None:
    problems = [
        Problem(f"no column {name!r}", did_you_mean(name, filter(None, names)), file, 1)
        for name in REQUIRED
        if name not in names
    ]
    problems += [_unknown(name, file, 1) for name in names if name not in KNOWN]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        problems = [Problem("one column only", "separate the columns by commas", file, 1)]
    problems += [
        Problem(f"two columns {name!r}", "remove one", file, 1)
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise InputError(*problems)


def _label(row: Mapping[str, Any], file: str, line: int) -> tuple[Label | None, list[Problem]]:
    """The label of a row, or everything that is wrong with it."""
    problems = [_unknown(name, file, line) for name in row if name not in KNOWN]

    def take(name: str, read: Callable[[Any], _Value], default: _Value) -> _Value:
        if _is_blank(row.get(name)) and name not in REQUIRED:
            return default
        try:
            return read(row.get(name))
        except ValueError as exc:
            problems.append(Problem(f"{name} {exc.args[0]}", exc.args[1], file, line))
            return default

    label = Label(
        judge=take("judge", _text, ""),
        case_id=take("case_id", _text, ""),
        sample=take("sample", _number, 1),
        passed=take("passed", _verdict, False),
        labeller=take("labeller", _text, ANONYMOUS),
        line=line,
    )
    return (None, problems) if problems else (label, [])


def _unknown(name: str, file: str, line: int) -> Problem:
    return Problem(f"unknown column {name!r}", did_you_mean(name, KNOWN), file, line)


def _text(value: Any) -> str:
    if _is_blank(value):
        raise ValueError("is missing", "write it")
    if not isinstance(value, str):
        raise ValueError("is not text", "put it in quotes")
    return value.strip()


def _number(value: Any) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 6 or int(text) < 1:
        raise ValueError(f"cannot be {str(value)[:40]!r}", "write 1 for the first answer to a case")
    return int(text)


def _verdict(value: Any) -> bool:
    word = str(value).strip().lower()
    if value is None:
        raise ValueError("is missing", "write true or false")
    if word not in _WORDS:
        raise ValueError(f"cannot be {str(value)[:40]!r}", f"write one of {', '.join(_WORDS)}")
    return _WORDS[word]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _refusal(message: str, remedy: str, file: str, line: int) -> InputError:
    return InputError(Problem(message, remedy, file, line))


_Place = tuple[str, str, int]  # judge, case, sample


@dataclass(frozen=True)
class Answer:
    """One answer as the grader marked it; `verdict` is None until then. `votes` are what people said."""

    job_id: int
    judge: str
    case_id: str
    sample: int
    stratum: str
    verdict: Verdict | None
    votes: tuple[bool, ...] = ()

    @property
    def is_graded(self) -> bool:
        """Whether the grader passed or failed it; an error is neither."""
        return self.verdict in ("passed", "failed")

    @property
    def passed(self) -> bool:
        """Whether the grader passed it."""
        return self.verdict == "passed"

    @property
    def human(self) -> bool | None:
        """What most people said; None without a label, and when they are evenly split."""
        ayes = sum(self.votes)
        return None if 2 * ayes == len(self.votes) else 2 * ayes > len(self.votes)

    @property
    def is_tied(self) -> bool:
        """Whether people are evenly split."""
        return bool(self.votes) and self.human is None


@dataclass(frozen=True)
class Vote:
    """A label with the job it belongs to."""

    job_id: int
    labeller: str
    passed: bool


def contested_cases(answers: Iterable[Answer]) -> frozenset[str]:
    """The cases on which the graded verdicts differ."""
    seen: defaultdict[str, set[bool]] = defaultdict(set)
    for answer in answers:
        if answer.is_graded:
            seen[answer.case_id].add(answer.passed)
    return frozenset(case_id for case_id, verdicts in seen.items() if len(verdicts) > 1)


def votes_of(labels: LabelFile, answers: Sequence[Answer], *, bakeoff_id: int) -> list[Vote]:
    """The labels of a file as votes; InputError with every label that belongs to no graded answer.

    Of two labels by one person for one answer, the later counts.
    """
    found = {(one.judge, one.case_id, one.sample): one for one in answers}
    votes: dict[tuple[int, str], Vote] = {}
    strays: list[Label] = []
    for label in labels.labels:
        answer = found.get((label.judge, label.case_id, label.sample))
        if answer is not None and answer.is_graded:
            votes[answer.job_id, label.labeller] = Vote(answer.job_id, label.labeller, label.passed)
        else:
            strays.append(label)
    if strays:
        raise InputError(*_complaints(strays, found, labels.file, bakeoff_id))
    return list(votes.values())


def _complaints(
    strays: Sequence[Label], found: Mapping[_Place, Answer], file: str, bakeoff_id: int
) -> list[Problem]:
    """Why each label belongs to no graded answer; only the first are looked at closely."""
    cases: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for judge, case_id, _ in found:
        cases[judge][case_id] = None
    problems = []
    for label in strays[:MAX_PROBLEMS]:
        answer = found.get((label.judge, label.case_id, label.sample))
        message, remedy = _complaint(label, answer, cases, bakeoff_id)
        problems.append(Problem(message, remedy, file, label.line))
    rest = len(strays) - MAX_PROBLEMS
    return [*problems, Problem(f"and {rest} more problems", file=file)] if rest > 0 else problems


def _complaint(
    label: Label, answer: Answer | None, cases: Mapping[str, Collection[str]], bakeoff_id: int
) -> tuple[str, str]:
    """Why a label belongs to no graded answer, and what to do."""
    if answer is not None:
        state = "could not be graded" if answer.verdict else "is not graded yet"
        return f"the answer of {label.judge} to case {label.case_id!r} {state}", "leave this line out"
    if label.judge not in cases:
        return f"judge {label.judge!r} is not in bake-off {bakeoff_id}", did_you_mean(label.judge, cases)
    if label.case_id not in cases[label.judge]:
        guess = get_close_matches(label.case_id, cases[label.judge], n=1)
        return f"bake-off {bakeoff_id} has no case {label.case_id!r}", "".join(
            f"did you mean {case_id!r}?" for case_id in guess
        )
    return f"{label.judge} gave no answer {label.sample} to case {label.case_id!r}", "the first sample is 1"


EXCERPT = 2000
"""Characters of an answer, an input or an expectation shown at most."""

_HEAD = (*COLUMNS, *FOR_PEOPLE)
_FORMULA = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")
"""Half-width and full-width signs: spreadsheets take both for the beginning of a formula."""


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
    """The same as JSON, one object a line; `passed` is null until filled in."""
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
        return "" if value is None else _template_text(value)
    if len(value) == 1:
        return _template_text(next(iter(value.values())))
    return "\n".join(f"{name}: {_template_text(part)}" for name, part in value.items())


def _template_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _excerpt(text: str) -> str:
    text = clean(text)
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _harmless(cell: str) -> str:
    """A model may answer with a formula; an apostrophe makes it text."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
