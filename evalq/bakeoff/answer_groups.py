"""Groups a bake-off's answers by why they failed, how judges disagree, or how two judges differ."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalq.reports.answers import AnswerGroup, AnswerPage, Example, ShownAnswer
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.reports.text import one_line
from evalq.results import BakeOffResult
from evalq.summary.confusion import OTHER, read_label
from evalq.summary.near_misses import find_near_misses, form_difference

_MOST_GROUPS = 12
_REASON_CHARS = 200
_PASSED = "passed"

# What a reason quotes and counts differs from case to case; the rest of it is its kind. Linear.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^“”]*”|\[[^\[\]]*\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class _Entry:
    """One case under the reason it is grouped by."""

    why: str
    example: Example


def group_failures(
    result: BakeOffResult,
    cases: Sequence[CaseView],
    *,
    labels: Sequence[str],
    limit: int,
    with_passed: bool = False,
) -> AnswerPage:
    """The answers that did not pass, by judge and reason; those of broken judges are left out."""
    ranked = [run.judge for run in result.runs if not run.excluded]
    by_judge: dict[str, list[_Entry]] = {judge: [] for judge in ranked}
    for case in cases:
        for answer in case.answers:
            is_shown = with_passed or answer.verdict != _PASSED
            if answer.judge in by_judge and is_shown:
                why = f"{answer.judge}: {explain(case, answer, labels)}"
                by_judge[answer.judge].append(_Entry(why, _example(case, [answer])))
    groups: list[AnswerGroup] = []
    for judge, entries in by_judge.items():
        groups += _groups_of(entries, rest=f"{judge}: other reasons", last=f"{judge}: {_PASSED}")
    return AnswerPage(_share_out(groups, limit), hints=tuple(_hints(result.id, cases, ranked)))


def group_disagreements(result: BakeOffResult, cases: Sequence[CaseView], *, limit: int) -> AnswerPage:
    """The cases by which judges failed them."""
    ranked = {run.judge for run in result.runs if not run.excluded}
    entries = []
    for case in cases:
        answers = [answer for answer in case.answers if answer.judge in ranked]
        entries.append(_Entry(_describe_split(answers), _example(case, answers)))
    return AnswerPage(_share_out(_groups_of(entries, rest="other patterns"), limit))


def group_differences(cases: Sequence[CaseView], a: str, b: str, *, limit: int) -> AnswerPage:
    """The cases on which two judges have other verdicts, then those where only their words differ."""
    entries = []
    for case in cases:
        firsts = {answer.judge: answer for answer in reversed(case.answers)}
        if a in firsts and b in firsts:
            why = _describe_difference(firsts[a], firsts[b])
            if why:
                entries.append(_Entry(why, _example(case, [firsts[a], firsts[b]])))
    same = [entry for entry in entries if entry.why.startswith("both ")]
    split = [entry for entry in entries if not entry.why.startswith("both ")]
    groups = [*_groups_of(split, rest="other verdicts"), *_groups_of(same, rest="other words")]
    return AnswerPage(_share_out(groups, limit), pairwise=True)


def explain(case: CaseView, answer: AnswerView, labels: Sequence[str]) -> str:
    """Why an answer did not pass, in words that other answers may share."""
    if answer.verdict == "errored":
        return f"not graded: {(answer.error_kind or 'errored').replace('_', ' ')}"
    if answer.verdict != "failed":
        return answer.verdict.replace("_", " ")
    wanted = case.expected_answer
    if wanted is not None and _is_checked_by_text(answer):
        form = form_difference(wanted, answer.answer_text)
        if form:
            return f"differs only in {form}"
        if labels:
            said = read_label(answer.answer_text, labels)
            return "none of the labels" if said == OTHER else f"{said} instead of {wanted.strip()}"
    failed = _failing_grade(answer)
    if failed is None:
        return "failed"
    if _is_free_text(failed):
        return f"{failed.grader} failed it"
    return f"{failed.grader}: {reason_kind(failed.reason)}" if failed.reason else failed.grader


def reason_kind(reason: str) -> str:
    """A grader's reason without what it quotes and counts: `expected …`, `… findings on a negative case`."""
    line = one_line(reason[:_REASON_CHARS])
    return _NUMBER.sub("N", _QUOTED.sub("…", line))


def _failing_grade(answer: AnswerView) -> GradeLine | None:
    return next((grade for grade in answer.grades if grade.passed is False), None)


def _is_free_text(grade: GradeLine) -> bool:
    """Whether a model or a person wrote the reason: every one of them is different."""
    return bool(grade.details.get("members")) or grade.kind == "human"


def _is_checked_by_text(answer: AnswerView) -> bool:
    failed = _failing_grade(answer)
    return failed is None or not (_is_free_text(failed) or failed.kind == "llm_judge")


def _example(case: CaseView, answers: Sequence[AnswerView]) -> Example:
    shown = []
    for answer in answers:
        failed = _failing_grade(answer)
        reason = failed.reason if failed and _is_free_text(failed) else ""
        shown.append(ShownAnswer(answer.judge, answer.sample, answer.verdict, answer.answer_text, reason))
    expected = case.expected_text if case.expected_answer is None else case.expected_answer
    return Example(case.case_id, case.stratum, expected, tuple(shown), case.input_text)


def _describe_split(answers: Sequence[AnswerView]) -> str:
    """Which judges failed and which passed; a judge with several samples may have done both."""
    failed = dict.fromkeys(answer.judge for answer in answers if answer.verdict == "failed")
    passed = dict.fromkeys(answer.judge for answer in answers if answer.verdict == _PASSED)
    return f"✗ {', '.join(failed)}   ✓ {', '.join(passed)}"


def _describe_difference(one: AnswerView, other: AnswerView) -> str | None:
    if one.verdict != other.verdict:
        verdicts = [answer.verdict.replace("_", " ") for answer in (one, other)]
        return f"{one.judge} {verdicts[0]}, {other.judge} {verdicts[1]}"
    if one.answer_text.strip() == other.answer_text.strip():
        return None
    return f"both {one.verdict.replace('_', ' ')}, in other words"


def _groups_of(entries: Sequence[_Entry], *, rest: str, last: str | None = None) -> list[AnswerGroup]:
    """The entries by reason, most frequent first; rare reasons of too many are one group."""
    by_reason: defaultdict[str, list[Example]] = defaultdict(list)
    for entry in entries:
        by_reason[entry.why].append(entry.example)
    ordered = sorted(by_reason.items(), key=lambda item: (item[0] == last, -len(item[1]), item[0]))
    groups = [AnswerGroup(why, len(found), tuple(found)) for why, found in ordered]
    if len(groups) <= _MOST_GROUPS:
        return groups
    rare = [example for group in groups[_MOST_GROUPS - 1 :] for example in group.examples]
    return [*groups[: _MOST_GROUPS - 1], AnswerGroup(rest, len(rare), tuple(rare))]


def _share_out(groups: Sequence[AnswerGroup], limit: int) -> tuple[AnswerGroup, ...]:
    """At most `limit` examples, the same number from each group as far as it has them."""
    counts = [0] * len(groups)
    left = limit
    while left > 0:
        open_places = [place for place, group in enumerate(groups) if counts[place] < group.n]
        if not open_places:
            break
        for place in open_places[:left]:
            counts[place] += 1
        left -= len(open_places)
    return tuple(
        AnswerGroup(group.why, group.n, group.examples[:count])
        for group, count in zip(groups, counts, strict=True)
    )


def _hints(bakeoff_id: int, cases: Sequence[CaseView], judges: Sequence[str]) -> Iterator[str]:
    """For each judge the failures that are a matter of form, and the grader that accepts them."""
    for judge in judges:
        found = find_near_misses(_failures_of(judge, cases))
        if found is None:
            continue
        differ = "1 failure differs" if found.n == 1 else f"{found.n} failures differ"
        hint = f"{judge}: {differ} only in {' or '.join(found.forms)} from what is expected"
        if found.grader:
            run = shlex.quote(f"{bakeoff_id}/{judge}")
            hint += (
                f"; accepted by  graders: [{found.grader}]  in the task, or in a FILE to grade again with "
            )
            hint += f"`evalq score {run} --rescore --graders FILE`"
        yield hint


def _failures_of(judge: str, cases: Sequence[CaseView]) -> Iterator[tuple[str, str]]:
    for case in cases:
        for answer in case.answers:
            is_failure = answer.judge == judge and answer.verdict == "failed"
            if is_failure and case.expected_answer is not None and _is_checked_by_text(answer):
                yield case.expected_answer, answer.answer_text
