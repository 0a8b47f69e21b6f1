import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evalq.cli.definitions import check
from evalq.cli.new_task import init
from evalq.errors import InputError


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_check(*args: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(check, args)


def run_init(*args: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(init, args)


def test_what_init_writes_checks_clean() -> None:
    written = run_init("mine")
    assert written.stdout.splitlines() == ["wrote tasks/mine.yaml", "wrote evalsets/mine/dev.yaml"]
    assert "evalq bake-off --task mine" in written.stderr
    result = run_check()
    assert (result.exit_code, result.stdout) == (0, "1 task, 1 evalset, 3 cases: all fine\n")


def test_init_takes_cases_from_a_file_and_tells_what_it_left_out() -> None:
    Path("c.csv").write_text("id,text,Reply to,expected\n1,a,b,c\n2,a,b,c\n", "utf-8")
    written = run_init("mine", "--from", "c.csv")
    assert "columns not used: Reply to" in written.stderr
    assert run_check().stdout == "1 task, 1 evalset, 2 cases: all fine\n"


def test_an_evalset_of_our_own_keeps_its_form() -> None:
    Path("c.csv").write_text("id,inputs.text,inputs.Reply to,expected.any_of\n1,a,b,c|d\n", "utf-8")
    written = run_init("mine", "--from", "c.csv")
    assert "rename to use: 'Reply to'" in written.stderr
    assert "any_substring" in Path("tasks/mine.yaml").read_text("utf-8")


def test_the_user_s_columns_decide_and_a_guess_is_announced() -> None:
    Path("c.csv").write_text("nr,question,remark,answer\n7,a,b,c\n8,d,e,f\n", "utf-8")
    written = run_init(
        "mine", "--from", "c.csv", "--input", "Remark", "--expected", "question", "--id", "none"
    )
    assert "c.csv: input: remark · expected: question · ids: made" in written.stderr
    assert "(guessed: id, stratum)" in written.stderr
    assert "{remark}" in Path("tasks/mine.yaml").read_text("utf-8")


def test_columns_without_a_file_are_refused() -> None:
    with pytest.raises(InputError, match="columns are named, but no file; add --from FILE"):
        run_init("mine", "--input", "text")


def test_init_refuses_to_overwrite() -> None:
    run_init("mine")
    with pytest.raises(InputError, match=r"tasks/mine\.yaml: is already there"):
        run_init("mine")


def test_init_refuses_a_bad_name() -> None:
    with pytest.raises(InputError, match="cannot name a task"):
        run_init("../mine")


def test_init_writes_into_the_project_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("evalq.yaml").touch()
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    run_init("mine")
    assert (tmp_path / "tasks" / "mine.yaml").is_file()


def test_check_prints_every_problem_and_exits_with_two() -> None:
    run_init("mine")
    Path("tasks/mine.yaml").write_text("name: mine\nzzz: 1\n", "utf-8")
    result = run_check()
    assert result.exit_code == 2
    assert result.stdout == "1 task, 1 evalset, 3 cases: 3 problems\n"
    assert "error: tasks/mine.yaml:2: unknown key 'zzz'; (known: name," in result.stderr
    assert result.stderr.count("error: ") == 3


def test_check_as_json_lists_the_problems() -> None:
    run_init("mine")
    with Path("evalsets/mine/dev.yaml").open("a", encoding="utf-8") as file:
        file.write("  - {id: q1, inputs: {text: x}, expected: {answer: x}}\n")
    result = run_check("--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["schema"], report["tasks"], report["cases"]) == (
        2,
        "evalq.check/1",
        1,
        0,
    )
    (problem,) = report["problems"]
    assert problem["file"] == "evalsets/mine/dev.yaml"
    assert problem["line"] == 16
    assert problem["message"] == "case id 'q1' is used twice, first on line 4"
    assert problem["remedy"]


def test_check_as_json_says_when_all_is_fine() -> None:
    run_init("mine")
    result = run_check("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["problems"] == []


def test_check_looks_at_the_settings_too() -> None:
    run_init("mine")
    Path("evalq.yaml").write_text("max_cost: 5\n", "utf-8")
    result = run_check()
    assert result.exit_code == 2
    assert "error: evalq.yaml:1: unknown key 'max_cost'" in result.stderr


def test_check_takes_files_and_folders() -> None:
    run_init("mine")
    run_init("other")
    assert run_check("tasks/mine.yaml", "evalsets/other").stdout == "1 task, 1 evalset, 3 cases: all fine\n"


def test_check_with_nothing_to_check_says_how_to_begin() -> None:
    with pytest.raises(InputError, match=r"nothing to check in \.; write a first task: evalq init NAME"):
        run_check()


def test_check_names_a_path_that_is_not_there() -> None:
    result = run_check("tasks/nothing.yaml")
    assert result.exit_code == 2
    assert "error: tasks/nothing.yaml: no such file; check the path" in result.stderr
