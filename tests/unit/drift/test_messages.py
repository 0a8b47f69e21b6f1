"""Drift in words: everything needed to act, on one line and in the alert."""

from typing import Any

import pytest

from evalq.drift.messages import CheckSubject, alert_text, check_line

SUBJECT = CheckSubject("knowledge_audit", "holdout-30", "grok 4.3", "confirm", 912)
NUMBERS: dict[str, Any] = {
    "rate_from": 0.9,
    "rate_to": 0.7333,
    "drop_pp": 16.67,
    "n": 29,
    "n_cases": 30,
    "p": 0.00042,
    "fresh_answers": 116,
    "smallest_drop_pp": 15.2,
    "provider": {"notes": ["model version a → b"]},
    "task_changed": True,
}


def test_a_line_says_rates_n_p_and_what_it_could_have_seen() -> None:
    line = check_line(SUBJECT, "alert", NUMBERS)
    assert line.startswith("ALERT grok 4.3 on knowledge_audit/holdout-30: 90.0% → 73.3% (-16.7 pp), n=29")
    for part in (
        "1 of 30 cases errored",
        "p=0.00042",
        "15.2 pp and more with 80 % power",
        "(run 912)",
        "a → b",
    ):
        assert part in line


def test_a_line_without_verdict_says_why() -> None:
    assert check_line(SUBJECT, None, {}) == "OPEN grok 4.3 on knowledge_audit/holdout-30: under way (run 912)"
    line = check_line(SUBJECT, "inconclusive", {"detail": "3 more checks needed"})
    assert "3 more checks needed" in line
    unconfirmed = check_line(SUBJECT, "inconclusive", {**NUMBERS, "detail": "the cap was reached"})
    assert "the cap was reached" in unconfirmed
    assert "90.0% → 73.3%" in unconfirmed


def test_an_alert_names_numbers_run_head_and_the_command_to_type() -> None:
    text = alert_text("drift", SUBJECT, NUMBERS, head="12:ab34")
    assert text.startswith("P0 DRIFT: grok 4.3 on knowledge_audit/holdout-30 dropped\n90.0% → 73.3%")
    assert "run 912" in text
    assert "holdout log head 12:ab34" in text
    assert (
        "evalq verify --task knowledge_audit --judges 'grok 4.3' --eval-set holdout-30 --rule confirm" in text
    )
    assert "--eval-set holdout-30 --judges 'grok 4.3' --final-decision" in text
    assert "beside it: model version a → b; the task's own text changed since the baseline" in text


def test_an_alert_on_a_dev_set_leaves_the_holdout_to_be_named() -> None:
    text = alert_text(
        "drift", CheckSubject("t", "dev-93", "j", "sequential", 1), {**NUMBERS, "level": 230.0, "weeks": 1}
    )
    assert "--eval-set holdout-… --judges j" in text
    assert "M=230 after 1 check" in text


def test_a_watch_is_not_called_an_alert() -> None:
    text = alert_text("watch", CheckSubject("t", "s", "j", "seed", 1), NUMBERS)
    assert text.startswith("WATCH, not confirmed: j on t/s dropped")
    assert "--final-decision" not in text
    assert "holdout log head" not in text


def test_a_check_that_could_not_be_made_says_nothing_of_accuracy() -> None:
    text = alert_text("blocked", SUBJECT, {"detail": "30/30 empty outputs"})
    assert text.startswith(
        "P0 CHECK COULD NOT BE MADE: grok 4.3 on knowledge_audit/holdout-30\n30/30 empty outputs"
    )
    assert "%" not in text
    assert "check again: evalq verify" in text


@pytest.mark.parametrize("smallest", [None])
def test_too_few_cases_are_said_to_see_nothing(smallest: float | None) -> None:
    assert "too few cases" in check_line(SUBJECT, "ok", {**NUMBERS, "smallest_drop_pp": smallest})
