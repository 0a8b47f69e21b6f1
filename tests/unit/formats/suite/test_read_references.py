"""References and files of a suite: followed inside its folder, and nowhere else."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError
from evalq.formats.suite.read import read_suite

Write = Callable[..., Path]
EVAL = {"id": "a", "input": "x", "expected": "y"}


def suite(*refs: str) -> dict[str, Any]:
    return {"eval_suite": {"name": "S", "evals": [{"$ref": ref} for ref in refs]}}


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_suite(path)
    return str(caught.value)


def test_a_reference_is_followed_from_its_own_file_then_from_the_folder(write: Write) -> None:
    write("capability/all.yaml", [{"$ref": "one.yaml"}, {"$ref": "shared/two.yaml"}])
    write("capability/one.yaml", {**EVAL, "id": "one"})
    write("shared/two.yaml", {**EVAL, "id": "two"})
    found = read_suite(write("eval-suite.yaml", suite("./capability/all.yaml"))).evals
    assert [one.id for one in found] == ["one", "two"]
    assert found[0].place.file.endswith("capability/one.yaml")


def test_a_reference_may_mean_one_eval_of_a_file(write: Write) -> None:
    write("many.yaml", [{**EVAL, "id": "a"}, {**EVAL, "id": "b"}])
    assert [one.id for one in read_suite(write("s.yaml", suite("many.yaml#b"))).evals] == ["b"]
    assert "has no eval 'c'" in refusal(write("s.yaml", suite("many.yaml#c")))


def test_a_suite_may_refer_to_another(write: Write) -> None:
    write("inner/eval.yaml", EVAL)
    write("inner/suite.yaml", suite("eval.yaml"))
    assert [one.id for one in read_suite(write("outer.yaml", suite("inner/suite.yaml"))).evals] == ["a"]


def test_references_that_go_in_a_circle_are_refused(write: Write) -> None:
    write("b.yaml", suite("a.yaml"))
    assert "refers back to itself" in refusal(write("a.yaml", suite("b.yaml")))
    assert "refers back to itself" in refusal(write("self.yaml", suite("self.yaml")))


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    """A suite's folder beside a file that is none of its business."""
    (tmp_path / "secret.yaml").write_text("id: s\ninput: x\nexpected: y\n", "utf-8")
    folder = tmp_path / "suite"
    folder.mkdir()
    return folder


def _escapes(folder: Path) -> dict[str, str]:
    (folder / "link.yaml").symlink_to(folder.parent / "secret.yaml")
    (folder / "up").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    return {
        "../secret.yaml": "leads out of its folder",
        "../../etc/passwd": "leads out of its folder",
        str(folder.parent / "secret.yaml"): "absolute path",
        "link.yaml": "leads out of its folder",
        "up/secret.yaml": "leads out of its folder",
        "pipe.yaml": "not a regular file",
        "folder.yaml": "is a folder",
        "/dev/zero": "absolute path",
        "missing.yaml": "no file",
        "": "names nothing",
    }


def test_no_reference_leads_out_of_the_suite(inner: Path) -> None:
    for written, said in _escapes(inner).items():
        path = inner / "s.yaml"
        path.write_text(f'eval_suite:\n  name: S\n  evals:\n    - $ref: "{written}"\n', "utf-8")
        message = refusal(path)
        assert said in message, written
        assert "s.yaml:4: " in message, written


def test_no_file_input_leads_out_of_the_suite(inner: Path) -> None:
    for written, said in _escapes(inner).items():
        path = inner / "e.yaml"
        path.write_text(f'id: a\nexpected: y\ninput:\n  type: file\n  content: "{written}"\n', "utf-8")
        assert said in refusal(path), written


def test_no_input_of_a_regression_leads_out_of_the_suite(inner: Path) -> None:
    path = inner / "r.yaml"
    path.write_text("id: r\nbaseline: {output: x}\ncurrent: {input: {diff: ../secret.yaml}}\n", "utf-8")
    assert "leads out of its folder" in refusal(path)


def test_a_file_beside_the_eval_is_part_of_its_prompt(write: Write) -> None:
    write("capability/docs/spec.md", "PostgreSQL 14\n")
    one = {
        "id": "f",
        "description": "Extract the facts",
        "input": {"type": "file", "content": "docs/spec.md", "context": {"targets": ["a", "b"]}},
        "expected": {"type": "contains", "value": "PostgreSQL"},
    }
    (found,) = read_suite(write("capability/e.yaml", one)).evals
    assert found.case.inputs["prompt"] == (
        "Extract the facts\n\nContext:\n- targets: a, b\n\nFile spec.md:\nPostgreSQL 14\n"
    )


def test_an_instruction_in_the_context_goes_before_the_file(write: Write) -> None:
    write("a.md", "text")
    context = {"prompt": "Count the words", "lang": "en"}
    one = {"id": "f", "input": {"type": "file", "content": ["a.md"], "context": context}, "expected": "1"}
    (found,) = read_suite(write("e.yaml", one)).evals
    assert found.case.inputs["prompt"] == "Count the words\n\nContext:\n- lang: en\n\nFile a.md:\ntext"
