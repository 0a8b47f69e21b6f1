from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from evalq.records import Verdict
from evalq.reports.cases import AnswerView, CaseView, GradeLine, render_case, render_case_list

Show = Callable[..., str]
JUDGES = ["grok-4.3", "opus-4.7", "sonnet-4.6"]


def _answer(
    judge: str, verdict: Verdict, text: str = "finding: A says 2021, B 2023", sample: int = 1
) -> AnswerView:
    return AnswerView(
        judge=judge,
        sample=sample,
        verdict=verdict,
        error_kind="call_permanent" if verdict == "errored" else None,
        answer_text=text,
        grades=(
            GradeLine("sonnet-4.6", verdict == "passed", "both quotes verbatim"),
            GradeLine("contains", None, ""),
        ),
        latency_ms=1840,
        cost_usd=Decimal("0.0021"),
        tokens=(812, 96),
    )


@pytest.fixture
def case() -> CaseView:
    answers = (
        _answer("grok-4.3", "passed"),
        _answer("opus-4.7", "failed"),
        _answer("sonnet-4.6", "errored", ""),
    )
    source = 'Source A: "Launched in 2021"\nSource B: "went live in 2023"'
    return CaseView("case-017", "pos_subtle · VN", "positive", source, "contradiction A/B", answers)


def _line(text: str, *words: str) -> str:
    return next(line for line in text.splitlines() if all(word in line for word in words))


def test_a_case_shows_input_expectation_and_each_answer(case: CaseView, show: Show) -> None:
    output = show(render_case(case, 100))
    assert _line(output, "case-017").split() == ["case-017", "pos_subtle", "·", "VN", "positive"]
    assert "contradiction A/B" in output
    assert "grok-4.3   ✓ passed   1.84s · 812+96 tok · $0.0021" in output
    assert "opus-4.7   ✗ failed" in output


def test_an_errored_answer_says_its_kind_and_that_there_is_no_text(case: CaseView, show: Show) -> None:
    output = show(render_case(case, 100))
    assert "sonnet-4.6   ! errored: call permanent" in output
    assert "(no text)" in output


def test_each_grader_gives_its_mark_and_reason(case: CaseView, show: Show) -> None:
    output = show(render_case(case, 100))
    assert "✓ sonnet-4.6 passed: both quotes verbatim" in output
    assert "✗ sonnet-4.6 failed: both quotes verbatim" in output
    assert "! contains undecided" in output


def test_a_second_sample_is_numbered_and_missing_facts_are_left_out(case: CaseView, show: Show) -> None:
    answer = replace(_answer("grok-4.3", "passed", sample=2), tokens=None, latency_ms=None, grades=())
    output = show(render_case(replace(case, stratum="", answers=(answer,)), 100))
    assert "grok-4.3 #2   ✓ passed   – · $0.0021" in output
    assert "case-017   positive" in output


def test_a_hostile_answer_stays_letters_everywhere(
    hostile: str, forbidden: frozenset[str], show: Show
) -> None:
    answer = AnswerView(hostile, 1, "errored", hostile, hostile, (GradeLine(hostile, True, hostile),))
    case = CaseView(hostile, hostile, hostile, hostile, hostile, (answer,))
    for output in (show(render_case(case, 100)), show(render_case_list([case], [hostile], 100))):
        assert not set(output) & forbidden
        assert "[bold]x[/bold]" in output


def test_a_case_keeps_to_its_width(case: CaseView, show: Show) -> None:
    wide = replace(case, input_text="word " * 100)
    assert all(len(line) <= 60 for line in show(render_case(wide, 60), 140).splitlines())


def test_the_list_has_a_sign_for_each_judge_and_the_input_on_one_line(case: CaseView, show: Show) -> None:
    output = show(render_case_list([case], JUDGES, 100))
    assert output.splitlines()[0].split() == ["case", "stratum", "grok", "opus", "sonn", "input"]
    row = _line(output, "case-017")
    assert "✓     ✗     !" in row
    assert 'Source A: "Launched in 2021" Source B' in row
    assert "✓ passed   ✗ failed   ! not graded   ? waits for review   · no answer yet" in output


def test_names_are_as_long_as_telling_them_apart_needs(case: CaseView, show: Show) -> None:
    heading = show(
        render_case_list([case], ["claude-opus", "claude-sonnet", "gpt", "gpt-mini"], 100)
    ).splitlines()[0]
    assert heading.split()[2:-1] == ["claude-o", "claude-s", "gpt", "gpt-"]


def test_judges_too_many_for_names_are_numbered_with_a_key(case: CaseView, show: Show) -> None:
    output = show(render_case_list([case], JUDGES, 50), 50)
    assert output.splitlines()[0].split() == ["case", "1", "2", "3", "input"]
    assert "1 grok-4.3   2 opus-4.7   3 sonnet-4.6" in output


@pytest.mark.parametrize("width", [30, 60, 80, 100, 140])
def test_a_case_row_never_wraps(case: CaseView, show: Show, width: int) -> None:
    cases = [replace(case, case_id=f"case-{i:03}", input_text="日本語 " * 80) for i in range(5)]
    output = show(render_case_list(cases, JUDGES, width), width)
    assert [line.split()[0] for line in output.splitlines()[2:7]] == [f"case-{i:03}" for i in range(5)]


def test_several_samples_show_the_worst_and_how_many_passed(case: CaseView, show: Show) -> None:
    answers = (_answer("grok-4.3", "passed"), _answer("grok-4.3", "failed", sample=2))
    row = _line(show(render_case_list([replace(case, answers=answers)], JUDGES, 100)), "case-017")
    assert "✗ 1/2" in row
    assert row.count("·") >= 2


def test_a_list_of_no_cases_and_no_judges_is_a_heading(show: Show) -> None:
    assert show(render_case_list([], [], 80)).splitlines()[0].split() == ["case", "stratum", "input"]
