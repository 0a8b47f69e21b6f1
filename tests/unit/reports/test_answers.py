"""Answers on the terminal: expected and answered, what differs marked, and no text that takes over."""

from collections.abc import Callable

import pytest
from rich.cells import cell_len

from evalq.reports.answers import (
    AnswerGroup,
    AnswerPage,
    BrokenJudge,
    Example,
    ShownAnswer,
    render_answers,
    render_plain_answers,
)

Show = Callable[..., str]


def page_of(expected: str, *texts: str, **more: bool) -> AnswerPage:
    answers = tuple(ShownAnswer(f"j{place}", 1, "failed", text) for place, text in enumerate(texts))
    example = Example("case-017", "VN", expected, answers)
    return AnswerPage((AnswerGroup("j0: wrong", 3, (example,)),), **more)


def test_expected_stands_above_the_answer_with_the_differing_words_marked(show: Show) -> None:
    page = page_of("A says 2021 here", "A says 2022 here")

    lines = show(render_answers(page, width=80, has_styles=False), 80).splitlines()

    assert lines[0] == "j0: wrong   3, 1 shown"
    assert lines[1] == "  case-017  VN"
    assert lines[2] == "    expected  A says [-2021-] here"
    assert lines[3] == "    answer    A says {+2022+} here"


def test_on_a_terminal_with_styles_the_marks_are_underlined(show: Show) -> None:
    output = show(render_answers(page_of("yes", "no"), width=80), 80, colours=True)

    assert "\x1b[4;" in output
    assert "{+" not in output


def test_a_difference_far_into_a_long_text_is_in_sight(show: Show) -> None:
    start = "the same words again and again " * 40
    page = page_of(f"{start}left", f"{start}right")

    lines = show(render_answers(page, width=80, has_styles=False), 80).splitlines()

    assert lines[2].endswith("[-left-]")
    assert "…" in lines[2]
    assert lines[3].endswith("{+right+}")


def test_several_answers_are_named_with_their_signs(show: Show) -> None:
    output = show(render_answers(page_of("x", "a", "b"), width=80, has_styles=False), 80)

    assert "    ✗ j0      {+a+}" in output
    assert "    expected  x" in output


def test_two_judges_are_compared_with_each_other(show: Show) -> None:
    page = page_of("other", "same one", "same two", pairwise=True)

    output = show(render_answers(page, width=80, has_styles=False), 80)

    assert "same {+one+}" in output
    assert "same {+two+}" in output


def test_a_broken_judge_is_one_line_with_its_first_error(show: Show) -> None:
    broken = BrokenJudge("gemini@short", "93/93 empty outputs", "blocked by a filter")
    output = show(render_answers(AnswerPage((), (broken,), ("try this",)), width=80), 80)

    first = "! gemini@short is broken: 93/93 empty outputs; first error: blocked by a filter"
    assert output.splitlines() == [first, "hint  try this"]


def test_an_answer_without_text_and_the_reason_of_a_model_are_shown(show: Show) -> None:
    answers = (ShownAnswer("j", 2, "failed", "", "the quote is not verbatim"),)
    page = AnswerPage((AnswerGroup("j: llm failed it", 1, (Example("c", "", "", answers),)),))

    output = show(render_answers(page, width=80), 80)

    assert "answer #2  (no text)" in output
    assert "the quote is not verbatim" in output


HOSTILE = {
    "escapes": "\x1b]8;;http://evil\x07[bold]x[/bold]\x9b31m\u202e\u2066\ud800\r\x00\x7f",
    "a long word": "x" * 1_000_000,
    "blanks": " " * 1_000_000 + "y",
    "right to left": "שלום עולם " * 10_000,
    "wide letters": "日本語" * 100_000,
    "tabs and lines": "a\tb\nc\u2028d\r\ne",
    "markup": "[red]a[/red] {0} %s [link=http://x]y[/link]",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [40, 80])
def test_hostile_texts_stay_on_their_lines(
    name: str, width: int, forbidden: frozenset[str], show: Show
) -> None:
    text = HOSTILE[name]
    answers = (ShownAnswer(text[:300], 1, "failed", text, text),)
    example = Example(text[:300], text[:300], text[::-1], answers, text)
    page = AnswerPage((AnswerGroup(text[:300], 1, (example,)),))

    lines = show(render_answers(page, width=width, has_styles=False), width).splitlines()
    rows = render_plain_answers(page).splitlines()

    assert len(lines) == 6
    assert all(cell_len(line) <= width for line in lines)
    assert not set("".join(lines)) & forbidden
    assert len(rows) == 2
    assert rows[1].count("\t") == rows[0].count("\t") == 9
    assert not set("".join(rows)) & (forbidden | {"\n"})
    assert len(rows[1]) < 4_000


def test_a_pipe_gets_a_row_for_each_answer_and_comments_for_the_rest() -> None:
    page = page_of("billing", "sales")
    full = AnswerPage(page.groups, (BrokenJudge("dead", "12/12 empty", ""),), ("a hint",))

    rows = [row.split("\t") for row in render_plain_answers(full).splitlines()]

    assert rows[0][:4] == ["why", "case", "stratum", "judge"]
    assert rows[1] == ["j0: wrong", "case-017", "VN", "j0", "1", "failed", "billing", "sales", "-", "-"]
    assert rows[2] == ["# broken", "dead", "12/12 empty", "-"]
    assert rows[3] == ["# hint", "a hint"]


def test_ascii_fonts_get_ascii_signs_only(show: Show) -> None:
    output = show(render_answers(page_of("word " * 50, "x", "y"), width=60, ascii_only=True), 60)

    assert output.isascii()


def test_a_broken_judge_stands_apart_from_the_groups(show: Show) -> None:
    broken = BrokenJudge("dead", "12/12 call failed: no key", "no key")
    page = AnswerPage(page_of("a", "b").groups, (broken,))

    lines = show(render_answers(page, width=80), 80).splitlines()

    assert lines[:3] == ["! dead is broken: 12/12 call failed: no key", "", "j0: wrong   3, 1 shown"]
