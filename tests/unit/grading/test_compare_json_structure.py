"""Structures compared: fields, lists, matchers, what is ignored and required; numbers within tolerances."""

from typing import Any

import pytest
from answers import grade, passed

from evalq.definitions.definition import ABSENT
from evalq.errors import UngradableAnswer
from evalq.grading.compare_json import JsonDifference, StructureOptions, differences, numeric_differences

UUID = "7d444840-9dc0-11d1-b245-5ffdce74fad2"


def told(expected: Any, actual: Any, **options: Any) -> list[str]:
    return [str(one) for one in differences(expected, actual, StructureOptions(**options))]


@pytest.mark.parametrize(
    ("expected", "actual", "why"),
    [
        ({"a": 1}, {"a": 1.0, "b": 2}, []),
        ({"a": 1}, {"a": True}, ["a: is true or false instead of a number"]),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}, ["a.b: differs"]),
        ({"a": {"b": "x"}}, {"a": {}}, ["a.b: is missing"]),
        ({"a": None}, {"a": 0}, ["a: is a number instead of null"]),
        ([1, 2], [1, 3], ["1: differs"]),
        ([1, 2], [1], ["1: is missing"]),
        ([1], [1, 2, 3], ["1: is not expected", "2: is not expected"]),
        ([], {}, ["the whole: is a mapping instead of a list"]),
        ("x", "y", ["the whole: differs"]),
    ],
)
def test_differences_are_placed_and_explained(expected: Any, actual: Any, why: list[str]) -> None:
    assert told(expected, actual) == why


def test_a_difference_holds_both_values() -> None:
    assert differences({"a": 1}, {"a": 2}) == [JsonDifference("a", 1, 2, "differs")]
    assert differences({"a": 1}, {}) == [JsonDifference("a", 1, ABSENT, "is missing")]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, []),
        ({"strict": True}, ["b: is not expected", "the whole: has its fields in another order"]),
        ({"strict": True, "allow_additional_fields": True}, ["the whole: has its fields in another order"]),
        ({"strict": True, "allow_field_reordering": True}, ["b: is not expected"]),
        ({"allow_additional_fields": False}, ["b: is not expected"]),
        ({"allow_additional_fields": False, "ignore_fields": ["b"]}, []),
        ({"allow_additional_fields": False, "ignore_values": ["b"]}, []),
        ({"allow_field_reordering": False}, ["the whole: has its fields in another order"]),
    ],
)
def test_additional_fields_and_their_order_count_when_strict(options: dict[str, Any], why: list[str]) -> None:
    assert told({"a": 1, "c": 3}, {"c": 3, "b": 2, "a": 1}, **options) == why


def test_an_ignored_value_must_be_there_and_an_ignored_field_need_not() -> None:
    expected = {"meta": {"total": 1}, "at": "now"}
    assert told(expected, {"meta": {"total": 9}, "at": "then"}, ignore_values=["meta.total", "at"]) == []
    assert told(expected, {"meta": {}}, ignore_values=["meta.total"], ignore_fields=["at"]) == [
        "meta.total: is missing"
    ]


@pytest.mark.parametrize(
    "pattern", ["users.*.id", "users[*].id", "**.id", "*.*.id", "users.0.id", "users[0].id", "users", "**"]
)
def test_a_path_names_places_by_wildcard_and_number(pattern: str) -> None:
    assert told({"users": [{"id": 1}]}, {"users": [{"id": 2}]}, ignore_fields=[pattern]) == []


@pytest.mark.parametrize("pattern", ["users.id", "*.id", "users.1.id", "users.0.id.x", "user.*.id"])
def test_a_path_names_no_other_place(pattern: str) -> None:
    assert told({"users": [{"id": 1}]}, {"users": [{"id": 2}]}, ignore_fields=[pattern]) == [
        "users.0.id: differs"
    ]


def test_a_key_with_a_dot_is_written_with_a_backslash() -> None:
    assert told({"a.b": 1}, {"a.b": 2}, ignore_fields=[r"a\.b"]) == []


def test_ignored_entries_may_be_more_or_fewer() -> None:
    assert told({"data": []}, {"data": [1, 2]}, ignore_values=["data.*"]) == []
    assert told({"data": [1, 2]}, {"data": []}, ignore_fields=["data.*"]) == []


@pytest.mark.parametrize(
    ("key", "actual", "why"),
    [
        ("meta.page", {"meta": {"page": None}}, []),
        ("meta.page", {"meta": 3}, ["meta.page: is required, and not there"]),
        ("users.*.id", {"users": [{"id": 1}, {}]}, ["users.1.id: is required, and not there"]),
        ("users.*.id", {"users": []}, []),
        ("users.0", {"users": []}, ["users.0: is required, and not there"]),
        ("**.id", {"a": {"b": [{"id": 1}]}}, []),
        ("**.id", {"a": {"b": []}}, ["**.id: is required, and not there"]),
    ],
)
def test_required_keys_must_be_there(key: str, actual: Any, why: list[str]) -> None:
    assert told({}, actual, require_keys=[key]) == why


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        ("{{any_string}}", "", 3),
        ("{{ any_number }}", 3.5, "3.5"),
        ("{{any_number}}", -1, True),
        ("{{any_uuid}}", UUID, UUID[:-1]),
        ("{{any_email}}", "a.b@c.example", "a@b@c.example"),
        ("{{any_iso_datetime}}", "2026-11-17T20:00:00.5+01:00", "2026-11-17"),
        ("{{any_iso_datetime}}", "2024-02-29 10:30", "2023-02-29 10:30"),
        ("/users/{{any_number}}", "/users/17", "/users/x17"),
        ("{{any_string}} <{{any_email}}>", "Ann B. <a@b.example>", "Ann B. <a>"),
        ("id={{any_uuid}}, at {{any_iso_datetime}}", f"id={UUID}, at 2026-11-17T20:00:00Z", "id=, at"),
        ("a.c{{any_string}}", "a.cd", "abcd"),
    ],
)
def test_a_matcher_stands_for_what_it_names(expected: str, good: Any, bad: Any) -> None:
    assert differences({"x": expected}, {"x": good}) == []
    assert len(differences({"x": expected}, {"x": bad})) == 1


def test_a_matcher_that_fails_says_what_was_wanted() -> None:
    assert told({"at": "{{any_iso_datetime}}"}, {"at": "noon"}) == ["at: is no iso datetime"]


def test_one_entry_with_a_matcher_describes_them_all() -> None:
    users = [{"id": "{{any_uuid}}", "role": "admin"}]
    some = {"id": UUID, "role": "admin"}
    assert told(users, [some, some]) == []
    assert told(users, [some, {**some, "role": "guest"}]) == ["1.role: differs"]
    assert told(users, []) == ["0: is missing"]
    assert told(users, [some, some], strict=True) == ["1: is not expected"]


def test_a_text_too_hard_to_match_is_an_error() -> None:
    expected = "{{any_string}}x" * 12
    with pytest.raises(UngradableAnswer, match="takes longer"):
        differences(expected + "!", "x" * 5_000 + "?")


def test_the_documented_response_has_the_structure_of_its_baseline() -> None:
    baseline = {
        "status": 200,
        "body": {
            "users": [{"id": "{{any_uuid}}", "name": "{{any_string}}", "email": "{{any_email}}"}],
            "pagination": {"page": 1, "total": "{{any_number}}"},
        },
    }
    current = {
        "status": 200,
        "body": {
            "pagination": {"total": 42, "page": 1},
            "users": [{"id": UUID, "name": "Ann", "email": "a@b.example", "new": 1}] * 3,
        },
    }
    assert differences(baseline, current) == []
    assert told(baseline, {**current, "status": 500}) == ["status: differs"]


SCORES = {"quality_scores": {"tone": 4.2, "correctness": 4.8}, "samples": ["x"]}
ALLOWED = {"quality_scores": {"min_delta": -0.3, "max_delta": None}}


@pytest.mark.parametrize(
    ("current", "why"),
    [
        ({"quality_scores": {"tone": 3.9, "correctness": 5.0}}, []),
        ({"quality_scores": {"tone": 3.89, "correctness": 4.8}}, ["quality_scores.tone: changed by -0.31"]),
        ({"quality_scores": {"tone": 4.2}}, ["quality_scores.correctness: is missing"]),
        (
            {"quality_scores": {"tone": "4", "correctness": 9}},
            ["quality_scores.tone: is text instead of a number"],
        ),
        (3, ["quality_scores.tone: is missing", "quality_scores.correctness: is missing"]),
    ],
)
def test_numbers_may_change_within_their_tolerance(current: Any, why: list[str]) -> None:
    assert [str(one) for one in numeric_differences(SCORES, current, ALLOWED)] == why


def test_a_nearer_tolerance_goes_before_one_further_up() -> None:
    tolerance = {"min_delta": -1, "*": {"tone": {"max_delta": 0.1}}}
    now = {"quality_scores": {"tone": 5.2, "correctness": 9.8}}
    assert [str(one) for one in numeric_differences(SCORES, now, tolerance)] == [
        "quality_scores.tone: changed by +1"
    ]


def test_numbers_without_a_tolerance_are_equal() -> None:
    assert numeric_differences({"a": 1, "b": [2]}, {"a": 1.0, "b": [2]}, {}) == []
    assert numeric_differences([10**400], [1.5], {}) == [JsonDifference("0", 10**400, 1.5, "changed by -inf")]


def test_the_nearest_alternative_is_told_of() -> None:
    grader = {"type": "structural_match", "value": {"a": 1, "b": 1}, "alternatives": [{"a": 2, "b": 3}]}
    assert passed(grader, '{"a": 2, "b": 3}') is True
    found = grade(grader, '{"a": 2, "b": 4}')
    assert found.reason == "b: differs"
    assert found.details == {"differences": [{"path": "b", "why": "differs", "expected": "3", "actual": "4"}]}


def test_required_keys_are_enough_of_a_structure() -> None:
    grader = {"type": "structural_match", "require_keys": ["a", "b.c"]}
    assert passed(grader, '{"a": 1, "b": {"c": 2}}') is True
    assert (
        grade(grader, '{"b": {}}').reason == "a: is required, and not there; b.c: is required, and not there"
    )


def test_a_structure_may_stand_in_the_case() -> None:
    assert passed({"type": "structural_match"}, '{"a": 5}', {"answer": {"a": "{{any_number}}"}}) is True


def test_many_differences_are_counted() -> None:
    found = grade({"type": "structural_match", "value": list(range(9))}, "[]")
    assert found.reason == "0: is missing; 1: is missing; 2: is missing and 6 more"
