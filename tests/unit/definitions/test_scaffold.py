import json
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.catalogue import all_judges
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.project import ProjectCheck, check_project
from evalq.definitions.scaffold import scaffold_task, write_new
from evalq.errors import InputError


def drafted(tmp_path: Path, name: str, text: str) -> tuple[Path, ProjectCheck]:
    source = tmp_path / "source" / name
    source.parent.mkdir()
    source.write_text(text, "utf-8")
    write_new(scaffold_task("mine", source).files, tmp_path)
    return tmp_path / "tasks" / "mine.yaml", check_project([tmp_path], tmp_path)


def test_the_example_is_in_order_and_runs_on_judges_that_exist(tmp_path: Path) -> None:
    task_file, evalset_file = write_new(scaffold_task("1e3").files, tmp_path)
    task = load_task(task_file)
    assert (task.name, load_evalset(evalset_file).evalset.task) == ("1e3", "1e3")
    assert set(task.default_judges) <= set(all_judges({}))
    assert check_project([tmp_path], tmp_path) == ProjectCheck(1, 1, 3, ())


def test_a_name_that_holds_a_placeholder_is_kept(tmp_path: Path) -> None:
    task_file, evalset_file = write_new(scaffold_task("SCORING_NAME").files, tmp_path)
    assert load_task(task_file).name == "SCORING_NAME"
    assert load_evalset(evalset_file).evalset.task == "SCORING_NAME"


def test_cases_from_csv_are_named_in_the_template(tmp_path: Path) -> None:
    task_file, result = drafted(tmp_path, "c.csv", "id,subject,body,expected\n1,a,b,no\n2,c,d,1e3\n")
    assert load_task(task_file).user_template == "subject: {subject}\nbody: {body}\n"
    assert result == ProjectCheck(1, 1, 2, ())


def test_one_input_is_the_whole_question(tmp_path: Path) -> None:
    task_file, _ = drafted(tmp_path, "c.csv", "id,text,expected\n1,a,b\n")
    assert load_task(task_file).user_template == "{text}\n"


@pytest.mark.parametrize(
    ("expected", "form", "rule"),
    [
        ({"answer": "x"}, "text", "exact_match"),
        ({"any_of": ["x"]}, "text", "any_substring"),
        ({"relevant": ["x"]}, "ranking", None),
    ],
)
def test_the_scoring_follows_what_is_expected(
    tmp_path: Path, expected: Any, form: str, rule: str | None
) -> None:
    line = json.dumps({"id": "a", "inputs": {"q": 1}, "expected": expected})
    task_file, result = drafted(tmp_path, "c.jsonl", line)
    task = load_task(task_file)
    assert (task.answer_form(), task.scoring and task.scoring.pass_rule) == (form, rule)
    assert result.problems == ()


def test_negative_cases_make_it_a_search_for_findings(tmp_path: Path) -> None:
    positive = {"id": "a", "inputs": {"q": 1}, "expected": {"any_of": ["x"]}}
    negative = {"id": "b", "inputs": {"q": 1}, "expected_type": "negative"}
    task_file, result = drafted(tmp_path, "c.jsonl", f"{json.dumps(positive)}\n{json.dumps(negative)}\n")
    assert load_task(task_file).answer_form() == "findings"
    assert result.problems == ()


def test_cases_with_nothing_expected_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"c\.csv:2: case '1': pass_rule exact_match needs expected.answer"):
        drafted(tmp_path, "c.csv", "id,text\n1,a\n")


def test_inputs_a_template_cannot_name_are_kept_and_told(tmp_path: Path) -> None:
    source = tmp_path / "c.csv"
    source.write_text("id,text,Reply to,expected\n1,a,b,c\n", "utf-8")
    result = scaffold_task("mine", source)
    assert result.left_out == ("Reply to",)
    assert "Reply to: b" in result.files["evalsets/mine/dev.yaml"]


def test_a_file_whose_inputs_no_template_can_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no input that a template could name"):
        drafted(tmp_path, "c.csv", "id,Reply to,expected\n1,b,c\n")


def test_a_file_too_large_for_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"c\.csv: too large for an evalset in YAML; init without --from"):
        drafted(tmp_path, "c.csv", f"id,text,expected\n1,{'x' * 5_000_000},c\n")


@pytest.mark.parametrize("name", ["", "a b", "../a", ".a", "a/b", "a\n", "x" * 101])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot name a task; use letters"):
        scaffold_task(name)


@pytest.mark.parametrize("taken", ["tasks/mine.json", "evalsets/mine/dev.csv"])
def test_nothing_is_written_where_one_file_is_taken(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).parent.mkdir(parents=True)
    (tmp_path / taken).write_text("", "utf-8")
    with pytest.raises(InputError, match="is already there; take another name"):
        write_new(scaffold_task("mine").files, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / taken]
