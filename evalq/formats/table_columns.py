"""Proposes which columns of a table hold the question, the expected answer, the id and the stratum."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from evalq.definitions.definition import did_you_mean
from evalq.errors import InputError, Problem
from evalq.formats.table_files import TableFile

_QUESTIONS = (
    *("prompt", "question", "query", "input", "user_query", "user_input", "instruction", "problem"),
    *(
        "ticket",
        "subject",
        "title",
        "text",
        "message",
        "body",
        "content",
        "description",
        "context",
        "passage",
    ),
    *("document", "email", "mail", "review", "comment", "sentence", "utterance", "request", "conversation"),
    *("transcript", "post", "article", "review_text", "ticket_text", "message_text", "complaint"),
)
_ANSWERS = (
    *("expected", "answer", "label", "ideal", "target", "expected_output", "expected_answer"),
    *("correct_answer", "reference", "ground_truth", "gold", "solution", "completion", "response", "output"),
    *("team", "class", "category", "intent", "sentiment", "tag", "queue", "department", "topic", "verdict"),
)
_IDS = ("id", "case_id", "uid", "uuid", "ticket_id", "key", "nr", "no", "number", "#")
_STRATA = (
    *("stratum", "category", "subject", "difficulty", "language", "lang", "locale", "topic", "segment"),
    *("channel", "region", "country", "product", "tier", "priority", "type", "group", "source", "domain"),
)
_MOST_STRATA = 20
_MOST_LABELS = 30


@dataclass(frozen=True)
class TableColumns:
    """The columns to use; `guessed` names those that no option decided."""

    inputs: tuple[str, ...] = ()
    expected: str | None = None
    id: str | None = None
    stratum: str | None = None
    guessed: tuple[str, ...] = ()

    def describe(self) -> str:
        """Which column is taken for what."""
        parts = [f"input: {', '.join(self.inputs)}", f"expected: {self.expected}"]
        parts.append(f"id: {self.id}" if self.id else "ids: made from the inputs")
        if self.stratum:
            parts.append(f"stratum: {self.stratum}")
        return " · ".join(parts)


def choose_columns(table: TableFile, named: TableColumns) -> TableColumns:
    """Complete the columns that the user named by guesses; InputError for a name that does not exist."""
    named = _match_names(table, named)
    chosen = _Choice(table, named)
    expected = named.expected or chosen.guess_expected()
    inputs = named.inputs or chosen.guess_inputs(expected)
    if expected is None:
        expected = chosen.guess_label_column(inputs)
    if not inputs or expected is None:
        missing = "an input" if not inputs else "what is expected"
        option = "--input" if not inputs else "--expected"
        remedy = f"name it: {option} COLUMN, one of {', '.join(table.columns)}"
        raise InputError(Problem(f"no column that looks like {missing}", remedy, table.file, 1))
    settled = replace(named, inputs=inputs, expected=expected)
    settled = replace(settled, id=named.id or chosen.guess_id(settled))
    settled = replace(settled, stratum=named.stratum or chosen.guess_stratum(settled))
    guessed = [part for part in ("inputs", "expected", "id", "stratum") if not getattr(named, part)]
    return replace(settled, guessed=tuple(guessed))


def _match_names(table: TableFile, named: TableColumns) -> TableColumns:
    """The names as the table writes them: letter case and blanks aside."""
    known = {_fold(column): column for column in table.columns}
    problems = []

    def find(name: str | None) -> str | None:
        if name is None or name in table.columns:
            return name
        if _fold(name) not in known:
            hint = did_you_mean(name, sorted(table.columns))
            there_are = f"there are {', '.join(table.columns)}"
            remedy = f"{hint}; {there_are}" if hint else there_are
            problems.append(Problem(f"no column {name!r}", remedy, table.file, 1))
        return known.get(_fold(name))

    inputs = [find(name) for name in named.inputs]
    found = TableColumns((), find(named.expected), find(named.id), find(named.stratum))
    if problems:
        raise InputError(*problems)
    return replace(found, inputs=tuple(name for name in inputs if name is not None))


def _fold(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())


class _Choice:
    """The guesses, from the columns' names first and their cells second."""

    def __init__(self, table: TableFile, named: TableColumns) -> None:
        self._table = table
        taken = {*named.inputs, named.expected, named.id, named.stratum}
        self._free = [column for column in table.columns if column not in taken]

    def guess_expected(self) -> str | None:
        return _first_named(_ANSWERS, self._free)

    def guess_inputs(self, expected: str | None) -> tuple[str, ...]:
        """Every column named like a question; else the one with the longest text."""
        free = [column for column in self._free if column != expected]
        found = [column for column in free if _fold(column) in _QUESTIONS]
        if found and len(found) < len(self._table.columns):
            return tuple(found)
        texts = [column for column in free if not self._is_id(column)]
        return (max(texts, key=self._mean_length),) if texts else ()

    def guess_label_column(self, inputs: Sequence[str]) -> str | None:
        """The only other column, or the last with few different values."""
        free = [column for column in self._free if column not in inputs and not self._is_id(column)]
        if len(free) == 1:
            return free[0]
        fitting = [column for column in free if 2 <= self._n_distinct(column) <= _MOST_LABELS]
        return fitting[-1] if fitting else None

    def guess_id(self, chosen: TableColumns) -> str | None:
        for column in self._list_unused(chosen):
            if self._is_id(column):
                return column
        return None

    def guess_stratum(self, chosen: TableColumns) -> str | None:
        for column in self._list_unused(chosen):
            if _fold(column) in _STRATA and 2 <= self._n_distinct(column) <= _MOST_STRATA:
                return column
        return None

    def _list_unused(self, chosen: TableColumns) -> list[str]:
        used = {*chosen.inputs, chosen.expected, chosen.id}
        return [column for column in self._free if column not in used]

    def _is_id(self, column: str) -> bool:
        """Named like an id, and different in every row."""
        name, values = _fold(column), self._table.values(column)
        is_named = name in _IDS or name.endswith("_id")
        return is_named and len(values) == len(self._table.records) == len(set(values))

    def _mean_length(self, column: str) -> float:
        return sum(map(len, self._table.values(column))) / len(self._table.records)

    def _n_distinct(self, column: str) -> int:
        return len(set(self._table.values(column)))


def _first_named(names: Iterable[str], columns: Sequence[str]) -> str | None:
    by_name = {_fold(column): column for column in columns}
    for name in names:
        if name in by_name:
            return by_name[name]
    return None
