"""The human grader as people write it: every spelling of it read, every mistake placed."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.files import load_task
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

TASK = """\
name: essays
system_prompt: Be brief.
user_template: "{topic}"
graders:
"""
SPELLED_OUT = """\
  - type: "human"
    interface: "web"
    evaluators:
      min_required: 2
      max_allowed: 5
      agreement_threshold: 0.8
    rating_scale:
      type: "likert"
      range: [1, 5]
      labels:
        1: "Poor"
        2: "Below Average"
        5: "Excellent"
    rubric: "Rate {task_description}; if unsure, be {conservative/generous}."
    time_limit_minutes: 10
    blind_evaluation: true
"""


def load(tmp_path: Path, graders: str) -> Human:
    path = tmp_path / "essays.yaml"
    path.write_text(TASK + graders, "utf-8")
    task = load_task(path)
    assert TaskConfig.model_validate_json(task.model_dump_json()) == task
    (grader,) = task.graders
    assert isinstance(grader, Human)
    return grader


def complaint(tmp_path: Path, graders: str) -> tuple[int, str]:
    with pytest.raises(InputError) as caught:
        load(tmp_path, graders)
    (problem,) = caught.value.problems
    return problem.line, f"{problem.message}; {problem.remedy}"


def test_the_spelled_out_form_is_read(tmp_path: Path) -> None:
    grader = load(tmp_path, SPELLED_OUT)
    scale = grader.rating_scale
    assert isinstance(scale, LikertScale)
    assert (grader.evaluators.min_required, grader.evaluators.agreement_threshold) == (2, 0.8)
    assert (scale.steps, scale.labels["1"], scale.passes_at) == (["1", "2", "3", "4", "5"], "Poor", 4)
    assert (grader.time_limit_minutes, grader.blind_evaluation, grader.interface) == (10, True, "web")


def test_a_config_block_is_the_same(tmp_path: Path) -> None:
    plain = load(tmp_path, SPELLED_OUT)
    first, *rest = SPELLED_OUT.splitlines(keepends=True)
    nested = first + "    config:\n" + "".join(f"  {line}" for line in rest)
    assert load(tmp_path, nested) == plain


def test_what_belongs_to_the_evaluators_may_stand_beside_the_type(tmp_path: Path) -> None:
    grader = load(tmp_path, "  - {type: human, min_required: 3, agreement_threshold: 1}\n")
    assert (grader.evaluators.min_required, grader.evaluators.agreement_threshold) == (3, 1)


def test_bare_it_asks_one_person_for_pass_or_fail(tmp_path: Path) -> None:
    grader = load(tmp_path, "  - type: human\n")
    assert isinstance(grader.rating_scale, BinaryScale)
    assert (grader.evaluators.min_required, grader.evaluators.max_allowed) == (1, 5)
    assert (grader.time_limit_minutes, grader.blind_evaluation) == (30, True)
    assert (grader.label, grader.required, grader.weight) == ("human", True, 1)


def test_there_is_room_for_all_that_are_required(tmp_path: Path) -> None:
    assert load(tmp_path, "  - {type: human, min_required: 7}\n").evaluators.max_allowed == 7


def test_a_scale_may_be_a_bare_word(tmp_path: Path) -> None:
    scale = load(tmp_path, "  - {type: human, rating_scale: ranking}\n").rating_scale
    assert isinstance(scale, RankingScale)
    assert (scale.tie_allowed, scale.min_items, scale.pass_rank) == (False, 2, 1)


@pytest.mark.parametrize(
    ("ends", "threshold"), [([1, 5], 4), ([0, 10], 7.5), ([1, 7], 5.5), ([0, 1], 0.75), ([-2, 2], 1)]
)
def test_the_upper_quarter_of_a_scale_passes(ends: list[int], threshold: float) -> None:
    assert LikertScale(type="likert", range=ends).passes_at == threshold


@pytest.mark.parametrize(
    ("graders", "line", "words"),
    [
        ("  - type: human\n    min_required: 0\n", 6, "min_required"),
        ("  - type: human\n    min_required: 6\n    max_allowed: 3\n", 5, "more than max_allowed 3"),
        ("  - type: human\n    agreement_threshold: 80\n", 6, "less than or equal to 1"),
        ("  - type: human\n    min_required: 2\n    evaluators: {min_required: 2}\n", 5, "keep one"),
        ("  - type: human\n    evaluators: 3\n", 6, "evaluators should be a mapping"),
        ("  - type: human\n    rating_scale: {type: likart}\n", 6, "write 'likert'"),
        (
            "  - type: human\n    rating_scale: {range: [1, 5]}\n",
            6,
            "add type: one of likert, binary, ranking",
        ),
        ("  - type: human\n    rating_scale: {type: likert, range: [5, 1]}\n", 6, "write the low end first"),
        ("  - type: human\n    rating_scale: {type: likert, range: [1, 5, 9]}\n", 6, "range"),
        ("  - type: human\n    rating_scale: {type: likert, labels: {9: X}}\n", 6, "labels names '9'"),
        ("  - type: human\n    rating_scale: {type: likert, pass_threshold: 6}\n", 6, "off the scale"),
        ("  - type: human\n    rating_scale: {type: likert, criteria: [A, a]}\n", 6, "repeated entry"),
        (
            "  - type: human\n    rating_scale: {type: binary, options: [{value: true, label: Y}]}\n",
            6,
            "one with value: false",
        ),
        (
            "  - type: human\n"
            "    rating_scale: {type: binary, options: [{value: true, label: Y},"
            " {value: false, label: y}]}\n",
            6,
            "one label twice",
        ),
        ("  - type: human\n    rating_scale: {type: ranking, min_items: 4, max_items: 3}\n", 6, "swap them"),
        (
            "  - type: human\n    rating_scale: {type: ranking, max_items: 2, pass_rank: 2}\n",
            6,
            "passes every",
        ),
        ("  - type: human\n    time_limit_minutes: 0\n", 6, "time_limit_minutes"),
        ("  - type: human\n    interface: paper\n", 6, "'web', 'cli' or 'api'"),
        ("  - type: human\n    raters: 2\n", 6, "unknown key 'raters'"),
    ],
)
def test_a_mistake_is_placed_and_the_remedy_said(tmp_path: Path, graders: str, line: int, words: str) -> None:
    found, text = complaint(tmp_path, graders)
    assert words in text
    assert found == line


def test_a_task_that_only_people_grade_asks_for_text() -> None:
    fields: dict[str, Any] = {"name": "t", "system_prompt": "", "user_template": "x"}
    task = TaskConfig.model_validate({**fields, "graders": [{"type": "human"}]})
    assert task.answer_form() == "text"
