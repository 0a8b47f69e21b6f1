"""The cases of a report in HTML: folded, each with input, expectation and the answers side by side."""

from collections.abc import Sequence
from html import escape

from evalq.definitions.money import money
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.reports.report_parts import SIGNS, ReportCases, worst_verdict
from evalq.reports.text import clean, latency, one_line
from evalq.reports.text_diff import diff_words

FIRST_CHARS = 90
REASON_CHARS = 300
LONGEST_MARKED = 600
"""Longer answers are not compared with what was expected until a reader asks for it."""

_MARKS: dict[bool | None, tuple[str, str]] = {
    True: ("✓", "passed"),
    False: ("✗", "failed"),
    None: ("!", "undecided"),
}


def render_filters(cases: ReportCases) -> str:
    """The controls of the case browser; hidden unless the script runs."""
    strata = dict.fromkeys(one_line(case.stratum) for case in cases.cases if case.stratum)
    verdicts = [(verdict, f"{sign} {word}") for verdict, (sign, word) in SIGNS.items()]
    judges = [clean(judge) for judge in cases.judges]
    differences = [("expected", "what was expected"), *((f"j {judge}", judge) for judge in judges)]
    return (
        '<form id="filters" class="filters" aria-label="Filter the cases">'
        + _select("verdict", "Verdict", [("", "any"), ("disagree", "judges disagree"), *verdicts])
        + _select("judge", "Judge", [("", "all"), *((judge, judge) for judge in judges)])
        + _select("stratum", "Stratum", [("", "all"), *((f"s {name}", name) for name in strata)])
        + '<label>Text<input name="text" type="search" autocomplete="off"></label>'
        + _select("diff", "Mark words that differ from", [("", "–"), *differences])
        + '<button type="reset">Clear</button><output id="shown" aria-live="polite"></output></form>'
    )


def render_cases(cases: ReportCases, limit: int) -> str:
    """Every case, folded; texts are cut to `limit` characters."""
    return "".join(_render_case(case, place, cases.judges, limit) for place, case in enumerate(cases.cases))


def _select(name: str, label: str, choices: Sequence[tuple[str, str]]) -> str:
    options = "".join(
        f'<option value="{escape(value)}">{escape(one_line(text, 40))}</option>' for value, text in choices
    )
    return f'<label>{label}<select name="{name}">{options}</select></label>'


def _render_case(case: CaseView, place: int, judges: Sequence[str], limit: int) -> str:
    stratum = f' <span class="quiet">{_line(case.stratum)}</span>' if case.stratum else ""
    begins = escape(one_line(case.input_text, FIRST_CHARS))
    expected = case.expected_answer or case.expected_text
    answers = "".join(_render_answer(answer, expected, limit) for answer in case.answers)
    return (
        f'<details class="case" id="case-{place}" data-place="{place}"><summary><b>{_line(case.case_id)}</b>'
        f"{stratum}{_render_signs(case.answers, judges)}"
        f'<span class="quiet">{begins}</span></summary><div class="asked">'
        f"{_render_text('Input', case.input_text, limit)}"
        f"{_render_text('Expected', case.expected_text, limit, is_reference=True)}</div>"
        f'<div class="answers">{answers}</div></details>\n'
    )


def _render_signs(answers: Sequence[AnswerView], judges: Sequence[str]) -> str:
    """One sign per judge in the order of the leaderboard; the name is its tooltip."""
    signs = ""
    for judge in judges:
        verdict = worst_verdict(answer for answer in answers if answer.judge == judge)
        sign, word = SIGNS[verdict] if verdict else ("·", "no answer")
        kind = verdict or "quiet"
        signs += f'<span class="{kind}" title="{_line(judge)}: {word}">{sign}</span>'
    return f'<span class="signs">{signs}</span>'


def _render_text(title: str, text: str, limit: int, *, is_reference: bool = False) -> str:
    judge = ' data-judge=""' if is_reference else ""
    return f'<div class="text"{judge}><header><b>{title}</b></header><pre>{_cut(text, limit)}</pre></div>'


def _render_answer(answer: AnswerView, expected: str, limit: int) -> str:
    sign, word = SIGNS[answer.verdict]
    if answer.error_kind:
        word += f": {answer.error_kind.replace('_', ' ')}"
    sample = f" #{answer.sample}" if answer.sample > 1 else ""
    facts = f"{latency(answer.latency_ms)} · ${money(answer.cost_usd, places=4)}"
    if answer.tokens:
        facts += f" · {answer.tokens[0]}+{answer.tokens[1]} tok"
    grades = "".join(_render_grade(grade) for grade in answer.grades)
    return (
        f'<div class="text" data-judge="{escape(clean(answer.judge))}"><header>'
        f'<b>{_line(answer.judge)}{sample}</b><span class="{answer.verdict}">{sign} {_line(word)}</span>'
        f'<span class="quiet">{facts}</span></header>{_render_marked(answer, expected, limit)}'
        f"{f'<ul>{grades}</ul>' if grades else ''}</div>"
    )


def _render_marked(answer: AnswerView, expected: str, limit: int) -> str:
    """The answer; a failed one that is short has the words marked that were not expected."""
    text = clean(answer.answer_text)
    if not text:
        return '<pre class="quiet" data-empty>(no text)</pre>'
    is_short = max(len(text), len(expected)) <= min(LONGEST_MARKED, limit)
    if answer.verdict != "failed" or not expected or not is_short:
        return f"<pre>{_cut(text, limit)}</pre>"
    _, spans = diff_words(clean(expected), text)
    if not any(span.same and span.text.strip() for span in spans):
        return f"<pre>{escape(text)}</pre>"  # nothing in common: marking everything would tell nothing
    marked = ""
    for span in spans:
        marked += escape(span.text) if span.same else f"<mark>{escape(span.text)}</mark>"
    return f"<pre>{marked}</pre>"


def _render_grade(grade: GradeLine) -> str:
    sign, word = ("?", "waits for review") if grade.pending else _MARKS[grade.passed]
    reason = f": {escape(one_line(grade.reason, REASON_CHARS))}" if grade.reason else ""
    return f"<li>{sign} {_line(grade.grader)} {word}{reason}</li>"


def _cut(text: str, limit: int) -> str:
    """The cleaned and escaped text, with how much is missing if it is cut."""
    missing = len(text) - limit
    if missing <= 0:
        return escape(clean(text))
    return f'{escape(clean(text[:limit]))}<span class="quiet">… {missing:,} more characters</span>'


def _line(text: str) -> str:
    return escape(one_line(text), quote=True)
