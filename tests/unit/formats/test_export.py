"""What was imported is written in our own form: it comes back equal, and nothing is overwritten unasked."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, load_evalset, load_task
from evalq.definitions.loaded import LoadedTask
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError
from evalq.formats.export import MAX_YAML_CHARS, export_imported, write_files

GRADERS: list[dict[str, Any]] = [
    {
        "type": "rubric",
        "rubric": "Is {{it}} kind?",
        "range": [0, 10],
        "pass_threshold": 4.0,
        "required": False,
    },
    {"type": "json_schema", "schema": {"type": "object"}, "weight": 0.1},
    {"type": "regex", "pattern": r"[0-9]+\Z", "flags": ["ignorecase"], "negate": True},
]


def imported(*texts: str, graders: Any = GRADERS) -> LoadedTask:
    task = TaskConfig(name="old", system_prompt="", user_template="{prompt}", pass_threshold=0.8)
    cases = [
        EvalCase.model_validate(
            {
                "id": f"c{number}",
                "inputs": {"prompt": text, "n": number, "yes": True},
                "expected": {"answer": text},
                "graders": graders,
                "messages": [{"role": "system", "content": text}, {"role": "user", "content": "x"}],
            }
        )
        for number, text in enumerate(texts)
    ]
    return LoadedTask(task, LoadedEvalSet(EvalSet(name="old", cases=cases), "EVAL.yaml"))


def test_what_is_written_comes_back_equal(tmp_path: Path) -> None:
    form = export_imported(imported("Hi\nthere", "yes", "1.0"), task="t", eval_set="s")
    assert write_files(form, tmp_path) == [tmp_path / "tasks/t.yaml", tmp_path / "evalsets/t/s.yaml"]
    assert load_task(tmp_path / "tasks/t.yaml") == form.task
    assert load_evalset(tmp_path / "evalsets/t/s.yaml").evalset == form.evalset


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40))
def test_any_text_comes_back_equal(text: str) -> None:
    """`export_imported` itself reads what it makes, and refuses what would come back as something else."""
    assert len(export_imported(imported(text), task="t", eval_set="s").files) == 2


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path)
    with pytest.raises(InputError, match="is already there; take another name, or replace it with --force"):
        write_files(export_imported(imported("b"), task="t", eval_set="s"), tmp_path)
    assert load_evalset(tmp_path / "evalsets/t/s.yaml").evalset.cases[0].inputs["prompt"] == "a"


def test_what_is_there_is_replaced_when_told(tmp_path: Path) -> None:
    write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path)
    write_files(export_imported(imported("b"), task="t", eval_set="s"), tmp_path, force=True)
    assert load_evalset(tmp_path / "evalsets/t/s.yaml").evalset.cases[0].inputs["prompt"] == "b"


def test_what_would_come_back_different_is_refused() -> None:
    found = imported("a")
    odd = found.evalset.cases[0].model_copy(update={"inputs": {"pair": (1, 2)}})
    changed = LoadedEvalSet(EvalSet(name="s", cases=[odd]), "EVAL.yaml")
    with pytest.raises(InputError, match="does not come back"):
        export_imported(LoadedTask(found.task, changed), task="t", eval_set="s")


def test_a_case_may_leave_marking_to_its_task(tmp_path: Path) -> None:
    case = EvalCase(id="a", inputs={"prompt": "x"})
    found = LoadedTask(imported("a").task, LoadedEvalSet(EvalSet(name="s", cases=[case]), "data.csv"))
    assert "graders" not in export_imported(found, task="t", eval_set="s").files["evalsets/t/s.yaml"]


def test_what_was_there_is_put_back_when_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/t.yaml").write_text("mine", "utf-8")
    (tmp_path / "evalsets").write_text("no folder", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path, force=True)
    assert (tmp_path / "tasks/t.yaml").read_text("utf-8") == "mine"


def test_a_task_that_says_the_same_takes_another_set(tmp_path: Path) -> None:
    write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path)
    written = write_files(export_imported(imported("b"), task="t", eval_set="more"), tmp_path)
    assert written == [tmp_path / "evalsets/t/more.yaml"]


def test_another_task_of_that_name_stops_everything(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/t.yaml").write_text("name: t\nsystem_prompt: x\nuser_template: '{x}'\n", "utf-8")
    with pytest.raises(InputError, match="is already there"):
        write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path)
    assert not (tmp_path / "evalsets").exists()


def test_a_set_of_that_name_in_another_form_stops_everything(tmp_path: Path) -> None:
    (tmp_path / "evalsets/t").mkdir(parents=True)
    (tmp_path / "evalsets/t/s.csv").write_text("id\n", "utf-8")
    with pytest.raises(InputError, match="has the same name; remove it"):
        write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path, force=True)
    assert not (tmp_path / "tasks").exists()


def test_both_files_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "evalsets").write_text("no folder", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_files(export_imported(imported("a"), task="t", eval_set="s"), tmp_path)
    assert not (tmp_path / "tasks/t.yaml").exists()


def test_many_cases_are_written_as_lines(tmp_path: Path) -> None:
    form = export_imported(imported("x" * MAX_YAML_CHARS, graders=GRADERS[:1]), task="t", eval_set="s")
    path = write_files(form, tmp_path)[1]
    assert path.name == "s.jsonl"
    assert len(path.read_text("utf-8").splitlines()) == 1
    assert load_evalset(path).evalset.cases == form.evalset.cases
    assert json.loads(path.read_text("utf-8"))["id"] == "c0"


@pytest.mark.parametrize("names", [{"task": "a b", "eval_set": "s"}, {"task": "t", "eval_set": "../s"}])
def test_a_name_that_is_none_is_refused(names: dict[str, str]) -> None:
    with pytest.raises(InputError, match="cannot name"):
        export_imported(imported("a"), **names)
