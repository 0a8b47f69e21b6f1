import json
import os
from pathlib import Path

import pytest

from evalq.definitions.files import MAX_FILE_BYTES, display_path, load_evalset, load_task, read_text
from evalq.errors import InputError

TASK = """\
name: audit
system_prompt: Be brief.
user_template: "{text}"
scoring: {mode: strict_substring}
"""
CASES = """\
- id: a
  inputs: {text: x}
- id: b
  inputs: {text: y}
"""


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, text: str | bytes) -> Path:
    path = Path.cwd() / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems_of(name: str, text: str | bytes) -> list[str]:
    path = written(name, text)
    with pytest.raises(InputError) as caught:
        load_task(path) if name.startswith("task") else load_evalset(path)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".YAML"])
def test_a_task_is_read_from_yaml(suffix: str) -> None:
    assert load_task(written(f"task{suffix}", TASK)).user_template == "{text}"


def test_a_task_is_read_from_json() -> None:
    fields = {"name": "a", "system_prompt": "", "user_template": "", "graders": [{"type": "mrr"}]}
    assert load_task(written("task.json", json.dumps(fields, indent=1))).answer_form() == "ranking"


def test_a_template_that_reaches_into_objects_is_refused_at_its_line() -> None:
    (problem,) = problems_of("task.yaml", TASK.replace("{text}", "{x.__class__}"))
    assert problem.startswith("task.yaml:3: user_template: '{x.__class__}' is not a plain name; write a name")


def test_a_rubric_is_a_template_too() -> None:
    scoring = 'scoring:\n  mode: llm_judge\n  judge_model: g\n  rubric: "Is {answer!r} right?"\n'
    (problem,) = problems_of("task.yaml", TASK.replace("scoring: {mode: strict_substring}\n", scoring))
    assert problem.startswith("task.yaml:7: scoring.rubric: '{answer!r}' is not a plain name")


@pytest.mark.parametrize(
    "scoring",
    [
        "{mode: llm_judge, judge_model: g, rubric: knowledge_audit}",
        '{mode: llm_judge, judge_model: g, rubric: "Is {answer} like {expected}?"}',
        '{mode: strict_substring, rubric: "not used: {"}',
    ],
)
def test_other_rubrics_are_fine(scoring: str) -> None:
    assert load_task(written("task.yaml", TASK.replace("{mode: strict_substring}", scoring)))


def test_template_and_key_problems_come_together() -> None:
    problems = problems_of("task.yaml", TASK.replace("{text}", "{") + "zzz: 1\n")
    assert [problem[:11] for problem in problems] == ["task.yaml:5", "task.yaml:3"]


@pytest.mark.parametrize("text", ["", "just words", "[1]"])
def test_a_file_that_holds_no_task_says_so(text: str) -> None:
    assert "the file should be a mapping" in problems_of("task.yaml", text)[0]


def test_a_task_in_csv_is_refused() -> None:
    (problem,) = problems_of("task.csv", "id\n")
    assert problem == "task.csv: not a file evalq can read here; write a .yaml, .yml, .json file"


def test_an_evalset_may_be_a_mapping_with_a_name_of_its_own() -> None:
    loaded = load_evalset(written("dev.yaml", f"name: first\ntask: audit\ncases:\n{CASES}"))
    assert (loaded.evalset.name, loaded.evalset.task) == ("first", "audit")
    assert loaded.case_lines == {"a": 4, "b": 6}


def test_an_evalset_may_be_a_bare_list_named_by_its_file() -> None:
    loaded = load_evalset(written("dev.yaml", CASES))
    assert loaded.evalset.name == "dev"
    assert (loaded.file, loaded.case_lines) == ("dev.yaml", {"a": 1, "b": 3})


def test_an_evalset_is_read_from_json() -> None:
    cases = [{"id": "a", "inputs": {}}, {"id": "b", "inputs": {}}]
    loaded = load_evalset(written("dev.json", json.dumps({"cases": cases}, indent=1)))
    assert loaded.case_lines == {"a": 3, "b": 7}


def test_an_evalset_is_read_from_jsonl_line_by_line() -> None:
    text = '{"id": "a", "inputs": {"t": "x\u2028y"}}\n\n{"id": "b", "inputs": {}}\r\n'
    loaded = load_evalset(written("dev.jsonl", text))
    assert loaded.evalset.cases[0].inputs == {"t": "x\u2028y"}
    assert loaded.case_lines == {"a": 1, "b": 3}


def test_an_evalset_is_read_from_csv() -> None:
    loaded = load_evalset(written("dev.csv", b"\xef\xbb\xbfid,text,expected\na,hello,x\nb,bye,y\n"))
    assert loaded.evalset.cases[1].expected == {"answer": "y"}
    assert loaded.case_lines == {"a": 2, "b": 3}


@pytest.mark.parametrize(("name", "line"), [("dev.yaml", 5), ("dev.jsonl", 3), ("dev.csv", 4)])
def test_a_duplicate_case_id_names_both_lines(name: str, line: int) -> None:
    rows = {
        "dev.yaml": CASES + "- {id: a, inputs: {}}\n",
        "dev.jsonl": "".join(f'{{"id": "{case_id}", "inputs": {{}}}}\n' for case_id in "aba"),
        "dev.csv": "id,t\na,1\nb,2\na,3\n",
    }
    (problem,) = problems_of(name, rows[name])
    first = 2 if name == "dev.csv" else 1
    assert problem.startswith(f"{name}:{line}: case id 'a' is used twice, first on line {first}; give every")


def test_cases_without_a_proper_id_are_each_reported() -> None:
    problems = problems_of("dev.yaml", "- {inputs: {}}\n- 3\n- {id: 7, inputs: {}}\n")
    assert "dev.yaml:1: missing key 'id' in cases[0]" in problems[0]
    assert "dev.yaml:2: cases[1] should be a mapping" in problems[1]
    assert "dev.yaml:3: cases[2].id should be text, but is a whole number; put it in quotes" in problems[2]


@pytest.mark.parametrize(
    ("name", "text"),
    [("dev.yaml", "[]"), ("dev.yaml", "cases: []"), ("dev.jsonl", "\n"), ("dev.csv", "id,text\n")],
)
def test_an_empty_evalset_is_refused(name: str, text: str) -> None:
    (problem,) = problems_of(name, text)
    assert problem == f"{name}:1: cases is empty; write at least one entry"


@pytest.mark.parametrize("text", ["", "just words", "cases: nothing"])
def test_a_file_that_holds_no_cases_says_so(text: str) -> None:
    assert " should be a " in problems_of("dev.yaml", text)[0]


def test_an_unknown_key_of_a_case_is_found_in_jsonl() -> None:
    text = '{"id": "a", "inputs": {}}\n{"id": "b", "inputs": {}, "expectd": {}}\n'
    (problem,) = problems_of("dev.jsonl", text)
    assert problem.startswith("dev.jsonl:2: unknown key 'expectd' in cases[1]; did you mean 'expected'?")


def test_a_jsonl_line_that_is_not_json_is_named() -> None:
    (problem,) = problems_of("dev.jsonl", '{"id": "a", "inputs": {}}\n{oops\n')
    assert problem.startswith("dev.jsonl:2: not JSON: ")


def test_a_nan_among_the_inputs_is_refused() -> None:
    assert problems_of("dev.jsonl", '{"id": "a", "inputs": {"x": NaN}}')[0].startswith(
        "dev.jsonl:1: not a fin"
    )
    assert problems_of("dev.yaml", "- id: a\n  inputs: {x: .nan}\n")[0].startswith("dev.yaml:2: not a finite")


def test_a_file_name_that_names_no_evalset_is_refused() -> None:
    (problem,) = problems_of("my set.csv", "id,t\na,1\n")
    assert problem.startswith("my set.csv: the file's name 'my set' names no evalset; use letters")


def test_text_that_is_not_utf8_names_its_line() -> None:
    (problem,) = problems_of("dev.csv", "id,text\na,ok\nb,M\xfcller\n".encode("latin-1"))
    assert problem == "dev.csv:3: not UTF-8 text; save the file as UTF-8"


def test_a_nul_names_its_line() -> None:
    (problem,) = problems_of("dev.csv", b"id,text\na,\x00\n")
    assert problem.startswith("dev.csv:2: a NUL in the text")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"^nowhere/task\.yaml: no such file; check the path$"):
        load_task(Path("nowhere/task.yaml"))


def test_a_folder_is_no_file() -> None:
    Path("dev.yaml").mkdir()
    with pytest.raises(InputError, match=r"^dev\.yaml: not a regular file"):
        load_evalset(Path("dev.yaml"))


def test_a_pipe_is_refused_instead_of_waited_for() -> None:
    os.mkfifo("dev.csv")
    with pytest.raises(InputError, match="not a regular file"):
        load_evalset(Path("dev.csv"))


def test_a_file_that_cannot_be_read_says_why() -> None:
    written("plain", "")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read_text(Path("plain/dev.yaml"))


def test_a_file_over_the_size_limit_is_refused() -> None:
    os.truncate(written("dev.csv", ""), MAX_FILE_BYTES + 1)
    with pytest.raises(InputError, match=r"^dev\.csv: larger than 64 MB; split it into several evalsets$"):
        load_evalset(Path("dev.csv"))


def test_paths_are_shown_from_the_working_directory_where_they_lie_inside(tmp_path: Path) -> None:
    assert display_path(tmp_path / "tasks" / "a.yaml") == str(Path("tasks/a.yaml"))
    assert display_path(tmp_path.parent / "a.yaml") == str(tmp_path.parent / "a.yaml")
