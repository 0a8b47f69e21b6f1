"""A whole EVAL.yaml: what is asked, what is expected, when a case passes, and how triggers are decided."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.evalset import EvalCase
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.errors import InputError
from evalq.formats.agentv.load import load
from evalq.formats.document import text_of
from evalq.grading.grade import outcome_of, threshold_of
from evalq.records import Grade

CHECK = {"type": "contains", "value": "a"}
WANTS = {"type": "trigger-judge", "skill": "csv"}
SHUNS = {"type": "skill-trigger", "skill": "chart", "should_trigger": False, "description": "Draws charts."}


def imported(folder: Path, *tests: Any, mode: TriggerMode = "tool_calls", **suite: Any) -> LoadedTask:
    path = folder / "EVAL.yaml"
    path.write_text(text_of({**suite, "tests": list(tests)}), "utf-8")
    return load(path, folder, trigger_mode=mode)


def case_of(folder: Path, **test: Any) -> EvalCase:
    (case,) = imported(folder, {"id": "t", "assertions": [CHECK], **test}).evalset.cases
    return case


def test_a_plain_question_is_the_prompt(tmp_path: Path) -> None:
    case = case_of(tmp_path, input="What is 2+2?", expected_output="4")
    assert (case.inputs, case.messages, case.expected) == ({"prompt": "What is 2+2?"}, [], {"answer": "4"})


def test_a_conversation_is_sent_as_it_is(tmp_path: Path) -> None:
    said = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Bye")]
    case = case_of(tmp_path, input=[{"role": role, "content": text} for role, text in said])
    assert [(one.role, one.content) for one in case.messages] == said
    assert case.inputs == {"prompt": "Bye"}


def test_attached_files_stand_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n", "utf-8")
    (tmp_path / "b.csv").write_text("3,4\n", "utf-8")
    blocks = [
        {"type": "file", "value": "b.csv"},
        {"type": "text", "value": "Add "},
        {"type": "text", "value": "up."},
    ]
    case = case_of(tmp_path, input=[{"role": "user", "content": blocks}], input_files=["a.csv"])
    first = "--- file: a.csv ---\n1,2\n--- end of file ---"
    second = "--- file: b.csv ---\n3,4\n--- end of file ---"
    assert case.inputs["prompt"] == f"{first}\n\n{second}\n\nAdd up."


@pytest.mark.parametrize("written", ["../files/a.csv", "files/a.csv"])
def test_a_file_may_be_anywhere_in_the_repository(tmp_path: Path, written: str) -> None:
    for folder in (".git", "files", "evals"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "a.csv").write_text("1,2\n", "utf-8")
    case = case_of(tmp_path / "evals", input="Add up.", input_files=[written])
    assert "1,2" in case.inputs["prompt"]


def test_a_file_outside_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k", "utf-8")
    (tmp_path / "evals").mkdir()
    blocks = [{"type": "file", "value": "../key"}, {"type": "text", "value": "x"}]
    with pytest.raises(InputError, match=r"EVAL\.yaml:1: '\.\./key' leads out of its folder"):
        imported(
            tmp_path / "evals", {"id": "t", "assert": [CHECK], "input": [{"role": "user", "content": blocks}]}
        )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "tool", "content": "42"}, "a message of role 'tool' is left out"),
        (
            {"role": "user", "content": [{"type": "image", "value": "x.png"}]},
            "a block of type 'image' is left out",
        ),
    ],
)
def test_tools_and_pictures_are_listed(tmp_path: Path, message: Any, said: str) -> None:
    test = {"id": "t", "assertions": [CHECK], "input": [message, {"role": "user", "content": "Go"}]}
    assert any(said in warning for warning in imported(tmp_path, test).warnings)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "test 't' asks nothing"),
        ({"input": [{"role": "system", "content": "s"}]}, "test 't' asks nothing"),
        (
            {"input": [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]},
            "does not end with the user's word",
        ),
        (
            {"turns": [{"input": "Hi"}, {"input": "Bye"}]},
            "is a conversation, and what is answered to turn 1 is open",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(tmp_path: Path, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        case_of(tmp_path, **asked)


def test_turns_with_their_answers_are_a_conversation(tmp_path: Path) -> None:
    turns = [
        {"input": "Hi", "expected_output": "Hello", "assertions": [CHECK]},
        {"input": "Bye", "expected_output": "Ciao", "assertions": [{"type": "equals", "value": "Ciao"}]},
    ]
    found = imported(tmp_path, {"id": "t", "mode": "conversation", "turns": turns})
    (case,) = found.evalset.cases
    assert [one.content for one in case.messages] == ["Hi", "Hello", "Bye"]
    assert (case.expected, [one.type for one in case.graders]) == ({"answer": "Ciao"}, ["equals"])
    assert any("the checks of turn 1 are left out" in warning for warning in found.warnings)


def test_turns_without_checks_of_their_own_lose_nothing(tmp_path: Path) -> None:
    turns = [{"input": "Hi", "expected_output": "Hello"}, {"input": "Bye"}]
    found = imported(tmp_path, {"id": "t", "turns": turns, "assertions": [CHECK]})
    assert not any("checks of turn" in warning for warning in found.warnings)


def test_a_file_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tests"):
        imported(tmp_path)


def test_a_trigger_inside_others_is_not_decided_by_description(tmp_path: Path) -> None:
    inside = {"type": "composite", "assertions": [WANTS, CHECK]}
    found = imported(tmp_path, {"id": "t", "input": "x", "assertions": [inside]}, mode="description")
    assert any("only a trigger of the test itself" in warning for warning in found.warnings)


def test_structured_expectations_are_json(tmp_path: Path) -> None:
    case = case_of(tmp_path, input="x", expected_output={"risk": "low"})
    assert case.expected == {"answer": '{"risk":"low"}'}


def verdict(case: EvalCase, found: LoadedTask, *scores: float) -> str:
    grades = [
        Grade(one.type, score >= 0.8, score, "", one.required, one.weight)
        for one, score in zip(case.graders, scores, strict=True)
    ]
    return outcome_of(grades, threshold_of(found.task, case)).verdict


def test_a_test_passes_by_the_mean_of_its_checks(tmp_path: Path) -> None:
    checks = [{**CHECK, "weight": 4}, {"type": "is-json"}]
    found = imported(tmp_path, {"id": "t", "input": "x", "assertions": checks})
    (case,) = found.evalset.cases
    assert verdict(case, found, 1, 0) == "passed"
    assert verdict(case, found, 0, 1) == "failed"


def test_a_required_check_is_a_gate(tmp_path: Path) -> None:
    checks = [{**CHECK, "weight": 4}, {"type": "is-json", "required": True}]
    found = imported(tmp_path, {"id": "t", "input": "x", "assertions": checks})
    assert verdict(found.evalset.cases[0], found, 1, 0) == "failed"


def test_thresholds_are_the_suite_s_or_the_test_s(tmp_path: Path) -> None:
    one = {"id": "a", "input": "x", "assertions": [CHECK]}
    found = imported(
        tmp_path, one, {**one, "id": "b", "execution": {"threshold": 1}}, execution={"threshold": 0.5}
    )
    assert found.task.pass_threshold == 0.5
    assert [case.pass_threshold for case in found.evalset.cases] == [None, 1.0]


@pytest.mark.parametrize(
    ("suite", "samples"),
    [
        ({}, 1),
        ({"execution": {"trials": {"count": 4}}}, 4),
        ({"runs_per_query": 3}, 3),
        ({"runs_per_query": 9999}, 1000),
    ],
)
def test_trials_are_samples(tmp_path: Path, suite: dict[str, Any], samples: int) -> None:
    assert imported(tmp_path, {"id": "t", "input": "x", "assertions": [CHECK]}, **suite).samples == samples


def test_the_suite_s_checks_come_after_the_test_s(tmp_path: Path) -> None:
    one = {"id": "a", "input": "x", "assertions": [CHECK]}
    found = imported(
        tmp_path,
        one,
        {**one, "id": "b", "execution": {"skip_defaults": True}},
        assertions=[{"type": "is-json"}],
    )
    assert [[g.type for g in case.graders] for case in found.evalset.cases] == [
        ["contains", "is_json"],
        ["contains"],
    ]


def test_triggers_are_decided_by_tool_calls(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, {"id": "t", "input": "x", "assertions": [WANTS, SHUNS, CHECK]}).evalset.cases
    assert [one.type for one in case.graders] == ["skill_triggered", "skill_triggered", "contains"]


def test_triggers_are_decided_by_description(tmp_path: Path) -> None:
    (tmp_path / "skills" / "csv").mkdir(parents=True)
    (tmp_path / "skills" / "csv" / "SKILL.md").write_text("---\ndescription: Reads tables.\n---\n", "utf-8")
    found = imported(
        tmp_path, {"id": "t", "input": "Sum it up", "assertions": [WANTS, SHUNS, CHECK]}, mode="description"
    )
    answered, csv, chart = found.evalset.cases
    assert (answered.id, csv.id, chart.id) == ("t", "t:trigger:csv", "t:trigger:chart")
    assert [case.expected for case in (csv, chart)] == [{"decision": "YES"}, {"decision": "NO"}]
    assert "Reads tables." in csv.inputs["prompt"]
    assert "Draws charts." in chart.inputs["prompt"]
    assert (answered.stratum, csv.stratum) == ({"part": "answer"}, {"part": "trigger"})
    assert not [warning for warning in found.warnings if "description" in warning]


def test_a_test_of_one_trigger_alone_is_one_case(tmp_path: Path) -> None:
    found = imported(tmp_path, {"id": "t", "input": "x", "assertions": [WANTS]}, mode="description")
    assert [case.id for case in found.evalset.cases] == ["t"]
    assert any("decided by its name alone; add description:" in warning for warning in found.warnings)


def test_a_trigger_without_a_skill_is_listed(tmp_path: Path) -> None:
    test = {"id": "t", "input": "x", "assertions": [{"type": "skill-trigger"}, CHECK]}
    for mode in ("tool_calls", "description"):
        found = imported(tmp_path, test, mode=mode)  # type: ignore[arg-type]
        assert any("it names no skill" in warning for warning in found.warnings)
        assert [case.graders[0].type for case in found.evalset.cases] == ["contains"]


def test_ids_are_made_unique(tmp_path: Path) -> None:
    one = {"input": "x", "assertions": [CHECK]}
    found = imported(
        tmp_path, {**one, "id": "a"}, {**one, "id": "a"}, one, {**one, "id": 7}, {**one, "id": "z" * 300}
    )
    ids = [case.id for case in found.evalset.cases]
    assert ids[:4] == ["a", "a#2", "test-3", "7"]
    assert len(ids[4]) <= 200
    assert any("id 'a' is used twice" in warning for warning in found.warnings)


def test_what_a_bake_off_decides_is_listed(tmp_path: Path) -> None:
    trials = {"count": 2, "strategy": "mean", "cost_limit_usd": 1}
    execution = {"target": "t", "budget_usd": 2, "workers": 3, "trials": trials}
    own = {"target": "u", "trials": {"count": 3}}
    test = {
        "execution": own,
        "id": "t",
        "input": "x",
        "assertions": [CHECK],
        "depends_on": ["u"],
        "workspace": {"path": "w"},
    }
    said = " ".join(imported(tmp_path, test, execution=execution, workspace="w").warnings)
    for part in ("targets", "--max-cost-usd 2", "workers", "strategy 'mean'", "depends_on", "its own trials"):
        assert part in said


def test_all_tests_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, {"id": "a", "input": "x"}, {"id": "b", "assertions": [CHECK]})
    assert len(caught.value.problems) == 2


def test_names_come_from_the_file_or_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "csv analyzer"
    folder.mkdir()
    test = {"id": "t", "input": "x", "assertions": [CHECK]}
    assert imported(folder, test).task.name == "csv-analyzer"
    assert imported(folder, test, name="my-suite").task.name == "my-suite"
