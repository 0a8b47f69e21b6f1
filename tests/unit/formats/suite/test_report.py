"""Reports of suite runs: what is counted, what is said, and that nothing in them does harm."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalq.formats.suite.load import report_schema
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.formats.suite.render import render_markdown, render_plain
from evalq.formats.suite.render_html import render_html
from evalq.formats.suite.report import report_of

HOSTILE = "<script>alert(1)</script> [x](javascript:1) `| a |` \x1b[31m\u202e{0.__class__}"


def attempt(verdict: str | None, reason: str = "", kind: str = "exact_match", **more: Any) -> Attempt:
    passed = {"passed": True, "failed": False}.get(verdict or "")
    grade = {"grader": kind, "kind": kind, "passed": passed, "score": None, "reason": reason, "details": {}}
    return Attempt(verdict, reason, grades=(grade,) if verdict else (), **more)


def outcome(eval_id: str, *verdicts: str | None, retries: tuple[str, ...] = (), **more: Any) -> EvalOutcome:
    samples = tuple(attempt(verdict) for verdict in verdicts if verdict is not None)
    again = tuple(attempt(verdict) for verdict in retries)
    fields = {"eval_type": "capability", "name": f"Eval {eval_id}", **more}
    return EvalOutcome(eval_id, samples=samples, retries=again, **fields)


def run(*evals: EvalOutcome, samples: int = 1, **more: Any) -> SuiteRun:
    judges = (JudgeOutcomes("good", "good-1", evals),)
    fields = {"run_id": "eval-20240120-143052", "timestamp": "2024-01-20T14:30:52Z", "bakeoffs": (7,)}
    return SuiteRun("Feature X", duration_s=12.7, judges=judges, samples=samples, **(fields | more))


def report(*evals: EvalOutcome, **more: Any) -> dict[str, Any]:
    document = report_of(run(*evals, **more))
    Draft202012Validator(report_schema()).validate(json.loads(json.dumps(document)))
    found: dict[str, Any] = document["eval_report"]
    return found


def test_the_summary_counts_by_status_type_and_grader() -> None:
    found = report(
        outcome("a", "passed"),
        outcome("b", "failed", grader_types=("model",)),
        outcome("c", "passed", eval_type="regression"),
        outcome("d", "errored", grader_types=("human",)),
    )["summary"]
    assert [found[key] for key in ("total_evals", "passed", "failed", "skipped")] == [4, 2, 1, 1]
    assert found["pass_rate"] == pytest.approx(0.6667)
    assert found["skipped_because"] == {"errored": 1}
    assert {name: (one["total"], one["passed"]) for name, one in found["by_category"].items()} == {
        "capability": (3, 1),
        "regression": (1, 1),
    }
    assert {name: (one["total"], one["passed"]) for name, one in found["by_grader"].items()} == {
        "code": (2, 2),
        "model": (1, 0),
        "human": (1, 0),
    }


def test_an_eval_passed_on_a_retry_counts_as_passed_but_not_at_first() -> None:
    found = report(outcome("a", "failed", retries=("failed", "passed")), outcome("b", "passed"))
    assert (found["summary"]["passed"], found["summary"]["retried"]) == (2, 1)
    assert found["metrics"]["pass_at_1"] == 0.5
    assert [one["attempts"] for one in found["evals"]] == [3, 1]


def test_metrics_that_need_more_samples_are_null_and_say_how_to_get_them() -> None:
    metrics = report(outcome("a", "passed"))["metrics"]
    assert (metrics["pass_at_1"], metrics["pass_at_3"], metrics["pass_hat_3"]) == (1.0, None, None)
    assert "--samples 3" in metrics["note"]


def test_metrics_of_three_samples_have_both_forms_and_their_intervals() -> None:
    evals = [outcome("a", "passed", "passed", "passed"), outcome("b", "passed", "failed", "failed")]
    metrics = report(*evals, samples=3)["metrics"]
    assert metrics["pass_at_1"] == pytest.approx((1 + 1 / 3) / 2, abs=1e-4)
    assert metrics["pass_at_3"] == 1.0
    assert metrics["pass_hat_3"] == pytest.approx((1 + 1 / 27) / 2, abs=1e-4)
    assert metrics["pass_hat_3_unbiased"] == 0.5
    assert metrics["pass_at_1_ci"][0] < metrics["pass_at_1"] < metrics["pass_at_1_ci"][1]
    assert "note" not in metrics


def test_most_samples_decide_an_eval() -> None:
    statuses = [
        outcome("a", "passed", "passed", "failed").status,
        outcome("b", "passed", "failed").status,
        outcome("c", "errored", "passed").status,
        outcome("d").status,
    ]
    assert statuses == ["passed", "failed", "passed", "skipped"]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (outcome("a", "errored"), "errored"),
        (outcome("a", "pending_review", "errored"), "pending_review"),
        (outcome("a"), "not_run"),
        (outcome("a", lacks_baseline=True), "no_baseline"),
        (outcome("a", "passed"), None),
    ],
)
def test_an_eval_without_a_verdict_says_why(one: EvalOutcome, why: str | None) -> None:
    assert one.why_skipped == why


def test_weights_count_in_the_weighted_score() -> None:
    found = report(
        outcome("a", "passed", weight=3.0), outcome("b", "failed", weight=1.0), outcome("c", "errored")
    )
    assert found["summary"]["weighted_score"] == 0.75
    assert report(outcome("a", "passed", weight=0.0))["summary"]["weighted_score"] is None


def test_a_failure_has_its_reason_and_what_was_expected() -> None:
    samples = (attempt("failed", "expected 'x'", answer="y", latency_ms=9),)
    failed = replace(outcome("a"), samples=samples, expected="x")
    (failure,) = report(failed)["failures"]
    assert (failure["eval_id"], failure["name"], failure["reason"]) == ("a", "Eval a", "expected 'x'")
    assert (failure["details"]["expected"], failure["details"]["actual"]) == ("x", "y")
    (bare,) = report(failed, include_details=False)["failures"]
    assert bare["details"] == {}


def test_what_was_not_run_is_among_the_errors_with_a_reason() -> None:
    errors = report(outcome("a"), outcome("b", lacks_baseline=True))["errors"]
    assert [one["reason"] for one in errors] == ["it was not run", "there is no baseline to compare with"]


def test_the_first_judge_is_on_top_and_all_are_below() -> None:
    one = run(outcome("a", "passed"))
    two = replace(one, judges=(*one.judges, JudgeOutcomes("poor", "poor-1", (outcome("a", "failed"),))))
    found = report_of(two)["eval_report"]
    assert (found["summary"]["passed"], found["metadata"]["environment"]["model"]) == (1, "good-1")
    assert [(each["judge"], each["summary"]["passed"]) for each in found["judges"]] == [
        ("good", 1),
        ("poor", 0),
    ]
    assert "| poor | 0/1 passed |" in render_markdown({"eval_report": found})
    assert "poor: 0/1 passed" in render_plain({"eval_report": found})


def test_recommendations_follow_from_failures_and_missing_verdicts() -> None:
    advice = report(
        outcome("a", "failed", criticality="critical", eval_type="regression"),
        *(outcome(f"t{i}", "failed", category="string_work") for i in range(3)),
        outcome("l", "failed", retries=("passed",)),
        outcome("m", "passed", "failed", "passed"),
        outcome("e", "errored"),
        outcome("p", "pending_review"),
        outcome("n", lacks_baseline=True),
        outcome("o"),
        samples=3,
    )["recommendations"]
    said = "\n".join(advice)
    assert advice[0] == "Fix a (Eval a) first: it is critical"
    assert "Find what changed since the baselines of a" in said
    assert "Improve string work: 3 of 3 evals fail (t0, t1, t2)" in said
    assert "Answers differ from the exact text: check the wording, or whether exactness is meant (4)" in said
    assert "l passed on a retry only" in said
    assert "m pass sometimes" in said
    assert "No verdict on e" in said
    assert "p wait for people: evalq review" in said
    assert "Capture baselines for n" in said
    assert "o were not run" in said


def test_an_unclassified_failure_advises_reading_the_answers() -> None:
    odd = replace(outcome("a"), samples=(Attempt("failed", "odd"),))
    assert report(odd)["recommendations"] == ["Read the answers of a"]
    assert report(outcome("a", "passed"))["recommendations"] == []


def hostile() -> dict[str, Any]:
    failed = replace(
        outcome("a", name=HOSTILE, category=HOSTILE, expected=HOSTILE),
        samples=(attempt("failed", HOSTILE, answer=f"```\n{HOSTILE}"),),
    )
    return report_of(replace(run(failed), suite=HOSTILE, warnings=(HOSTILE,)))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_runs_nothing_and_asks_for_nothing() -> None:
    page = render_html(hostile())
    tags = _Tags()
    tags.feed(page)
    assert not {"script", "img", "link", "iframe", "a", "object"} & {tag for tag, _ in tags.found}
    assert not [attrs for _, attrs in tags.found if {"src", "href", "onclick"} & attrs.keys()]
    assert "default-src 'none'" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page


def test_markdown_says_what_it_was_given_and_formats_nothing() -> None:
    text = render_markdown(hostile())
    outside = text.split("```")[0]
    assert "<script>" not in outside
    assert "\\[x\\](javascript:1)" in outside
    assert "````text\n```\n<script>" in text
    assert "\x1b" not in text


def test_the_terminal_gets_one_line_an_eval_when_asked() -> None:
    document = report_of(
        run(
            outcome("a", "passed", "failed", "passed"), outcome("b", "failed", retries=("passed",)), samples=3
        )
    )
    text = render_plain(document, verbose=True)
    assert text.splitlines()[0] == "Feature X: 2/2 passed, pass rate 1.00 [0.34, 1.00]"
    assert "✓ a: Eval a: passed (2/3)" in text
    assert "✓ b: Eval b: passed after 2 attempts" in text
    assert "✓ a" not in render_plain(document)
