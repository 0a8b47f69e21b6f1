"""The checks of an EVAL.yaml that ask a model, and what becomes of prompts and criteria."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask
from evalq.formats.agentv.load import load
from evalq.formats.document import text_of


def imported(folder: Path, *assertions: Any, **more: Any) -> LoadedTask:
    path = folder / "EVAL.yaml"
    test = {"id": "t", "input": "Ask.", "assertions": list(assertions), **more}
    path.write_text(text_of({"tests": [test]}), "utf-8")
    return load(path, folder)


def graders(folder: Path, *assertions: Any, **more: Any) -> list[Any]:
    return list(imported(folder, *assertions, **more).evalset.cases[0].graders)


def test_bare_lines_are_one_grader(tmp_path: Path) -> None:
    grader, other = graders(tmp_path, "It is short", {"type": "is-json"}, "It is kind")
    assert (grader.type, grader.weight, grader.range, grader.pass_threshold) == ("criteria", 1.0, [0, 1], 0.8)
    assert [one.description for one in grader.criteria] == ["It is short", "It is kind"]
    assert other.type == "is_json"


def test_one_line_is_a_question(tmp_path: Path) -> None:
    (grader,) = graders(tmp_path, {"type": "rubrics", "criteria": "Says {braces} and more"})
    assert (grader.type, grader.rubric) == ("boolean", "Says {{braces}} and more")


def test_a_single_word_is_no_name_of_a_rubric(tmp_path: Path) -> None:
    (grader,) = graders(tmp_path, {"type": "rubrics", "criteria": "helpfulness"})
    assert grader.rubric == "helpfulness."


def test_required_lines_have_graders_of_their_own(tmp_path: Path) -> None:
    lines = [
        {"id": "structure", "outcome": "Has headings", "weight": 1, "required": True},
        {"id": "codes", "outcome": "Covers codes", "weight": 2},
        {"id": "structure", "outcome": "Has examples", "weight": 1},
    ]
    rest, gate = graders(tmp_path, {"type": "rubrics", "criteria": lines, "weight": 2})
    assert (rest.type, rest.weight, rest.required) == ("criteria", 1.5, False)
    assert [(one.name, one.weight) for one in rest.criteria] == [("codes", 2.0), ("criterion-3", 1.0)]
    assert (gate.type, gate.weight, gate.required) == ("boolean", 0.5, True)


def test_ranges_of_scores_become_levels(tmp_path: Path) -> None:
    line = {"id": "fact", "required_min_score": 8, "score_ranges": {"0": "wrong", "10": "right"}}
    other = {"outcome": "brief", "score_ranges": [{"score_range": [0, 4], "outcome": "long"}]}
    rest, gate = graders(tmp_path, {"type": "rubrics", "criteria": [line, other]})
    assert (gate.range, gate.pass_threshold, gate.required) == ([0, 10], 8.0, True)
    assert gate.criteria[0].levels == {"0": "wrong", "10": "right"}
    assert rest.criteria[0].levels == {"0": "long (up to 4)"}
    assert rest.required is False


@pytest.mark.parametrize(
    ("gate", "least"),
    [({"min_score": 0.5}, 5.0), ({"required": 0.3}, 3.0), ({"required": True}, 8.0)],
)
def test_a_gate_may_be_written_in_every_way(tmp_path: Path, gate: dict[str, Any], least: float) -> None:
    line = {"id": "fact", "score_ranges": {"0": "wrong"}, **gate}
    (grader,) = graders(tmp_path, {"type": "rubrics", "criteria": [line]})
    assert (grader.pass_threshold, grader.required) == (least, True)


def test_a_contradiction_is_said_in_words(tmp_path: Path) -> None:
    line = {"outcome": "The bug is fixed", "operator": "contradiction"}
    (grader,) = graders(tmp_path, {"type": "rubrics", "criteria": [line]})
    assert grader.rubric == "The answer does not contradict this: The bug is fixed"


def test_a_long_list_is_spread_over_graders(tmp_path: Path) -> None:
    found = graders(tmp_path, {"type": "rubrics", "criteria": [f"Line {n}" for n in range(45)]})
    assert [len(one.criteria) for one in found] == [30, 15]
    assert sum(one.weight for one in found) == pytest.approx(1.0)


def test_lines_that_weigh_nothing_are_still_looked_at(tmp_path: Path) -> None:
    lines = [{"outcome": "a", "weight": 0}, {"outcome": "b", "weight": 1, "required": True}]
    free, gate = graders(tmp_path, {"type": "rubrics", "criteria": [*lines, {"outcome": "c", "weight": 0}]})
    assert (free.weight, gate.weight) == (0.0, 1.0)


def test_a_list_that_weighs_nothing_is_listed(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"type": "rubrics", "criteria": [{"outcome": "a", "weight": 0}]}, criteria="c d"
    )
    assert any("all its weights are 0" in warning for warning in found.warnings)


def test_ranges_that_are_none_are_passed_over(tmp_path: Path) -> None:
    ranges = [{"score_range": [0, 99], "outcome": "far"}, {"score_range": [1, 1], "outcome": "near"}, 5]
    (grader,) = graders(
        tmp_path, {"type": "rubrics", "criteria": [{"outcome": "a b", "score_ranges": ranges}]}
    )
    assert grader.criteria[0].levels == {"1": "near"}


def test_a_prompt_is_a_rubric_with_our_names_in_it(tmp_path: Path) -> None:
    prompt = "Given {{ input }} and {{criteria}}, is {{answer}} like {{expected_output}}? {x} {{odd}}"
    found = imported(tmp_path, {"type": "llm-judge", "prompt": prompt}, criteria="Be {kind}")
    (grader,) = found.evalset.cases[0].graders
    assert grader.rubric == (  # type: ignore[union-attr]
        "Given {question} and Be {{kind}}, is {answer} like {expected}? {{x}} {{{{odd}}}}"
    )
    assert (grader.type, grader.range, grader.pass_threshold) == ("rubric", [0, 10], 8.0)  # type: ignore[union-attr]
    assert any("names {{odd}}" in warning for warning in found.warnings)


def test_a_prompt_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "safe.md").write_text("Is it safe?", "utf-8")
    (grader,) = graders(tmp_path, {"type": "llm-grader", "prompt": "safe.md"})
    assert grader.rubric == "Is it safe?"


@pytest.mark.parametrize("prompt", ["gone.md", "make.ts", {"command": ["make"]}])
def test_without_its_prompt_the_criteria_stand_in(tmp_path: Path, prompt: Any) -> None:
    found = imported(tmp_path, {"type": "llm-grader", "prompt": prompt}, criteria="Be kind")
    assert found.evalset.cases[0].graders[0].rubric == "Be kind"  # type: ignore[union-attr]
    assert len(found.warnings) >= 1


def test_a_grader_has_its_rubrics_before_its_prompt(tmp_path: Path) -> None:
    (grader,) = graders(
        tmp_path, {"type": "agent-judge", "prompt": "P", "rubrics": ["a", "b"], "target": "x"}
    )
    assert grader.type == "criteria"
    (judge,) = graders(tmp_path, {"type": "llm-judge", "prompt": "P q", "rubrics": ["a", "b"]})
    assert judge.rubric == "P q"


def test_models_and_steps_are_listed(tmp_path: Path) -> None:
    found = imported(
        tmp_path, {"type": "llm-grader", "prompt": "P q", "model": "m", "max_steps": 3, "temperature": 0}
    )
    assert any("its model is not taken over" in warning for warning in found.warnings)
    assert any("asked once, without tools" in warning for warning in found.warnings)
    assert found.evalset.cases[0].graders[0].temperature == 0.0  # type: ignore[union-attr]


def test_criteria_alone_are_marked(tmp_path: Path) -> None:
    (grader,) = graders(tmp_path, criteria="Be kind")
    assert (grader.type, grader.rubric, grader.required) == ("rubric", "Be kind", False)


def test_criteria_beside_checks_are_kept_and_said(tmp_path: Path) -> None:
    found = imported(tmp_path, {"type": "is-json"}, criteria="Be kind")
    assert found.evalset.cases[0].metadata == {"criteria": "Be kind"}
    assert any("the criteria of one case are not marked" in warning for warning in found.warnings)
