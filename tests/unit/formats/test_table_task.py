from pathlib import Path

import pytest

from evalq.definitions.fit import check_fit
from evalq.errors import InputError
from evalq.formats.table_columns import TableColumns, choose_columns
from evalq.formats.table_files import TableFile, read_table
from evalq.formats.table_task import TableDraft, draft_task, guess_kind


def table_of(tmp_path: Path, text: str) -> TableFile:
    (tmp_path / "t.csv").write_text(text, "utf-8")
    return read_table(tmp_path / "t.csv")


def draft(tmp_path: Path, text: str, named: TableColumns | None = None) -> TableDraft:
    table = table_of(tmp_path, text)
    return draft_task("mine", table, choose_columns(table, named or TableColumns()))


@pytest.mark.parametrize(
    ("head", "row", "columns"),
    [
        ("ticket,team", "x,a", ("ticket", "team", None, None)),
        ("team,ticket", "a,x", ("ticket", "team", None, None)),
        ("id,question,answer,category", "{n},x,a,{n}", ("question", "answer", "id", "category")),
        ("Ticket ID,Message Text,Queue,Lang", "{n},x,a,{n}", ("Message Text", "Queue", "Ticket ID", "Lang")),
        ("order_id,they wrote,handled by", "{n},some text,a", ("they wrote", "handled by", "order_id", None)),
        ("id,text,label", "same,x,a", ("text", "label", None, None)),
        ("text,category", "x,a", ("text", "category", None, None)),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_name_and_content(
    tmp_path: Path, head: str, row: str, columns: tuple[str | None, ...]
) -> None:
    rows = "".join(row.replace("{n}", str(n)) + "\n" for n in range(3))
    found = choose_columns(table_of(tmp_path, f"{head}\n{rows}"), TableColumns())
    assert (*found.inputs, found.expected, found.id, found.stratum) == columns


def test_several_columns_named_like_questions_are_all_shown(tmp_path: Path) -> None:
    made = draft(tmp_path, "subject,body,label\na,b,x\nc,d,y\ne,f,x\ng,h,y\n")
    assert made.task.user_template == "subject: {subject}\nbody: {body}\n"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (TableColumns(expected="taem"), "no column 'taem'; did you mean 'team'"),
        (TableColumns(inputs=("x", "y")), "no column 'x'"),
        (TableColumns(expected="team", id="team"), r"t\.csv:4: the id 'a' is used already, first on line 2"),
        (TableColumns(expected="other"), "no row has both ticket and other"),
    ],
)
def test_wrong_columns_end_with_a_clear_error(tmp_path: Path, named: TableColumns, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draft(tmp_path, "ticket,team,other\nx,a,\ny,b,\nz,a,\n", named)


def test_a_table_without_anything_expected_says_which_option_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column that looks like what is expected; name it: --expected"):
        draft(tmp_path, "question\nx\ny\n")


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (["Billing", "Sales"] * 5, "labels"),
        (["0", "1"] * 5, "labels"),
        ([str(n) for n in range(20)], "numbers"),
        ([f"-{n}.5" for n in range(20)], "numbers"),
        ([f"city {n}" for n in range(20)], "short texts"),
        ([f"a sentence of more than six words, number {n}" for n in range(20)], "long texts"),
        ([f"label {n}" for n in range(31)] * 4, "short texts"),
    ],
)
def test_the_matcher_fits_what_is_expected(answers: list[str], kind: str) -> None:
    assert guess_kind(answers) == kind


@pytest.mark.parametrize(
    ("answers", "grader"),
    [
        (["a", "b"] * 3, "equals"),
        (["1", "2.5", "-3", "4", "5"], "numeric"),
        (["x1", "x2", "x3", "x4", "x5"], "icontains"),
        ([f"a long text that says something about {n}" for n in range(5)], "verdict"),
    ],
)
def test_every_draft_fits_its_own_cases(tmp_path: Path, answers: list[str], grader: str) -> None:
    made = draft(tmp_path, "question,answer\n" + "".join(f"q{n},{one}\n" for n, one in enumerate(answers)))
    assert [one.type for one in made.task.graders] == [grader]
    assert check_fit(made.task, made.loaded) == []


def test_labels_are_listed_in_the_prompt_and_compared_leniently(tmp_path: Path) -> None:
    made = draft(tmp_path, "ticket,team\n" + "a,Tech-Support\nb,billing {x}\n" * 3 + "c,billing {x}\n")
    assert made.task.system_prompt.endswith("nothing else:\n- billing {x}\n- Tech-Support\n")
    (grader,) = made.task.graders
    assert grader.model_dump()["ignore_punctuation"] is True


def test_labels_that_differ_in_punctuation_only_are_compared_exactly(tmp_path: Path) -> None:
    made = draft(tmp_path, "text,label\na,C\nb,C#\nc,C\nd,C#\n")
    assert [grader.model_dump(exclude_unset=True) for grader in made.task.graders] == [{"type": "equals"}]


def test_ids_stay_when_rows_move(tmp_path: Path) -> None:
    rows = ["a,x\n", "b,y\n", "c,x\n", "d,y\n"]
    first = draft(tmp_path, "ticket,team\n" + "".join(rows))
    later = draft(tmp_path, "ticket,team\nnew,x\n" + "".join(reversed(rows)))
    ids = {case.inputs["ticket"]: case.id for case in first.loaded.evalset.cases}
    assert {case.inputs["ticket"]: case.id for case in later.loaded.evalset.cases}.items() >= ids.items()


def test_rows_that_cannot_be_cases_are_counted_with_their_lines(tmp_path: Path) -> None:
    made = draft(tmp_path, "ticket,team,x\na,t,\n,t,\nb,,\na,t,\na,u,\nc,u,\n")
    assert made.remarks[:4] == (
        "2 rows without ticket or team: line 3, 4",
        "1 row repeating another: line 5",
        "1 row asking what another row asks, but expecting otherwise: line 6",
        "columns not used: x",
    )
    assert len(made.loaded.evalset.cases) == 3


def test_a_large_table_is_written_as_jsonl(tmp_path: Path) -> None:
    made = draft(tmp_path, "ticket,team\n" + "".join(f"{n}{'x' * 2000},{n % 2}\n" for n in range(600)))
    assert list(made.scaffold.files) == ["tasks/mine.yaml", "evalsets/mine/dev.jsonl"]
