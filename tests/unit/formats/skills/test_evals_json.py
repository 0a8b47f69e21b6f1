"""The evals.json of skills, with assertions or expectations, and the bare list of queries."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.errors import InputError
from evalq.formats.skills.evals_json import load


def imported(folder: Path, document: Any, mode: TriggerMode = "tool_calls") -> LoadedTask:
    path = folder / "evals.json"
    path.write_text(json.dumps(document), "utf-8")
    return load(path, folder, trigger_mode=mode)


def of(*evals: Any, **more: Any) -> dict[str, Any]:
    return {"skill_name": "csv", "evals": list(evals), **more}


@pytest.mark.parametrize("key", ["assertions", "expectations"])
def test_each_assertion_is_a_question_that_must_hold(tmp_path: Path, key: str) -> None:
    one = {
        "id": 1,
        "prompt": "Sum it up",
        "expected_output": "10",
        key: ["It says 10", {"text": "It is brief"}],
    }
    found = imported(tmp_path, of(one))
    (case,) = found.evalset.cases
    assert (case.id, case.inputs, case.expected) == ("1", {"prompt": "Sum it up"}, {"answer": "10"})
    assert [(g.type, g.rubric, g.required) for g in case.graders] == [  # type: ignore[union-attr]
        ("boolean", "It says 10", True),
        ("boolean", "It is brief", True),
    ]
    assert found.task.name == "csv"


def test_without_assertions_the_answer_is_compared_with_the_expected_one(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, of({"prompt": "p", "expected_output": "10", "assertions": []})).evalset.cases
    assert [grader.type for grader in case.graders] == ["verdict"]


def test_files_are_read_from_the_skill(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "SKILL.md").touch()
    (tmp_path / "evals" / "a.csv").write_text("1", "utf-8")
    found = imported(
        tmp_path / "evals", of({"prompt": "p", "assertions": ["a b"], "files": ["evals/a.csv", "no.csv"]})
    )
    assert found.evalset.cases[0].inputs["prompt"] == "--- file: evals/a.csv ---\n1\n--- end of file ---\n\np"
    assert any("there is no file 'no.csv'" in warning for warning in found.warnings)


def test_a_file_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k", "utf-8")
    (tmp_path / "skill").mkdir()
    with pytest.raises(InputError, match=r"evals\.json:1: '\.\./key' leads out"):
        imported(tmp_path / "skill", of({"prompt": "p", "assertions": ["a b"], "files": ["../key"]}))


def test_a_trigger_is_a_grader_by_tool_calls(tmp_path: Path) -> None:
    evals = [
        {"prompt": "p", "assertions": ["a b"], "should_trigger": True},
        {"prompt": "q", "should_trigger": False},
    ]
    first, second = imported(tmp_path, of(*evals)).evalset.cases
    assert [grader.type for grader in first.graders] == ["boolean", "skill_triggered"]
    assert second.graders[0].should_trigger is False  # type: ignore[union-attr]


def test_a_trigger_is_a_case_by_description(tmp_path: Path) -> None:
    evals = [{"id": 1, "prompt": "p", "assertions": ["a b"], "should_trigger": True}]
    found = imported(tmp_path, of(*evals, description="Reads tables."), "description")
    assert [case.id for case in found.evalset.cases] == ["1", "1:trigger:csv"]
    assert "Reads tables." in found.evalset.cases[1].inputs["prompt"]


def test_the_bare_list_belongs_to_the_skill_it_is_in(tmp_path: Path) -> None:
    folder = tmp_path / "csv" / "evals"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "csv" / "SKILL.md").write_text("---\ndescription: Reads tables.\n---\n", "utf-8")
    found = imported(folder, [{"query": "q", "should_trigger": True}], "description")
    assert found.evalset.cases[0].metadata["skill"] == "csv"
    assert "Reads tables." in found.evalset.cases[0].inputs["prompt"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"evals": []}, "no evals"),
        ({"evals": [5]}, "not a mapping"),
        (of({"assertions": ["a b"]}), "asks nothing"),
        (of({"prompt": "p"}), "nothing marks the answer"),
        ({"evals": [{"prompt": "p", "should_trigger": True}]}, "no skill is named"),
        (of({"prompt": "p", "should_trigger": "yes"}), "neither true nor false"),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, document: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        imported(tmp_path, document)


def test_samples_and_what_is_lost(tmp_path: Path) -> None:
    one = {"prompt": "p", "assertions": ["a b", 5], "colour": "red"}
    found = imported(tmp_path, of(one, runs_per_query=3, trigger_threshold=0.5, author="me"))
    assert found.samples == 3
    said = " ".join(found.warnings)
    for part in ("trigger_threshold", "author", "colour", "an assertion that is not text"):
        assert part in said
