"""Answers grouped by why they failed, by who failed, and by how two judges differ."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.answer_groups import (
    explain,
    group_differences,
    group_disagreements,
    group_failures,
    reason_kind,
)
from evalq.records import Verdict
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.results import BakeOffResult, Calls, RunResult

LABELS = ("billing", "sales")


def answer(judge: str, text: str, verdict: Verdict = "failed", **more: Any) -> AnswerView:
    grades = (GradeLine("equals", verdict == "passed", f"expected 'billing', got {text!r}", kind="equals"),)
    facts = {"error_kind": None, "grades": grades, **more}
    return AnswerView(judge, 1, verdict, answer_text=text, **facts)


def case(case_id: str, *answers: AnswerView, expected: str | None = "billing") -> CaseView:
    return CaseView(case_id, "EN", "positive", "in", expected or "", answers, expected_answer=expected)


@pytest.fixture
def result_with() -> Callable[..., BakeOffResult]:
    def make(*judges: str, broken: tuple[str, ...] = ()) -> BakeOffResult:
        rate = (0.5, 0.4, 0.6, "wilson", 1, 2, Decimal(0), Decimal(0), Decimal(0), 0)
        runs = [RunResult(1, judge, "v", 1, 1, 0, 0, *rate) for judge in judges]
        runs += [RunResult(1, judge, "v", 1, 0, 0, 9, *rate, excluded="9/9 empty") for judge in broken]
        money = (Decimal(0), Decimal(1), Decimal(0), Calls())
        facts: dict[str, Any] = {"comparisons": (), "kappa": (), "warnings": (), "next": ()}
        place = (7, "t", "dev", "s", None, 0, 1, "concluded")
        return BakeOffResult(*place, *money, runs=tuple(runs), n_jobs=1, n_done=1, **facts)

    return make


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (answer("a", "Sales."), "sales instead of billing"),
        (answer("a", "I do not know"), "none of the labels"),
        (answer("a", "Billing"), "differs only in case"),
        (answer("a", "", "errored", error_kind="call_timeout"), "not graded: call timeout"),
        (answer("a", "", "pending_review"), "pending review"),
        (answer("a", "x", grades=()), "none of the labels"),
        (answer("a", "x", grades=(GradeLine("g", False, "", details={"members": [1]}),)), "g failed it"),
        (answer("a", "x", grades=(GradeLine("g", False, "nice", kind="human"),)), "g failed it"),
    ],
)
def test_why_an_answer_failed_is_said_in_words_others_share(given: AnswerView, why: str) -> None:
    assert explain(case("c", given), given, LABELS) == why


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("expected 'capital 3'", "expected …"),
        ("12 findings on a negative case", "N findings on a negative case"),
        ('contains none of ["a", "b"]', "contains none of …"),
        ("'" * 1_000_000, "…" * 100),
        ("\x1b[2J 1", "�[NJ N"),
    ],
)
def test_a_reason_is_reduced_to_its_kind(reason: str, kind: str) -> None:
    assert reason_kind(reason) == kind


def test_a_grader_without_labels_explains_by_its_own_reason() -> None:
    given = answer("a", "some words")

    assert explain(case("c", given), given, ()) == "equals: expected …, got …"
    without_grades = answer("a", "some words", grades=())
    assert explain(case("c", without_grades, expected=None), without_grades, ()) == "failed"
    silent = answer("a", "some words", grades=(GradeLine("g", False, ""),))
    assert explain(case("c", silent, expected=None), silent, ()) == "g"


def test_failures_are_grouped_by_judge_and_reason_most_frequent_first(result_with: Any) -> None:
    cases = [case(f"c{n}", answer("a", "sales"), answer("dead", "", "errored")) for n in range(3)]
    cases.append(case("c9", answer("a", "what"), answer("b", "billing", "passed")))

    page = group_failures(result_with("a", "b", broken=("dead",)), cases, labels=LABELS, limit=50)

    found = [("a: sales instead of billing", 3), ("a: none of the labels", 1)]
    assert [(group.why, group.n) for group in page.groups] == found


def test_all_answers_of_a_judge_end_with_those_that_passed(result_with: Any) -> None:
    cases = [case(f"c{n}", answer("a", "billing", "passed")) for n in range(3)]
    cases.append(case("c9", answer("a", "sales")))

    page = group_failures(result_with("a"), cases, labels=LABELS, limit=50, with_passed=True)

    assert [group.why for group in page.groups] == ["a: sales instead of billing", "a: passed"]


def test_the_limit_is_shared_out_over_the_groups(result_with: Any) -> None:
    cases = [case(f"s{n}", answer("a", "sales")) for n in range(30)]
    cases += [case(f"o{n}", answer("a", "other")) for n in range(2)]

    page = group_failures(result_with("a"), cases, labels=LABELS, limit=7)

    assert [(group.n, len(group.examples)) for group in page.groups] == [(30, 5), (2, 2)]


def test_rare_reasons_of_too_many_are_one_group(result_with: Any) -> None:
    cases = [
        case(f"c{n}", answer("a", "x", "errored", error_kind=f"kind {chr(97 + n)}"), expected=None)
        for n in range(20)
    ]

    page = group_failures(result_with("a"), cases, labels=(), limit=50)

    assert len(page.groups) == 12
    assert (page.groups[-1].why, page.groups[-1].n) == ("a: other reasons", 9)


def test_answers_right_but_for_their_form_come_with_the_grader_that_accepts_them(result_with: Any) -> None:
    cases = [case("c1", answer("a", "Billing")), case("c2", answer("a", "BILLING"))]

    page = group_failures(result_with("a"), cases, labels=LABELS, limit=50)

    (hint,) = page.hints
    assert hint.startswith("a: 2 failures differ only in case from what is expected")
    assert "graders: [{type: equals, case_sensitive: false}]" in hint
    assert hint.endswith("`evalq score 7/a --rescore --graders FILE`")


def test_a_form_that_no_check_accepts_is_only_counted(result_with: Any) -> None:
    cases = [case("c1", answer("a b", "email"), expected="e-mail")]

    page = group_failures(result_with("a b"), cases, labels=(), limit=50)

    assert page.hints == ("a b: 1 failure differs only in case or punctuation from what is expected",)


def test_disagreements_are_grouped_by_who_failed(result_with: Any) -> None:
    one = case("c1", answer("a", "billing", "passed"), answer("b", "x"), answer("dead", "", "errored"))
    two = case("c2", answer("a", "billing", "passed"), answer("b", "y"))

    page = group_disagreements(result_with("a", "b", broken=("dead",)), [one, two], limit=50)

    (group,) = page.groups
    assert (group.why, group.n) == ("✗ b   ✓ a", 2)
    assert [shown.judge for shown in group.examples[0].answers] == ["a", "b"]


def test_two_judges_differ_in_verdict_first_and_then_in_words() -> None:
    cases = [
        case("same", answer("a", "billing", "passed"), answer("b", "billing ", "passed")),
        case("words", answer("a", "billing", "passed"), answer("b", "Billing", "passed")),
        case("words2", answer("a", "It is billing", "passed"), answer("b", "Billing", "passed")),
        case("verdict", answer("a", "billing", "passed"), answer("b", "sales")),
        case("alone", answer("a", "billing", "passed")),
    ]

    page = group_differences(cases, "a", "b", limit=50)

    found = [(group.why, group.n) for group in page.groups]
    assert found == [("a passed, b failed", 1), ("both passed, in other words", 2)]
    assert page.pairwise
