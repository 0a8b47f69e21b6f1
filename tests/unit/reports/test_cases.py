from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from evalq.records import Verdict
from evalq.reports.cases import AnswerView, CaseView, GradeLine, render_case

Show = Callable[..., str]


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
    output = show(render_case(case, 100))
    assert not set(output) & forbidden
    assert "[bold]x[/bold]" in output


def test_a_case_keeps_to_its_width(case: CaseView, show: Show) -> None:
    wide = replace(case, input_text="word " * 100)
    assert all(len(line) <= 60 for line in show(render_case(wide, 60), 140).splitlines())
