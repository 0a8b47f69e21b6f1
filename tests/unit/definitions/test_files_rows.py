"""Files of rows: any columns, every row with its line, every problem with its place."""

from pathlib import Path

import pytest

from evalq.definitions.files import Row, columns_of, load_rows
from evalq.errors import InputError


def rows(tmp_path: Path, name: str, text: str, **how: int) -> list[Row]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return load_rows(path, **how)


def test_every_json_line_is_a_row_with_its_line(tmp_path: Path) -> None:
    found = rows(tmp_path, "a.jsonl", '{"a": 1}\n\n{"b": {"c": ["x"]}}\n')
    assert found == [Row(1, {"a": 1}), Row(3, {"b": {"c": ["x"]}})]
    assert columns_of(found) == ["a", "b"]


def test_a_csv_row_may_run_over_several_lines(tmp_path: Path) -> None:
    found = rows(tmp_path, "a.csv", 'a, b\n"x\ny",1\nz,\n')
    assert found == [Row(2, {"a": "x\ny", "b": "1"}), Row(4, {"a": "z", "b": ""})]


def test_only_the_first_rows_are_read_when_so_many_are_asked_for(tmp_path: Path) -> None:
    assert len(rows(tmp_path, "a.jsonl", '{"a": 1}\n' * 3, limit=2)) == 2


def test_texts_are_composed_so_that_accents_compare_alike(tmp_path: Path) -> None:
    (found,) = rows(tmp_path, "a.jsonl", '{"e\u0301": ["e\u0301"]}\n')
    assert found.values == {"é": ["é"]}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.jsonl", '{"a": 1}\n[1]\n', ":2: a line that is not a JSON object"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', ":2: not JSON"),
        ("a.csv", "a,b\n1\n", ":2: 1 cells under 2 columns"),
        ("a.csv", "a,a\n1,2\n", ":1: a column without a name, or two of the same name"),
        ("a.csv", "a,b\n", "holds no rows"),
        ("a.jsonl", "", "holds no rows"),
        ("a.txt", "x", "not a file of rows; give a .jsonl or .csv file"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        rows(tmp_path, name, text)
