"""Which column becomes what: by wish, by name, or by a problem that lists them all."""

import pytest

from evalq.cases.rows_to_cases import (
    ColumnMapping,
    ColumnOptions,
    choose_columns,
    read_cell,
    read_pairs,
    used_values,
)
from evalq.definitions.files import Row
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.errors import InputError

TASK = TaskConfig(
    name="mails",
    system_prompt="s",
    user_template="{sender}: {text}",
    scoring=ScoringConfig(mode="strict_substring"),
)
ROWS = [Row(2, {"sender": "a", "Text": "b", "expected": "c", "meta": {"lang": "EN", "id": 7}, "note": "n"})]


def chosen(options: ColumnOptions = ColumnOptions(), rows: list[Row] = ROWS) -> ColumnMapping:  # noqa: B008 - frozen
    return choose_columns(TASK, rows, options, file="f.jsonl")


def test_columns_are_found_by_the_names_of_the_inputs_in_any_case() -> None:
    columns = chosen()
    assert columns.inputs == {"sender": "sender", "text": "Text"}
    assert (columns.expected, columns.id, columns.stratum) == ("expected", None, {})


def test_options_go_before_names_and_reach_into_nested_values() -> None:
    columns = chosen(ColumnOptions({"text": "note"}, "sender", "meta.id", {"lang": "meta.lang"}))
    assert used_values(ROWS[0], columns) == {"sender": "a", "note": "n", "meta.lang": "EN", "meta.id": 7}


def test_nothing_but_the_columns_used_is_looked_at() -> None:
    assert set(used_values(ROWS[0], chosen())) == {"sender", "Text", "expected"}


def test_missing_columns_are_named_beside_those_there_are() -> None:
    with pytest.raises(InputError) as caught:
        chosen(rows=[Row(1, {"from": "a", "body": "b"})])
    assert str(caught.value) == (
        "f.jsonl:1: task 'mails' needs sender, text; the columns are from, body; "
        "say which is which: --map sender=COLUMN,text=COLUMN"
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (ColumnOptions({"txt": "note"}), "task 'mails' has no input 'txt'; did you mean 'text'?"),
        (ColumnOptions({"text": "notes"}), "no column 'notes'; did you mean 'note'?"),
        (ColumnOptions(expected="answer"), "no column 'answer'"),
        (ColumnOptions(id="meta.uid"), "no column 'meta.uid'"),
        (ColumnOptions(stratum={"lang": "language"}), "no column 'language'"),
    ],
)
def test_a_column_that_is_not_there_is_refused(options: ColumnOptions, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("?", r"\?")):
        chosen(options)


def test_a_column_with_a_dot_in_its_name_is_itself_first() -> None:
    assert read_cell({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert read_cell({"a": {"b.c": 3}}, "a.b.c") == 3
    assert read_cell({"a": "text"}, "a.b") is None


def test_pairs_are_read_and_a_bare_name_is_its_own_column() -> None:
    assert read_pairs("text=body, lang", "--map") == {"text": "body", "lang": "lang"}
    assert read_pairs("", "--map") == {}
    for wrong in ("=a", "a=", "a=b,=c"):
        with pytest.raises(InputError, match="not of the form name=column"):
            read_pairs(wrong, "--map")
