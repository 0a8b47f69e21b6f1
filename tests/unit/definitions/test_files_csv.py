from typing import Any

import pytest

from evalq.definitions.files import read_csv_cases
from evalq.errors import InputError


def cases_of(text: str) -> list[tuple[int, dict[str, Any]]]:
    return list(read_csv_cases(text, "f.csv"))


def problem_of(text: str) -> str:
    with pytest.raises(InputError) as caught:
        cases_of(text)
    return str(caught.value)


def test_columns_become_the_parts_of_a_case() -> None:
    header = "id,text,inputs.lang,expected,expected.note,stratum.kind,expected_type"
    ((line, case),) = cases_of(f"{header}\n a1 ,hello,en,yes,n,short,negative\n")
    assert line == 2
    assert case == {
        "id": "a1",
        "inputs": {"text": "hello", "lang": "en"},
        "expected": {"answer": "yes", "note": "n"},
        "stratum": {"kind": "short"},
        "expected_type": "negative",
    }


def test_empty_cells_are_left_out_except_inputs_and_ids() -> None:
    ((_, case),) = cases_of("id,text,other,expected,stratum.kind,expected_type\n,,x,,,\n")
    assert case == {"id": "", "inputs": {"text": "", "other": "x"}}


@pytest.mark.parametrize("cell", ["a | b|", '"[""a"", ""b""]"'])
@pytest.mark.parametrize("key", ["any_of", "relevant"])
def test_lists_are_written_with_bars_or_as_json(key: str, cell: str) -> None:
    ((_, case),) = cases_of(f"id,expected.{key}\n1,{cell}\n")
    assert case["expected"] == {key: ["a", "b"]}


def test_a_list_that_is_bad_json_names_its_line() -> None:
    assert problem_of("id,expected.any_of\n1,a\n2,[oops\n").startswith("f.csv:3: not JSON: ")


def test_text_in_quotes_may_run_over_lines_and_lines_still_count() -> None:
    cases = cases_of('id,text\n1,"two\nlines, ""quoted"""\n\n,\n2,x\n')
    assert [line for line, _ in cases] == [2, 6]
    assert cases[0][1]["inputs"] == {"text": 'two\nlines, "quoted"'}


def test_numbers_stay_the_text_they_are() -> None:
    ((_, case),) = cases_of("id,zip\n007,01234\n")
    assert (case["id"], case["inputs"]) == ("007", {"zip": "01234"})


def test_a_dot_in_any_other_column_is_part_of_its_name() -> None:
    ((_, case),) = cases_of("id,a.b,inputs\n1,x,y\n")
    assert case["inputs"] == {"a.b": "x", "inputs": "y"}


def test_long_documents_fit_in_a_cell() -> None:
    ((_, case),) = cases_of(f"id,text\n1,{'x' * 200_000}\n")
    assert len(case["inputs"]["text"]) == 200_000


@pytest.mark.parametrize("text", ["", "\n\n", "text,expected\nhello,x\n"])
def test_a_file_without_an_id_column_is_refused(text: str) -> None:
    assert problem_of(text) == "f.csv:1: CSV without an id column; add one, with a different id in every row"


@pytest.mark.parametrize("mark", [";", "\t"])
def test_other_separators_are_recognised_in_the_remedy(mark: str) -> None:
    assert "separate the columns by commas" in problem_of(f"id{mark}text\n1{mark}x\n")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,text,text", "two columns for 'inputs.text'"),
        ("id,text,inputs.text", "two columns for 'inputs.text'"),
        ("id,expected,expected.answer", "two columns for 'expected.answer'"),
        ("id,,text", "a column without a name"),
        ("id,stratum.", "column 'stratum.' names no key; write stratum.KEY"),
    ],
)
def test_bad_headers_are_refused(header: str, message: str) -> None:
    assert problem_of(f"{header}\n").startswith(f"f.csv:1: {message}")


@pytest.mark.parametrize("row", ["1", "1,a,b"])
def test_a_row_of_another_length_is_refused(row: str) -> None:
    assert problem_of(f"id,text\n0,x\n{row}\n").startswith(
        f"f.csv:3: {len(row.split(','))} cells under 2 columns"
    )


@pytest.mark.parametrize("row", ['1,"never closed', '1,"a"b'])
def test_broken_quotes_are_refused_where_the_row_begins(row: str) -> None:
    assert problem_of(f"id,text\n0,x\n{row}\n").startswith("f.csv:3: not CSV: ")
