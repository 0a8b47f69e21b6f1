"""Label files: what is read, what is passed over, and every problem with its line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.errors import InputError
from evalq.review.labels import ANONYMOUS, Label, load_labels, read_labels

HEAD = "judge,case_id,sample,passed,labeller\n"


def csv(text: str) -> list[Label]:
    return list(read_labels(text, "l.csv", is_csv=True).labels)


def problems(text: str, *, is_csv: bool) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_labels(text, "l", is_csv=is_csv)
    return [str(problem) for problem in caught.value.problems]


def test_csv_and_jsonl_say_the_same() -> None:
    table = HEAD + "a,c1,2,yes,ann\na,c2,,0,\n"
    rows = [
        {"judge": "a", "case_id": "c1", "sample": 2, "passed": True, "labeller": "ann"},
        {"judge": "a", "case_id": "c2", "passed": 0},
    ]
    lines = "\n".join(map(json.dumps, rows)) + "\n\n"

    expected = [Label("a", "c1", 2, True, "ann", 2), Label("a", "c2", 1, False, ANONYMOUS, 3)]
    assert csv(table) == expected
    read = read_labels(lines, "l.jsonl", is_csv=False).labels
    assert [(one.judge, one.case_id, one.sample, one.passed, one.labeller) for one in read] == [
        (one.judge, one.case_id, one.sample, one.passed, one.labeller) for one in expected
    ]
    assert [one.line for one in read] == [1, 2]


@pytest.mark.parametrize(
    ("word", "passed"),
    [
        *[("true", True), ("1", True), ("Yes", True), (" VALID ", True)],
        *[("False", False), ("0", False), ("no", False), ("invalid", False)],
    ],
)
def test_a_verdict_may_be_written_in_several_words(word: str, passed: bool) -> None:
    assert [one.passed for one in csv(f"{HEAD}a,c,1,{word},x\n")] == [passed]


@pytest.mark.parametrize("value", [True, 1, "true", "yes", "valid"])
def test_json_may_use_its_own_true(value: object) -> None:
    line = json.dumps({"judge": "a", "case_id": "c", "passed": value})
    assert [one.passed for one in read_labels(line, "l", is_csv=False).labels] == [True]


def test_rows_nobody_has_filled_in_are_counted_and_passed_over() -> None:
    found = read_labels(HEAD + "a,c1,1,,\na,c2,1, ,\na,c3,1,no,\n", "l", is_csv=True)
    assert ([one.case_id for one in found.labels], found.n_empty) == (["c3"], 2)


def test_a_file_without_a_label_is_refused() -> None:
    assert problems(HEAD + "a,c1,1,,\n", is_csv=True) == [
        "l: no label in it; fill in `passed`: true or false"
    ]
    assert problems('{"judge": "a", "case_id": "c", "passed": null}', is_csv=False)[0].startswith(
        "l: no label"
    )


def test_every_wrong_line_of_a_csv_file_is_named() -> None:
    text = HEAD + "a,c1,1,maybe,\n,c2,1,yes,\na,c3,0,yes,\na,c4,1\na,c5,1,yes,x\n"
    found = problems(text, is_csv=True)
    assert [one.split(":")[1] for one in found] == ["2", "3", "4", "5"]
    assert "passed cannot be 'maybe'; write one of true, 1, yes" in found[0]
    assert "judge is missing" in found[1]
    assert "sample cannot be '0'" in found[2]
    assert "3 cells under 5 columns" in found[3]


def test_every_wrong_line_of_a_jsonl_file_is_named() -> None:
    lines = [
        "{",
        "[1]",
        '{"judge": "a", "case_id": "c"}',
        '{"judge": "a", "case_id": 7, "passed": true}',
        '{"judge": "a", "case_id": "c", "passed": 2, "sample": true}',
        '{"judge": "a", "case_id": "c", "passed": true, "labeler": "x"}',
    ]
    found = problems("\n".join(lines), is_csv=False)
    assert [one.split(":")[1] for one in found] == ["1", "2", "3", "4", "5", "5", "6"]
    assert "not JSON" in found[0]
    assert "not a JSON object" in found[1]
    assert "passed is missing" in found[2]
    assert "case_id is not text" in found[3]
    assert {"sample cannot", "passed cannot"} == {one.split(": ")[1][:13] for one in found[4:6]}
    assert "unknown column 'labeler'; did you mean 'labeller'?" in found[6]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("judge,case,passed", "no column 'case_id'"),
        ("judge;case_id;passed", "separate the columns by commas"),
        ("judge,case_id,passed,passed", "two columns 'passed'"),
        ("judge,case_id,passed,note", "unknown column 'note'"),
        ("", "no column 'judge'"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused_on_its_line(head: str, words: str) -> None:
    found = problems(f"{head}\na,b,true\n", is_csv=True)
    assert any(words in one for one in found)
    assert all(one.startswith("l:1: ") for one in found)


def test_an_unclosed_quote_is_a_problem_with_a_line() -> None:
    assert problems(HEAD + 'a,"c1,1,yes,\n', is_csv=True)[0].startswith("l:2: not CSV")


def test_a_thousand_problems_are_cut() -> None:
    assert problems(HEAD + "a,c,1,perhaps,\n" * 1000, is_csv=True)[-1] == "l: and 950 more problems"


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "l.CSV").write_text("\ufeff" + HEAD + "a,c,1,yes,\n", "utf-8")
    (tmp_path / "l.jsonl").write_text('{"judge": "a", "case_id": "c", "passed": true}\n', "utf-8")
    assert len(load_labels(tmp_path / "l.CSV").labels) == len(load_labels(tmp_path / "l.jsonl").labels) == 1
    with pytest.raises(InputError, match=r"write a \.csv or \.jsonl file"):
        load_labels(tmp_path / "l.xlsx")
    with pytest.raises(InputError, match="no such file"):
        load_labels(tmp_path / "absent.csv")


@given(st.text(max_size=200), st.booleans())
def test_whatever_is_in_a_file_is_read_or_refused(text: str, is_csv: bool) -> None:
    try:
        n_labels, problems = len(read_labels(text, "l", is_csv=is_csv).labels), ()
    except InputError as exc:
        n_labels, problems = 0, exc.problems
    assert bool(n_labels) is not bool(problems)
    assert all(problem.file == "l" for problem in problems)
