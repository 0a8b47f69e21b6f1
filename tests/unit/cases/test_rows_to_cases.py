"""Rows become cases: expectations in the task's form, ids from the content, no case twice."""

from typing import Any

import pytest

from evalq.cases.rows_to_cases import (
    ColumnMapping,
    ConvertedRows,
    SkippedRow,
    content_id,
    convert_rows,
    expected_of,
)
from evalq.cases.scrub.scrub import ScrubbedRow
from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import FINDINGS_RULE, HitAtK, PassRule, ScoringConfig, TaskConfig
from evalq.errors import InputError

COLUMNS = ColumnMapping({"text": "body"}, "label", None, {"lang": "lang"})


def a_task(rule: PassRule = "exact_match") -> TaskConfig:
    scoring = ScoringConfig(mode="strict_substring", pass_rule=rule)
    return TaskConfig(name="t", system_prompt="s", user_template="{text}", scoring=scoring)


RANKING = TaskConfig(name="t", system_prompt="s", user_template="{text}", graders=[HitAtK(type="hit_at_k")])


def cast(*values: dict[str, Any], columns: ColumnMapping = COLUMNS, **how: Any) -> ConvertedRows:
    rows = [ScrubbedRow(line, one) for line, one in enumerate(values, start=2)]
    return convert_rows(how.pop("task", a_task()), rows, columns, file="f.csv", **how)


def test_a_row_becomes_a_case_with_its_stratum() -> None:
    made = cast({"body": "x", "label": "y", "lang": "DE"})
    (case,) = made.cases
    assert (case.inputs, case.expected, case.stratum) == ({"text": "x"}, {"answer": "y"}, {"lang": "DE"})
    assert case.id == f"in-{content_id(case)[:12]}"
    assert (made.lines, case.draft) == ((2,), False)


def test_ids_do_not_depend_on_how_stand_ins_are_counted() -> None:
    first, second = cast({"body": "to [email-1]", "label": "a"}), cast({"body": "to [email-9]", "label": "a"})
    assert first.cases[0].id == second.cases[0].id


def test_a_row_that_says_the_same_is_a_duplicate_also_of_what_is_there() -> None:
    existing = [EvalCase(id="z", inputs={"text": "to [email-4]"}, expected={"answer": "a"})]
    rows = [{"body": text, "label": "a"} for text in ("to [email-1]", "x", "x")]
    made = cast(*rows, existing=existing)
    assert (made.lines, made.duplicates) == ((3,), (2, 4))


def test_a_row_without_an_input_is_left_out_and_named() -> None:
    made = cast({"body": "  ", "label": "a"}, {"label": "a"})
    assert made.left_out == (
        SkippedRow(2, "nothing in the column for text"),
        SkippedRow(3, "nothing in the column for text"),
    )


def test_a_case_that_lacks_what_the_grading_needs_is_a_draft() -> None:
    made = cast({"body": "x", "label": ""}, {"body": "y", "label": "a"})
    assert ([case.draft for case in made.cases], made.n_drafts) == ([True, False], 1)


def test_where_findings_are_asked_for_nothing_expected_means_nothing_to_find() -> None:
    made = cast({"body": "x", "label": ""}, {"body": "y", "label": "a|b"}, task=a_task(FINDINGS_RULE))
    assert [case.expected_type for case in made.cases] == ["negative", "positive"]
    assert made.cases[1].expected == {"any_of": ["a", "b"]}
    without = ColumnMapping({"text": "body"})
    assert cast({"body": "x"}, task=a_task(FINDINGS_RULE), columns=without).n_drafts == 1


@pytest.mark.parametrize(
    ("task", "value", "expected"),
    [
        (a_task(), "a|b", {"answer": "a|b"}),
        (a_task(), 7, {"answer": "7"}),
        (a_task(), {"answer": "x", "why": "y"}, {"answer": "x", "why": "y"}),
        (a_task(), None, None),
        (a_task("any_substring"), "a | b", {"any_of": ["a", "b"]}),
        (a_task("any_substring"), '["a", 1]', {"any_of": ["a", "1"]}),
        (a_task("any_substring"), "[email-1]", {"any_of": ["[email-1]"]}),
        (a_task("any_substring"), ["a"], {"any_of": ["a"]}),
        (RANKING, "n1|n2", {"relevant": ["n1", "n2"]}),
    ],
)
def test_what_is_expected_takes_the_form_the_grading_reads(
    task: TaskConfig, value: Any, expected: dict[str, Any] | None
) -> None:
    assert expected_of(task, value) == expected


def test_ids_of_a_column_are_taken_as_they_are() -> None:
    columns = ColumnMapping({"text": "body"}, "label", "key")
    made = cast({"body": "x", "label": "a", "key": 7}, {"body": "y", "label": "a"}, columns=columns)
    assert [case.id for case in made.cases] == ["7"]
    assert made.left_out == (SkippedRow(3, "no id of 1 to 200 characters in column key"),)


@pytest.mark.parametrize(("existing", "where"), [((), "first on line 2"), (("k",), "by a case of the set")])
def test_an_id_used_twice_is_refused(existing: tuple[str, ...], where: str) -> None:
    columns = ColumnMapping({"text": "body"}, "label", "key")
    rows = [{"body": text, "label": "a", "key": "k"} for text in "xy"]
    there = [EvalCase(id=one, inputs={"text": "z"}) for one in existing]
    with pytest.raises(InputError, match=f"the id of this row is used already, {where}"):
        cast(*rows, columns=columns, existing=there)
