"""The checks of promptfoo, row by row."""

from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.loaded import LoadedTask
from evalq.formats.document import text_of
from evalq.formats.promptfoo.load import load


def imported(folder: Path, *checks: Any) -> LoadedTask:
    path = folder / "promptfooconfig.yaml"
    test = {"vars": {"x": "hi"}, "assert": [{"type": "is-json", "metric": "known"}, *checks]}
    path.write_text(text_of({"prompts": ["{{x}}"], "tests": [test]}), "utf-8")
    return load(path, folder)


def graders(folder: Path, *checks: Any) -> list[dict[str, Any]]:
    (case,) = imported(folder, *checks).evalset.cases
    return [grader.model_dump(exclude_unset=True) for grader in case.graders[1:]]


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        ({"type": "equals", "value": "{{x}} there"}, {"type": "equals", "value": "hi there"}),
        (
            {"type": "equals", "value": {"a": "{{x}}"}},
            {"type": "structural_match", "value": {"a": "hi"}, "strict": True},
        ),
        ({"type": "contains", "value": "a"}, {"type": "contains", "value": "a"}),
        ({"type": "not-icontains", "value": "a"}, {"type": "icontains", "value": "a", "negate": True}),
        ({"type": "contains-any", "value": "a, b"}, {"type": "contains_any", "values": ["a", "b"]}),
        ({"type": "contains-all", "value": ["a", "b"]}, {"type": "contains_all", "values": ["a", "b"]}),
        ({"type": "icontains-any", "value": ["a"]}, {"type": "icontains_any", "values": ["a"]}),
        ({"type": "icontains-all", "value": ["a"]}, {"type": "icontains_all", "values": ["a"]}),
        ({"type": "starts-with", "value": "a"}, {"type": "starts_with", "value": "a"}),
        ({"type": "regex", "value": r"\d+"}, {"type": "regex", "pattern": "[0-9]+"}),
        ({"type": "is-json"}, {"type": "is_json"}),
        (
            {"type": "is-json", "value": {"type": "object"}},
            {"type": "json_schema", "value": {"type": "object"}},
        ),
        ({"type": "is-json", "value": "type: object"}, {"type": "json_schema", "value": {"type": "object"}}),
        ({"type": "contains-json"}, {"type": "is_json", "allow_fence": True}),
        ({"type": "cost", "threshold": 0.1}, {"type": "cost", "budget": 0.1}),
        ({"type": "latency", "threshold": 200}, {"type": "latency", "threshold": 200.0}),
        ({"type": "levenshtein", "value": "a"}, {"type": "levenshtein", "value": "a", "max_distance": 5}),
        (
            {"type": "levenshtein", "value": "a", "threshold": 2},
            {"type": "levenshtein", "value": "a", "max_distance": 2},
        ),
        ({"type": "llm-rubric", "value": "Is it kind?"}, {"type": "boolean", "rubric": "Is it kind?"}),
        (
            {"type": "llm-rubric", "value": "1.0 if safe, 0.0 otherwise"},
            {
                "type": "rubric",
                "rubric": "1.0 if safe, 0.0 otherwise",
                "range": [0, 1],
                "pass_threshold": 1.0,
            },
        ),
        (
            {"type": "llm-rubric", "value": "Score from 1 to 5", "threshold": 0.5},
            {"type": "rubric", "rubric": "Score from 1 to 5", "range": [1, 5], "pass_threshold": 3.0},
        ),
        (
            {"type": "llm-rubric", "value": "Is it kind?", "threshold": 0.5},
            {"type": "rubric", "rubric": "Is it kind?", "range": [0, 10], "pass_threshold": 5.0},
        ),
        (
            {"type": "g-eval", "value": ["a b", "c"]},
            {"type": "rubric", "rubric": "a b\nc", "range": [0, 10], "pass_threshold": 7.0},
        ),
        ({"type": "model-graded-closedqa", "value": "a b"}, {"type": "boolean", "rubric": "a b"}),
        ({"type": "not-is-refusal"}, {"type": "refusal", "negate": True}),
        ({"type": "word-count", "value": {"max": 5}}, {"type": "max_words", "value": 5}),
        (
            {"type": "skill-used", "value": "csv"},
            {"type": "skill_triggered", "skill": "csv", "should_trigger": True, "first_only": False},
        ),
        (
            {"type": "contains", "value": "a", "weight": 2, "metric": "a b"},
            {"type": "contains", "value": "a", "weight": 2.0, "name": "a-b"},
        ),
    ],
)
def test_a_check_becomes_its_grader(tmp_path: Path, check: Any, wanted: dict[str, Any]) -> None:
    assert graders(tmp_path, check) == [wanted]


def test_a_count_of_words_is_two_checks(tmp_path: Path) -> None:
    assert [one["type"] for one in graders(tmp_path, {"type": "word-count", "value": 5})] == [
        "min_words",
        "max_words",
    ]


def test_a_set_without_a_threshold_is_its_checks(tmp_path: Path) -> None:
    members = [{"type": "contains", "value": "a", "weight": 3}, {"type": "contains", "value": "b"}]
    found = graders(tmp_path, {"type": "assert-set", "weight": 2, "assert": members})
    assert [one["weight"] for one in found] == [1.5, 0.5]


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ({"type": "similar", "value": "a"}, "similar has no counterpart: left out"),
        ({"type": "javascript", "value": "true"}, "javascript has no counterpart"),
        ({"type": "python", "value": "True"}, "python has no counterpart"),
        ({"type": "factuality", "value": "a"}, "factuality has no counterpart"),
        ({"type": "answer-relevance", "threshold": 0.5}, "answer-relevance has no counterpart"),
        ({"type": "assert-set", "threshold": 0.5, "assert": []}, "a threshold of its own"),
        ({"type": "contains"}, "it has no value"),
        ({"type": "contains-any"}, "it has no value"),
        ({"type": "cost"}, "it sets no limit"),
        ({"type": "llm-rubric", "value": "Score from 1 to 5"}, "nothing says what passes"),
        ({"type": "llm-rubric", "value": "Score from 0.0 to 1.0"}, "wants fractions"),
        ({"type": "regex", "value": "("}, "not a regular expression"),
        ({"type": "word-count", "value": "many"}, "it counts to no number"),
        ({"type": "is-json", "value": "{: ["}, "neither JSON nor YAML"),
        ({"type": "contains-json"}, "the whole answer must be JSON"),
        ({"type": "is-json", "transform": "x"}, "transform is not run"),
        ({"type": "contains", "value": "file://gone.txt"}, "there is no file 'gone.txt'"),
    ],
)
def test_what_has_no_counterpart_is_listed(tmp_path: Path, check: Any, reason: str) -> None:
    assert any(reason in warning for warning in imported(tmp_path, check).warnings)
