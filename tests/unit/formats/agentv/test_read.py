import json
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.agentv.read import read_eval_yaml


def write(folder: Path, text: str, others: dict[str, str] | None = None) -> Path:
    """An EVAL.yaml of this text, and the files beside it."""
    for name, content in {"EVAL.yaml": text, **(others or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return folder / "EVAL.yaml"


def ids(path: Path) -> list[object]:
    return [test.id for test in read_eval_yaml(path).tests]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_eval_yaml(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_tests_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "tests: cases/a.yaml\n", {"cases/a.yaml": "- id: a\n\n- id: b\n"})
    eval_file = read_eval_yaml(path)
    assert [(test.id, test.index, test.line) for test in eval_file.tests] == [("a", 1, 1), ("b", 2, 3)]
    assert eval_file.tests[0].file.endswith("cases/a.yaml")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '[{"id": "a"}]'),
        ("a.json", '{"tests": [{"id": "a"}]}'),
        ("a.jsonl", '{"id": "a"}\n'),
        ("a.yml", "eval_cases: [{id: a}]"),
    ],
)
def test_that_file_may_be_of_any_kind(tmp_path: Path, name: str, text: str) -> None:
    assert ids(write(tmp_path, f"tests: file://{name}\n", {name: text})) == ["a"]


def test_entries_may_name_files_patterns_and_includes(tmp_path: Path) -> None:
    entries = ["id: x", "file://cases/*.yaml", "{include: more.jsonl, type: tests}", "{include: last.yaml}"]
    others = {
        "cases/b.yaml": "- id: b",
        "cases/a.yaml": "- id: a",
        "more.jsonl": '{"id": "m"}\n\n{"id": "n"}\n',
        "last.yaml": "- id: z",
    }
    path = write(tmp_path, "tests:\n- " + "\n- ".join(entries), others)
    assert ids(path) == ["x", "a", "b", "m", "n", "z"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("tests: ../outside.yaml", "'../outside.yaml' is outside the repository of the file"),
        ("tests: [file:///etc/hosts]", "'file:///etc/hosts' is outside the repository of the file"),
        ("tests: [file://../*.yaml]", "'../*.yaml' leaves the repository of the file"),
        ("tests: [file:///*]", "'/*' leaves the repository of the file"),
        ("tests: linked.yaml", "'linked.yaml' is outside the repository of the file"),
        ("tests: [file://none-*.yaml]", "no file matches 'none-*.yaml'"),
        ("tests: nothing.yaml", "no such file: nothing.yaml"),
        ("tests: [{include: a.yaml, type: suite}]", "only tests can be included, not a whole suite"),
    ],
)
def test_only_files_inside_the_repository_are_followed(tmp_path: Path, entry: str, message: str) -> None:
    path = write(tmp_path / "inner", f"name: x\n{entry}\n", {"../outside.yaml": "- id: a"})
    (tmp_path / "inner" / "linked.yaml").symlink_to(tmp_path / "outside.yaml")
    assert refusal(path).startswith(f"EVAL.yaml:2: {message}; ")


@pytest.mark.parametrize("sign", [".git", ".agentv", "evalq.yaml"])
@pytest.mark.parametrize(
    "entry",
    [
        "tests: ../cases/a.yaml",
        "tests: [file://../cases/*.yaml]",
        "tests: cases/a.yaml",
        "tests: [file://cases/*]",
    ],
)
def test_a_file_may_be_anywhere_in_the_repository(tmp_path: Path, sign: str, entry: str) -> None:
    (tmp_path / sign).mkdir()
    path = write(tmp_path / "inner", f"{entry}\n", {"../cases/a.yaml": "- id: a"})
    assert ids(path) == ["a"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("../../outside.yaml", "is outside the repository of the file"),
        ("file://../../*.yaml", "leaves the repository of the file"),
        ("file://../inner/../../*.yaml", "leaves the repository of the file"),
        ("../linked.yaml", "is outside the repository of the file"),
        ("../.git/config.yaml", "is hidden, and may hold secrets"),
    ],
)
def test_no_file_is_read_outside_the_repository(tmp_path: Path, entry: str, message: str) -> None:
    repository = tmp_path / "repository"
    others = {"../../outside.yaml": "- id: a", "../.git/config.yaml": "- id: a"}
    tests = f"['{entry}']" if entry.startswith("file") else entry
    path = write(repository / "inner", f"tests: {tests}\n", others)
    (repository / "linked.yaml").symlink_to(tmp_path / "outside.yaml")
    assert message in refusal(path)


@pytest.mark.parametrize("text", ["name: x", "tests: other.yaml", "5"])
def test_a_file_of_tests_is_followed_one_step(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "tests: a.yaml", {"a.yaml": text, "other.yaml": "- id: a"})
    assert refusal(path).startswith("a.yaml:1: ")


def test_a_problem_in_such_a_file_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "tests: a.yaml", {"a.yaml": "- id: a\n- criteria: 5\n"})
    assert refusal(path).startswith("a.yaml:2: criteria is not text")


def test_json_lines_are_tests_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    path.write_text('{"id": 1, "input": "a\u2028b"}\n\n{"id": 2}\n', "utf-8")
    assert [(test.id, test.line) for test in read_eval_yaml(path).tests] == [(1, 1), (2, 3)]


def test_json_is_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "eval.json"
    path.write_text(json.dumps({"tests": [{"id": "007"}]}), "utf-8")
    assert ids(path) == ["007"]
    path.write_text("tests: []", "utf-8")
    assert "not JSON" in refusal(path)


def test_a_bare_list_is_the_tests(tmp_path: Path) -> None:
    assert ids(write(tmp_path, "- id: a\n- id: b\n")) == ["a", "b"]
