"""The way of a file of rows into an evalset: read, scrub, ask for names, make cases; write when told to."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evalq.bakeoff.holdout.guard import refuse_writing
from evalq.bakeoff.probes import ModelQuery, QueryReplies
from evalq.cases.person_names import NamesFound, names_query, read_replies
from evalq.cases.rows_to_cases import (
    ColumnMapping,
    ColumnOptions,
    ConvertedRows,
    SkippedRow,
    choose_columns,
    convert_rows,
    used_values,
)
from evalq.cases.scrub.report import (
    Recall,
    ScrubReport,
    load_marked,
    make_report,
    measure_recall,
    render_diff,
)
from evalq.cases.scrub.scrub import Pseudonyms, ScrubbedRow, scrub_row
from evalq.definitions.definition import NAME_REMEDY, is_name
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import (
    EVALSET_SUFFIXES,
    Row,
    display_path,
    load_evalset,
    load_rows,
    load_task,
    read_text,
)
from evalq.definitions.project import definition_files, find_task, list_evalsets
from evalq.definitions.task import TaskConfig
from evalq.definitions.writing import WRITTEN_SUFFIXES, evalset_text, refuse_taken, write_evalset
from evalq.errors import InputError, Problem

SCHEMA = "evalq.ingest/1"

NO_PROMISE = (
    "what none of these kinds covers is still there: names without --names-by, customer numbers, anything "
    "said in other words; read the diff, and the file, before it is shared"
)


@dataclass(frozen=True)
class NamesPass:
    """The names pass: who was asked, in which bake-off, for how much."""

    judge: str
    bakeoff_id: int
    state: str
    spent_usd: str
    kept: bool
    unknown: int


@dataclass(frozen=True)
class Ingested:
    """Rows on their way into an evalset; nothing is written yet."""

    file: str
    task: str
    path: str
    evalset: EvalSet
    columns: Mapping[str, Any]
    rows: int
    cast: ConvertedRows
    report: ScrubReport
    diff: str
    recall: Recall
    unread: tuple[SkippedRow, ...] = ()
    names: NamesPass | None = None

    @property
    def left_out(self) -> tuple[SkippedRow, ...]:
        """Every row that became no case, in the order of the file; duplicates apart."""
        return tuple(sorted((*self.cast.left_out, *self.unread), key=lambda one: one.line))

    @property
    def exit_code(self) -> int:
        """4 when the names pass stopped at its cap, 3 when rows are left out, else 0."""
        if self.names and self.names.state == "capped":
            return 4
        return 3 if self.left_out else 0

    def warnings(self) -> list[str]:
        """What a person must know before saying yes."""
        found = self.report.warnings()
        if self.cast.n_drafts:
            found.append(
                f"cases that lack what the task's grading needs are marked draft: {self.cast.n_drafts}; "
                f"add it, then accept them"
            )
        if self.names is None:
            found.append("names of persons are not looked for; --names-by MODEL has a model find them")
        return [*found, NO_PROMISE]

    def document(self, *, written: bool, next_commands: list[str]) -> dict[str, Any]:
        """The `evalq.ingest/1` document; no value that was replaced is in it."""
        return {
            "schema": SCHEMA,
            "file": self.file,
            "task": self.task,
            "eval_set": self.evalset.name,
            "path": self.path,
            "columns": dict(self.columns),
            "rows": self.rows,
            "cases": len(self.cast.cases),
            "drafts": self.cast.n_drafts,
            "duplicates": list(self.cast.duplicates),
            "left_out": [asdict(one) for one in self.left_out],
            **self.report.document(),
            "names": asdict(self.names) if self.names else None,
            "recall": self.recall.document(),
            "diff": self.diff,
            "written": written,
            "warnings": self.warnings(),
            "next": next_commands,
        }


DEFAULT_SET = "ingested"


@dataclass(frozen=True)
class IngestOptions:
    """What the user asked for."""

    file: Path
    task: str
    eval_set: str | None = None
    output: Path | None = None
    wishes: ColumnOptions = field(default_factory=ColumnOptions)
    append: bool = False
    limit: int | None = None
    names_by: str | None = None
    allow_unpriced: bool = False
    pseudonym_key: bytes | None = None


@dataclass(frozen=True)
class IngestSource:
    """A file read and checked: its rows, which columns make a case, and where the cases are to go."""

    order: IngestOptions
    task: TaskConfig
    path: Path
    columns: ColumnMapping
    rows: tuple[Row, ...]
    existing: EvalSet | None

    def scrub(self, names: Mapping[int, Sequence[str]] | None = None) -> list[ScrubbedRow]:
        """Every row scrubbed; with names by line, only those rows, and these replaced too."""
        # Numbers go on where those of the file and of the set end: no stand-in means two people.
        taken = [read_text(self.order.file)] + ([read_text(self.path)] if self.existing else [])
        pseudonyms = Pseudonyms(self.order.pseudonym_key, taken=taken)
        return [
            scrub_row(
                used_values(row, self.columns),
                pseudonyms,
                line=row.line,
                names=names[row.line] if names is not None else (),
            )
            for row in self.rows
            if names is None or row.line in names
        ]


def read_source(order: IngestOptions, root: Path) -> IngestSource:
    """Read and check everything; every refusal comes here, before anything is asked of anybody."""
    task = load_task(find_task(order.task, root))
    path = _target(order, task.name, root)
    refuse_writing(path, task=task.name, root=root)
    existing = load_evalset(path).evalset if order.append and path.exists() else None
    if existing is None:
        refuse_taken(path, () if order.output else list_evalsets(task.name, root).values())
    rows = load_rows(order.file, limit=order.limit)
    columns = choose_columns(task, rows, order.wishes, file=display_path(order.file))
    return IngestSource(order, task, path, columns, tuple(rows), existing)


def names_wanted(source: IngestSource, rows: Sequence[ScrubbedRow]) -> ModelQuery | None:
    """The questions on names in rows already scrubbed of all else; None when nobody is to be asked."""
    order = source.order
    if order.names_by is None:
        return None
    asked = _becoming_cases(rows, _cast(source, rows))
    if not asked:
        return None
    return names_query(asked, file=order.file, judge=order.names_by, allow_unpriced=order.allow_unpriced)


def make_cases(
    source: IngestSource, rows: Sequence[ScrubbedRow], replies: QueryReplies | None = None
) -> Ingested:
    """The cases and all there is to review; with replies, names are replaced and unread rows left out."""
    cast, names = _cast(source, rows), None
    if replies:
        names = read_replies(_becoming_cases(rows, cast), replies)
        # Only rows that were read go on: a duplicate of one that was not has names in it, too.
        rows = source.scrub(names.by_line)
        cast = _joined(cast, _cast(source, rows))
    kept = _becoming_cases(rows, cast)
    file, path = display_path(source.order.file), display_path(source.path)
    ingested = Ingested(
        file=file,
        task=source.task.name,
        path=path,
        evalset=_evalset(source, cast),
        columns=asdict(source.columns),
        rows=len(source.rows),
        cast=cast,
        report=make_report(kept),
        diff=render_diff(kept, before=file, after=path),
        recall=measure_recall(load_marked()),
        unread=names.unread if names else (),
        names=_names_pass(replies, names) if replies and names else None,
    )
    if cast.cases:
        evalset_text(ingested.evalset, source.path)  # too large is said now, not after the review
    return ingested


def write_cases(source: IngestSource, ingested: Ingested) -> None:
    """Write what was reviewed."""
    write_evalset(source.path, ingested.evalset)


def _cast(source: IngestSource, rows: Sequence[ScrubbedRow]) -> ConvertedRows:
    existing = source.existing.cases if source.existing else ()
    return convert_rows(
        source.task, rows, source.columns, existing=existing, file=display_path(source.order.file)
    )


def _becoming_cases(rows: Sequence[ScrubbedRow], cast: ConvertedRows) -> list[ScrubbedRow]:
    lines = set(cast.lines)
    return [row for row in rows if row.line in lines]


def _joined(first: ConvertedRows, last: ConvertedRows) -> ConvertedRows:
    """The cases of the last, and what either did not take."""
    return replace(
        last,
        duplicates=tuple(sorted((*first.duplicates, *last.duplicates))),
        left_out=(*first.left_out, *last.left_out),
    )


def _evalset(source: IngestSource, cast: ConvertedRows) -> EvalSet:
    if source.existing is not None:
        return source.existing.model_copy(update={"cases": [*source.existing.cases, *cast.cases]})
    return EvalSet.model_construct(
        name=source.path.stem, task=source.task.name, description="", cases=list(cast.cases)
    )


def _names_pass(replies: QueryReplies, names: NamesFound) -> NamesPass:
    return NamesPass(
        replies.judge,
        replies.bakeoff_id,
        replies.state,
        f"{replies.spent_usd:.4f}",
        replies.is_kept,
        names.n_unknown,
    )


def _target(order: IngestOptions, task: str, root: Path) -> Path:
    """The file to write: the one named, or the set's in the project, in the format it has there."""
    if order.output is not None:
        path = order.output
    else:
        folder, name = root / "evalsets" / task, order.eval_set or DEFAULT_SET
        there = [found for found in definition_files(folder, EVALSET_SUFFIXES) if found.stem == name]
        path = there[0] if order.append and there else folder / f"{name}.yaml"
    if not is_name(path.stem) or path.stem != (order.eval_set or path.stem):
        remedy = f"{NAME_REMEDY}; a path goes to -o"
        raise InputError(Problem(f"{order.eval_set or path.stem!r} cannot name an evalset", remedy))
    if path.suffix.lower() not in WRITTEN_SUFFIXES:
        raise InputError(
            Problem(
                "not a file cases are written to",
                f"name it {', '.join(WRITTEN_SUFFIXES)}",
                display_path(path),
            )
        )
    return path
