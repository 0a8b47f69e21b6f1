from pathlib import Path

import pytest

from evalq.definitions.project import ProjectCheck, check_project
from evalq.definitions.shipped import shipped_path

TASK = 'name: audit\nsystem_prompt: ""\nuser_template: "{text}"\nscoring: {mode: strict_substring}\n'
CASES = "cases:\n- {id: a, inputs: {text: x}, expected: {answer: y}}\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("tasks/audit.yaml", TASK)
    write("evalsets/audit/dev.yaml", CASES)
    write("evalsets/audit/corpus/notes.jsonl", "not a case")
    write("evalsets/README.md", "not a folder")
    return tmp_path


def write(name: str, text: str) -> Path:
    path = Path.cwd() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def problems_of(result: ProjectCheck) -> list[str]:
    return [str(problem) for problem in result.problems]


def test_a_project_is_counted_without_its_corpora(root: Path) -> None:
    assert check_project([root], root) == ProjectCheck(1, 1, 1, ())


def test_a_folder_may_be_one_of_the_project_s(root: Path) -> None:
    assert check_project([root / "tasks"], root) == ProjectCheck(1, 0, 0, ())
    assert check_project([root / "evalsets"], root) == ProjectCheck(0, 1, 1, ())
    assert check_project([root / "evalsets" / "audit"], root) == ProjectCheck(0, 1, 1, ())


def test_files_are_told_apart_by_place_and_content(root: Path) -> None:
    paths = [root / "tasks/audit.yaml", root / "evalsets/audit/dev.yaml", write("x/t.yaml", TASK)]
    paths += [
        write("x/c.yaml", CASES),
        write("x/l.yaml", "- {id: a, inputs: {}}"),
        write("x/c.csv", "id,t\n1,x\n"),
    ]
    assert check_project(paths, root) == ProjectCheck(2, 4, 4, ())


def test_a_file_named_twice_is_counted_once(root: Path) -> None:
    assert check_project([root, root / "tasks"], root).tasks == 1


def test_a_lone_file_is_fitted_to_the_task_it_names(root: Path) -> None:
    path = write("x/c.yaml", "task: audit\ncases: [{id: a, inputs: {}, expected: {answer: y}}]\n")
    assert "uses {text}" in problems_of(check_project([path], root))[0]


def test_an_evalset_of_an_unknown_task_is_a_problem(root: Path) -> None:
    write("evalsets/audti/dev.yaml", CASES)
    (problem,) = problems_of(check_project([root], root))
    assert problem.startswith(f"{Path('evalsets/audti/dev.yaml')}:1: no task 'audti'; looked in tasks and ")
    assert "did you mean 'audit'?" in problem


def test_a_task_key_goes_before_the_folder_s_name(root: Path) -> None:
    write("evalsets/elsewhere/dev.yaml", "task: audit\n" + CASES)
    assert check_project([root], root).problems == ()


def test_every_problem_of_every_file_is_found_once(root: Path) -> None:
    write("tasks/audit.yaml", TASK + "zzz: 1\n")
    write("evalsets/audit/dev2.yaml", CASES)
    write("evalsets/audit/bad.csv", "text\n")
    problems = problems_of(check_project([root, root / "nowhere.yaml"], root))
    assert [problem.split(";")[0] for problem in problems] == [
        "nowhere.yaml: no such file",
        f"{Path('tasks/audit.yaml')}:5: unknown key 'zzz'",
        f"{Path('evalsets/audit/bad.csv')}:1: CSV without an id column",
    ]


def test_a_task_called_otherwise_than_its_file_is_a_problem(root: Path) -> None:
    write("tasks/other.yaml", TASK)
    (problem,) = problems_of(check_project([root], root))
    assert "the task is called 'audit', its file 'other'; rename the file, or write name: other" in problem


UNMARKED = TASK.replace("scoring: {mode: strict_substring}\n", "")
MARKED = "cases:\n- {id: a, inputs: {text: x}, graders: [{type: is-json}]}\n"


def test_a_task_that_nothing_marks_is_a_problem_of_its_file(root: Path) -> None:
    write("tasks/audit.yaml", UNMARKED)
    (root / "evalsets/audit/dev.yaml").unlink()
    (problem,) = problems_of(check_project([root / "tasks"], root))
    assert problem == (
        f"{Path('tasks/audit.yaml')}:1: nothing marks the answers; add scoring: or graders: to the task, "
        "or graders: to its cases"
    )


def test_a_task_may_leave_marking_to_its_cases(root: Path) -> None:
    write("tasks/audit.yaml", UNMARKED)
    write("evalsets/audit/dev.yaml", MARKED)
    assert check_project([root], root).problems == ()
    assert check_project([root / "tasks/audit.yaml"], root).problems == ()


def test_a_case_that_nothing_marks_is_a_problem_of_its_line(root: Path) -> None:
    write("tasks/audit.yaml", UNMARKED)
    write("evalsets/audit/dev.yaml", MARKED + "- {id: b, inputs: {text: x}}\n")
    (problem,) = problems_of(check_project([root], root))
    assert problem.startswith(
        f"{Path('evalsets/audit/dev.yaml')}:3: case 'b': nothing marks the answers; add "
    )


def test_another_task_s_evalset_does_not_mark_for_this_one(root: Path) -> None:
    write("tasks/audit.yaml", UNMARKED)
    write("tasks/other.yaml", TASK.replace("audit", "other"))
    write("evalsets/other/dev.yaml", MARKED.replace("graders", "expected: {answer: y}, graders"))
    write("evalsets/audit/bad.csv", "text\n")
    problems = problems_of(check_project([root], root))
    assert f"{Path('tasks/audit.yaml')}:1: nothing marks the answers" in problems[0]


def test_another_project_s_evalsets_are_fitted_to_its_own_tasks(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write("other/tasks/audit.yaml", TASK.replace("{text}", "{body}"))
    write("other/evalsets/audit/dev.yaml", CASES)
    assert "uses {body}" in problems_of(check_project([other], root))[0]


def test_another_project_s_evalsets_may_use_the_tasks_of_this_one(root: Path, tmp_path: Path) -> None:
    write("other/evalsets/audit/dev.yaml", CASES)
    assert check_project([tmp_path / "other"], root) == ProjectCheck(0, 1, 1, ())


def test_what_comes_with_evalq_is_fine() -> None:
    shipped = shipped_path("tasks").parent
    result = check_project([shipped / "tasks", shipped / "evalsets"], shipped)
    assert result.problems == ()
    assert min(result.tasks, result.evalsets, result.cases) > 0
