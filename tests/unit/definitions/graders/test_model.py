"""Model graders as they are written: what is malformed is found at load, with its line and what to write."""

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.fit import check_fit
from evalq.definitions.graders import GraderConfig
from evalq.definitions.rubrics import rubric_names
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

TASK = """\
name: t
system_prompt: ""
user_template: "{text}"
graders:
"""
GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)


def load(tmp_path: Path, grader: str) -> TaskConfig:
    path = tmp_path / "t.yaml"
    path.write_text(f"{TASK}  - {grader}\n", "utf-8")
    return load_task(path)


@pytest.mark.parametrize(
    ("grader", "problem"),
    [
        ("{type: verdict}", "missing key 'rubric' in graders[0]"),
        ('{type: verdict, rubric: " "}', "graders[0].rubric: it is empty"),
        ("{type: verdict, rubric: 3}", "graders[0].rubric should be text"),
        (
            "{type: verdict, rubric: code_qualty}",
            "there is no rubric 'code_qualty'; did you mean 'code_quality'?",
        ),
        ("{type: verdict, rubric: '{answer} is {\"a\": 1}'}", "is not a plain name"),
        ("{type: verdict, rubric: Is it?, model: a, models: [b]}", "model and models exclude each other"),
        ("{type: verdict, rubric: Is it?, models: [a, a]}", "an empty name or one twice"),
        ("{type: verdict, rubric: Is it?, panel: mean}", "panel: mean needs scores"),
        ("{type: verdict, rubric: Is it?, panel: jury}", "graders[0].panel cannot be 'jury'"),
        ("{type: verdict, rubric: Is it?, max_tokens: 0}", "graders[0].max_tokens"),
        ("{type: verdict, rubric: Is it?, examples: [{output: x}]}", "missing key 'verdict'"),
        ("{type: rubric, rubric: Is it?, pass_threshold: 6}", "pass_threshold 6 is outside the range"),
        ("{type: rubric, rubric: Is it?, threshold: x}", "graders[0].threshold should be a number"),
        ("{type: rubric, rubric: Is it?, range: [5, 1]}", "graders[0].range: not a range"),
        ("{type: rubric, rubric: Is it?, range: [1, 2, 3]}", "graders[0].range"),
        ("{type: rubric, rubric: Is it?, range: [0, 10]}", "pass_threshold is missing; say what passes"),
        (
            "{type: rubric, rubric: Is it?, examples: [{output: x, score: 3}, {output: y, score: 7}]}",
            "examples[1].score is 7, which is outside the range",
        ),
        ("{type: criteria}", "missing key 'criteria'"),
        ("{type: criteria, criteria: []}", "graders[0].criteria is empty"),
        (
            "{type: criteria, criteria: documentatio}",
            "there is no set of criteria 'documentatio'; did you mean",
        ),
        ("{type: criteria, criteria: [{name: a}, {name: a}]}", "criterion 'a' is there twice"),
        ("{type: criteria, criteria: [{name: a, weight: 0}]}", "all weights are 0"),
        ("{type: criteria, criteria: [{name: a, weight: -1}]}", "graders[0].criteria[0].weight"),
        ("{type: criteria, criteria: [{name: a b}]}", "graders[0].criteria[0].name is not of the right form"),
        ('{type: criteria, criteria: [{name: a, levels: {"6": x}}]}', "a level of criterion 'a' is 6"),
        ("{type: criteria, criteria: [{name: a, levels: {best: x}}]}", "a level of criterion 'a' is 'best'"),
        (
            "{type: criteria, criteria: [{name: a}], examples: [{output: x, scores: {b: 1}}]}",
            "examples[0].scores are not those of the criteria",
        ),
        (
            "{type: criteria, criteria: [{name: a}], examples: [{output: x, scores: {a: 9}}]}",
            "examples[0].scores.a is 9",
        ),
        ("{type: categorical, rubric: Is it?, categories: [], pass_categories: [a]}", "categories"),
        ("{type: categorical, rubric: Is it?, categories: [a, a], pass_categories: [a]}", "there twice"),
        (
            "{type: categorical, rubric: Is it?, categories: [a, b], pass_categories: [c]}",
            "pass_categories[0] is 'c', which is not a category; write a or b",
        ),
        (
            "{type: categorical, rubric: Is it?, categories: [a, b], pass_categories: []}",
            "pass_categories is empty",
        ),
        (
            "{type: categorical, rubric: Is it?, categories: [a=1, b], pass_categories: [b]}",
            "cannot be a category",
        ),
        (
            "{type: categorical, rubric: Is it?, categories: {a: 2, b: 0}, pass_categories: [a]}",
            "categories.a",
        ),
        (
            "{type: categorical, rubric: Is it?, categories: [a, b], pass_categories: [a], "
            "examples: [{output: x, category: c}]}",
            "examples[0].category is 'c'",
        ),
        ("{type: boolean}", "missing key 'rubric'"),
        ("{type: boolean, question: Is it?, examples: [{output: x, answer: maybe}]}", "examples[0].answer"),
        ("{type: pairwise}", "missing key 'against'"),
        ("{type: pairwise, against: x, pass_when: won}", "graders[0].pass_when cannot be 'won'"),
        ("{type: pairwise, against: x, rubric: 'Is {answer} better?'}", "the rubric shows one answer of two"),
        (
            "{type: pairwise, against: x, rubric: 'Is {answer_a} better?'}",
            "the rubric shows one answer of two",
        ),
    ],
)
def test_a_malformed_grader_is_found_at_load_with_its_line(tmp_path: Path, grader: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, grader)
    [found] = caught.value.problems
    assert problem in str(found)
    assert found.file.endswith("t.yaml")
    assert found.line == 5
    assert found.remedy


@pytest.mark.parametrize(
    "grader",
    [
        {"type": "verdict", "rubric": "knowledge_audit"},
        {"type": "rubric", "rubric": "Is it?", "threshold": 3, "models": ["a", "b"], "panel": "mean"},
        {"type": "criteria", "criteria": "documentation", "examples": []},
        {"type": "categorical", "rubric": "Is it?", "categories": ["a", "b"], "pass_categories": ["a"]},
        {"type": "boolean", "question": "Is it?", "examples": [{"output": "x", "answer": "yes"}]},
        {"type": "pairwise", "against": "reference"},
    ],
)
def test_a_snapshot_reads_back_as_the_same_grader(grader: dict[str, object]) -> None:
    loaded = GRADER.validate_python(grader)
    assert GRADER.validate_json(json.dumps(loaded.model_dump(mode="json"))) == loaded


def test_a_snapshot_holds_the_text_of_a_built_in_rubric(tmp_path: Path) -> None:
    [grader] = load(tmp_path, "{type: verdict, rubric: answer_matches}").graders
    assert "{expected}" in grader.model_dump()["rubric"]


def test_a_hyphen_in_a_type_or_levels_by_number_are_taken_as_meant() -> None:
    criteria = [{"name": "a", "levels": {5: "best"}}]
    assert GRADER.validate_python({"type": "criteria", "criteria": criteria}).criteria[0].levels == {
        "5": "best"
    }


def fit(tmp_path: Path, grader: str, case: str = "{id: c, inputs: {text: x}}") -> list[str]:
    path = tmp_path / "dev.yaml"
    path.write_text(f"name: dev\ncases:\n  - {case}\n", "utf-8")
    return [str(problem) for problem in check_fit(load(tmp_path, grader), load_evalset(path))]


def test_a_rubric_that_names_an_unknown_input_does_not_fit(tmp_path: Path) -> None:
    [problem] = fit(tmp_path, "{type: boolean, rubric: 'Is {answer} {tone}?'}")
    assert "dev.yaml:3: case 'c': graders[0].rubric uses {tone}, which is not among the inputs" in problem


def test_a_rubric_may_name_inputs_and_what_every_case_has(tmp_path: Path) -> None:
    assert (
        fit(tmp_path, "{type: boolean, rubric: '{text} {question} {answer} {expected} {finding_json}?'}")
        == []
    )
    assert fit(tmp_path, "{type: pairwise, against: j, rubric: '{answer_a} or {answer_b}?'}") == []
    assert len(fit(tmp_path, "{type: boolean, rubric: '{answer_a}?'}")) == 1


def test_a_built_in_rubric_must_fit_too(tmp_path: Path) -> None:
    [problem] = fit(tmp_path, "{type: verdict, rubric: knowledge_audit}")
    assert "{sources}" in problem


def test_a_comparison_with_the_reference_needs_one(tmp_path: Path) -> None:
    grader = "{type: pairwise, against: reference}"
    [problem] = fit(tmp_path, grader)
    assert "graders[0] compares with the reference" in problem
    assert fit(tmp_path, grader, "{id: c, inputs: {text: x}, expected: {answer: y}}") == []


def test_the_graders_of_a_case_must_fit_it(tmp_path: Path) -> None:
    own = "{id: c, inputs: {text: x}, graders: [{type: boolean, rubric: 'Is {answer} {tone}?'}]}"
    [problem] = fit(tmp_path, "{type: boolean, rubric: Is it?}", own)
    assert "uses {tone}" in problem


@pytest.mark.parametrize(
    ("rubric", "names"),
    [
        ("plain", ()),
        ("{answer} and {text}, {answer}", ("answer", "text")),
        ('JSON {"a": 1}', ()),
        ("a { alone", ()),
        ("{{name}}", ()),
        ("{x.y} reaches", ()),
    ],
)
def test_only_plain_names_make_a_template_of_a_rubric(rubric: str, names: tuple[str, ...]) -> None:
    assert rubric_names(rubric) == names
