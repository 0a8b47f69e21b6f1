"""The gates of promotion: what opens them, what does not, and who may go round them."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import InputError, Refused
from evalq.formats.eva.promote import PromotionReview, promote, review
from evalq.formats.eva.prompt import find_prompt

META = "id: p\nstatus: {status} # now\nupdated: 2026-01-01\nsummary: s\n{more}"
GOOD = {"ts": "t", "all_passed": True, "total": 1, "passed": 1, "failed_cases": []}
BAD = {**GOOD, "all_passed": False, "passed": 0, "failed_cases": ["a"]}
EXAM = "cases: [{name: a, inputs: {}, rubric: Score it.}]\n"

Made = Callable[..., PromotionReview]


def use(verified: bool | None = True, *, sent: bool = True) -> dict[str, Any]:
    return {"ts": "t", "case": None, "sent": sent, "verified": verified}


@pytest.fixture
def reviewed(tmp_path: Path) -> Made:
    """Reviews a prompt with this status, these uses and these evaluations."""

    def make(
        status: str,
        uses: list[Any],
        evals: list[Any] | None = None,
        *,
        exam: str | None = EXAM,
        more: str = "",
    ) -> PromotionReview:
        (tmp_path / "meta.yml").write_text(META.format(status=status, more=more))
        (tmp_path / ".usage.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in uses))
        if evals is not None:
            (tmp_path / ".eval.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in evals))
        if exam is not None:
            (tmp_path / "eval.yml").write_text(exam)
        return review(find_prompt(tmp_path, tmp_path))

    return make


def test_a_draft_takes_three_uses_that_were_not_found_wrong(reviewed: Made) -> None:
    found = reviewed("draft", [use(True), use(None), use(None)], exam=None)
    assert (found.to, found.unmet) == ("tested", ())


@pytest.mark.parametrize("missing", [use(False), use(True, sent=False), {}, {"sent": 1, "verified": True}])
def test_a_use_that_does_not_count_leaves_a_draft_a_draft(reviewed: Made, missing: dict[str, Any]) -> None:
    found = reviewed("draft", [use(), use(), missing])
    assert found.unmet == ("uses: 2 of 3 that are sent and not found wrong, in .usage.jsonl",)


def test_tested_takes_ten_verified_uses_and_an_evaluation_that_passed(reviewed: Made) -> None:
    found = reviewed("tested", [use()] * 10, [BAD, GOOD])
    assert (found.to, found.unmet, found.warnings) == ("ready", (), ())


def test_unverified_uses_do_not_make_a_prompt_ready(reviewed: Made) -> None:
    found = reviewed("tested", [use()] * 9 + [use(None)] * 5, [GOOD])
    assert found.unmet == ("uses: 9 of 10 that are sent and verified, in .usage.jsonl",)


@pytest.mark.parametrize(
    ("evals", "exam", "gate"),
    [
        (None, EXAM, "eval: .eval.jsonl has no row; run `evalq eva eval`"),
        ([], EXAM, "eval: .eval.jsonl has no row; run `evalq eva eval`"),
        ([GOOD, BAD], EXAM, "eval: the last one passed 0 of 1"),
        ([{**GOOD, "all_passed": "true"}], EXAM, "eval: the last one passed 1 of 1"),
        ([GOOD], None, "eval: there is no eval.yml"),
        ([GOOD, 5], EXAM, "eval: the last row of .eval.jsonl cannot be read: not a JSON object"),
    ],
)
def test_the_last_evaluation_must_have_passed(
    reviewed: Made, evals: list[Any] | None, exam: str | None, gate: str
) -> None:
    assert reviewed("tested", [use()] * 10, evals, exam=exam).unmet == (gate,)


def test_all_unmet_gates_are_listed(reviewed: Made) -> None:
    assert len(reviewed("tested", []).unmet) == 2


@pytest.mark.parametrize(
    ("status", "own", "unmet"),
    [
        ("draft", "{min_uses: 1}", 0),
        ("draft", "{min_uses: 2}", 1),
        ("draft", "{min_uses: 0, require_eval: true}", 1),
        ("tested", "{min_uses: 1, require_eval: false}", 0),
        ("tested", "{require_eval: false}", 1),
    ],
)
def test_a_prompt_may_set_gates_of_its_own(reviewed: Made, status: str, own: str, unmet: int) -> None:
    assert len(reviewed(status, [use()], more=f"promotion: {own}\n").unmet) == unmet


def test_a_ready_prompt_is_refused(reviewed: Made) -> None:
    with pytest.raises(Refused, match="cannot promote"):
        reviewed("ready", [use()] * 99, [GOOD])


def test_a_status_nobody_knows_is_bad_input(reviewed: Made) -> None:
    with pytest.raises(InputError, match="status cannot be 'done'"):
        reviewed("done", [])


def test_lines_that_are_no_rows_are_passed_over_and_told(reviewed: Made) -> None:
    found = reviewed("draft", [use(), use(), use(), [1]])
    assert found.unmet == ()
    assert "passed over: " in found.warnings[0]


def test_an_evaluation_of_one_case_alone_is_worth_a_word(reviewed: Made) -> None:
    exam = EXAM + "triggering: {should_match: [q]}\n"
    found = reviewed("tested", [use()] * 10, [GOOD], exam=exam)
    assert found.unmet == ()
    assert found.warnings == ("the last evaluation was of 1, eval.yml has 2 cases and requests",)


def test_a_promotion_writes_the_status_and_the_day(reviewed: Made, tmp_path: Path) -> None:
    promote(reviewed("draft", []), date(2026, 11, 17))
    wanted = META.format(status="tested", more="").replace("2026-01-01", "2026-11-17")
    assert (tmp_path / "meta.yml").read_text() == wanted


def test_an_exam_that_is_none_is_the_doctor_s_business(reviewed: Made) -> None:
    found = reviewed("tested", [use()] * 10, [GOOD], exam="cases: 5\n")
    assert (found.unmet, found.warnings) == ((), ())
