"""Turns a file of rows into an evalset: read, scrub, ask for names, make cases, and write after review."""

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
DEFAULT_SET = "ingested"

NO_PROMISE = (
    "what none of these kinds covers is still there: names without --names-by, customer numbers, anything "
    "said in other words; read the diff, and the file, before it is shared"
)


@dataclass(frozen=True)
class IngestOptions:
    """The user's request."""

    file: Path
    task: str
    eval_set: str | None = None
    output: Path | None = None
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    append: bool = False
    limit: int | None = None
    names_by: str | None = None
    allow_unpriced: bool = False
    pseudonym_key: bytes | None = None


@dataclass(frozen=True)
class IngestSource:
    """A file read and checked: its rows, the columns that make a case, and the file for the cases."""

    options: IngestOptions
    task: TaskConfig
    path: Path
    columns: ColumnMapping
    rows: tuple[Row, ...]
    existing: EvalSet | None

    def scrub(self, names: Mapping[int, Sequence[str]] | None = None) -> list[ScrubbedRow]:
        """Scrub every row; with names by line, only those rows, and these names too."""
        # Numbering continues after the stand-ins of the file and the set, so that none means two people.
        taken = [read_text(self.options.file)]
        if self.existing:
            taken.append(read_text(self.path))
        pseudonyms = Pseudonyms(self.options.pseudonym_key, taken=taken)
        scrubbed = []
        for row in self.rows:
            if names is None:
                row_names: Sequence[str] = ()
            elif row.line in names:
                row_names = names[row.line]
            else:
                continue
            values = used_values(row, self.columns)
            scrubbed.append(scrub_row(values, pseudonyms, line=row.line, names=row_names))
        return scrubbed


@dataclass(frozen=True)
class NamesPass:
    """The search for names by a model: which one, in which bake-off, at what cost."""

    judge: str
    bakeoff_id: int
    state: str
    spent_usd: str
    kept: bool
    unknown: int


@dataclass(frozen=True)
class Ingested:
    """The cases made of rows, for review; nothing is written yet."""

    file: str
    task: str
    path: str
    evalset: EvalSet
    columns: Mapping[str, Any]
    rows: int
    converted: ConvertedRows
    report: ScrubReport
    diff: str
    recall: Recall
    unread: tuple[SkippedRow, ...] = ()
    names: NamesPass | None = None

    @property
    def left_out(self) -> tuple[SkippedRow, ...]:
        """The rows that became no case, in file order; duplicates are listed apart."""
        return tuple(sorted((*self.converted.left_out, *self.unread), key=lambda row: row.line))

    @property
    def exit_code(self) -> int:
        """4 when the names pass stopped at its cap, 3 when rows are left out, else 0."""
        if self.names and self.names.state == "capped":
            return 4
        return 3 if self.left_out else 0

    def warnings(self) -> list[str]:
        """What a person must know before agreeing."""
        found = self.report.warnings()
        if self.converted.n_drafts:
            found.append(
                "cases that lack what the task's grading needs are marked draft: "
                f"{self.converted.n_drafts}; add it, then accept them"
            )
        if self.names is None:
            found.append("names of persons are not looked for; --names-by MODEL has a model find them")
        return [*found, NO_PROMISE]

    def document(self, *, written: bool, next_commands: list[str]) -> dict[str, Any]:
        """The `evalq.ingest/1` document; it contains no value that was replaced."""
        return {
            "schema": SCHEMA,
            "file": self.file,
            "task": self.task,
            "eval_set": self.evalset.name,
            "path": self.path,
            "columns": dict(self.columns),
            "rows": self.rows,
            "cases": len(self.converted.cases),
            "drafts": self.converted.n_drafts,
            "duplicates": list(self.converted.duplicates),
            "left_out": [asdict(row) for row in self.left_out],
            **self.report.document(),
            "names": asdict(self.names) if self.names else None,
            "recall": self.recall.document(),
            "diff": self.diff,
            "written": written,
            "warnings": self.warnings(),
            "next": next_commands,
        }


def read_source(options: IngestOptions, root: Path) -> IngestSource:
    """Read and check everything; every refusal happens here, before a model is asked."""
    task = load_task(find_task(options.task, root))
    path = _choose_target(options, task.name, root)
    refuse_writing(path, task=task.name, root=root)
    existing = None
    if options.append and path.exists():
        existing = load_evalset(path).evalset
    elif options.output:
        refuse_taken(path)
    else:
        refuse_taken(path, list_evalsets(task.name, root).values())
    rows = load_rows(options.file, limit=options.limit)
    columns = choose_columns(task, rows, options.columns, file=display_path(options.file))
    return IngestSource(options, task, path, columns, tuple(rows), existing)


def plan_names_query(source: IngestSource, rows: Sequence[ScrubbedRow]) -> ModelQuery | None:
    """The questions about names in scrubbed rows; None when no model is to be asked, or about no row."""
    options = source.options
    if options.names_by is None:
        return None
    asked = _rows_of_cases(rows, _convert(source, rows))
    if not asked:
        return None
    return names_query(
        asked, file=options.file, judge=options.names_by, allow_unpriced=options.allow_unpriced
    )


def make_cases(
    source: IngestSource, rows: Sequence[ScrubbedRow], replies: QueryReplies | None = None
) -> Ingested:
    """Make the cases and their review; with replies, names are replaced and unread rows left out."""
    converted = _convert(source, rows)
    unread: tuple[SkippedRow, ...] = ()
    names_pass = None
    if replies:
        names = read_replies(_rows_of_cases(rows, converted), replies)
        unread = names.unread
        names_pass = _describe_names_pass(replies, names)
        # Only rows that were read go on: a duplicate of an unread row contains names, too.
        rows = source.scrub(names.by_line)
        converted = _combine(converted, _convert(source, rows))
    kept = _rows_of_cases(rows, converted)
    file, path = display_path(source.options.file), display_path(source.path)
    ingested = Ingested(
        file=file,
        task=source.task.name,
        path=path,
        evalset=_build_evalset(source, converted),
        columns=asdict(source.columns),
        rows=len(source.rows),
        converted=converted,
        report=make_report(kept),
        diff=render_diff(kept, before=file, after=path),
        recall=measure_recall(load_marked()),
        unread=unread,
        names=names_pass,
    )
    if converted.cases:
        evalset_text(ingested.evalset, source.path)  # refuses a set that is too large before the review
    return ingested


def write_cases(source: IngestSource, ingested: Ingested) -> None:
    """Write the reviewed cases."""
    write_evalset(source.path, ingested.evalset)


def _choose_target(options: IngestOptions, task: str, root: Path) -> Path:
    """The file to write: the one named, or the set's in the project, in the format it has there."""
    if options.output is not None:
        path = options.output
    else:
        folder = root / "evalsets" / task
        name = options.eval_set or DEFAULT_SET
        path = folder / f"{name}.yaml"
        existing = [found for found in definition_files(folder, EVALSET_SUFFIXES) if found.stem == name]
        if options.append and existing:
            path = existing[0]
    name = options.eval_set or path.stem
    if not is_name(path.stem) or path.stem != name:
        remedy = f"{NAME_REMEDY}; a path goes to -o"
        raise InputError(Problem(f"{name!r} cannot name an evalset", remedy))
    if path.suffix.lower() not in WRITTEN_SUFFIXES:
        remedy = f"name it {', '.join(WRITTEN_SUFFIXES)}"
        raise InputError(Problem("not a file cases are written to", remedy, display_path(path)))
    return path


def _convert(source: IngestSource, rows: Sequence[ScrubbedRow]) -> ConvertedRows:
    existing = source.existing.cases if source.existing else ()
    file = display_path(source.options.file)
    return convert_rows(source.task, rows, source.columns, existing=existing, file=file)


def _rows_of_cases(rows: Sequence[ScrubbedRow], converted: ConvertedRows) -> list[ScrubbedRow]:
    lines = set(converted.lines)
    return [row for row in rows if row.line in lines]


def _combine(first: ConvertedRows, last: ConvertedRows) -> ConvertedRows:
    """The cases of the last conversion, and the rows that either of the two did not take."""
    return replace(
        last,
        duplicates=tuple(sorted((*first.duplicates, *last.duplicates))),
        left_out=(*first.left_out, *last.left_out),
    )


def _build_evalset(source: IngestSource, converted: ConvertedRows) -> EvalSet:
    if source.existing is not None:
        return source.existing.model_copy(update={"cases": [*source.existing.cases, *converted.cases]})
    return EvalSet.model_construct(
        name=source.path.stem, task=source.task.name, description="", cases=list(converted.cases)
    )


def _describe_names_pass(replies: QueryReplies, names: NamesFound) -> NamesPass:
    return NamesPass(
        replies.judge,
        replies.bakeoff_id,
        replies.state,
        f"{replies.spent_usd:.4f}",
        replies.is_kept,
        names.n_unknown,
    )
