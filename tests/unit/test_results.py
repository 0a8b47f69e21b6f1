import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from evalq.results import (
    Agreement,
    BakeOffResult,
    Calls,
    Comparison,
    JudgeProgress,
    Progress,
    Rate,
    RunResult,
)

RUN = RunResult(
    run_id=901,
    judge="grok-4.3",
    vendor="xai",
    n_cases=93,
    n_pass=77,
    n_fail=14,
    n_error=2,
    accuracy=0.8462,
    ci_low=0.758,
    ci_high=0.9062,
    ci_method="wilson",
    p50_latency_ms=900,
    p95_latency_ms=1840,
    total_cost_usd=Decimal("0.1953"),
    judging_cost_usd=Decimal("0.15"),
    grading_cost_usd=Decimal("0.0453"),
    retries=1,
    errors={"truncated": 2},
    per_stratum={"positive_subtle_VN": Rate(7, 0.57, 0.25, 0.84)},
    metrics={"mrr": Rate(7, 0.5, 0.4, 0.6)},
)
RESULT = BakeOffResult(
    id=142,
    task="knowledge_audit",
    eval_set="dev-93",
    scorer="llm_judge",
    grader="sonnet-4.6",
    seed=7,
    samples=1,
    state="concluded",
    spent_usd=Decimal("0.97310000"),
    cap_usd=Decimal(5),
    saved_usd=Decimal(0),
    calls=Calls(558, 557, 1, 31),
    runs=(RUN,),
    comparisons=(Comparison("grok-4.3", "opus-4.7", 93, 0.161, 0.06, 0.27, 0.003, 0.03, separable=True),),
    kappa=(Agreement("sonnet-4.6", "opus-4.7", 93, 0.66, 0.70, degenerate=False, flag="same_provider"),),
    warnings=("…",),
    next=("evalq inspect 142 --disagreements",),
    n_jobs=93,
    n_done=93,
)

KEYS = {
    "": "schema id task eval_set state spent_usd cap_usd calls runs comparisons kappa warnings next",
    "calls": "sent settled unknown cached_verdicts",
    "runs": "run_id judge n_cases n_pass n_fail n_error accuracy ci_low ci_high ci_method p50_latency_ms "
    "p95_latency_ms total_cost_usd per_stratum excluded macro pass_k",
    "comparisons": "a b n diff ci_low ci_high p p_holm separable a_only b_only cases_needed method",
    "kappa": "a b n kappa ac1 degenerate flag ci_low ci_high",
}


def part(name: str) -> dict[str, object]:
    """A part of the document; of a list its first entry."""
    document = RESULT.to_dict()
    found = document[name] if name else document
    return found[0] if isinstance(found, list) else found


@pytest.mark.parametrize("name", KEYS)
def test_the_document_has_every_promised_key(name: str) -> None:
    assert set(KEYS[name].split()) <= set(part(name))


def test_the_document_names_its_schema_and_is_json() -> None:
    document = RESULT.to_dict()
    assert document["schema"] == "evalq.bakeoff/1"
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_stratum_is_its_rate_with_n_and_interval() -> None:
    stratum = {"n": 7, "accuracy": 0.57, "ci_low": 0.25, "ci_high": 0.84, "method": "wilson", "few": True}
    assert part("runs")["per_stratum"] == {"positive_subtle_VN": stratum}


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("5", "5.00"),
        ("0", "0.00"),
        ("0.97310000", "0.9731"),
        ("2.5", "2.50"),
        ("1E+2", "100.00"),
        ("1E-8", "0.00000001"),
        ("120.000", "120.00"),
        ("0E-10", "0.00"),
    ],
)
def test_money_is_an_exact_string_with_two_places_at_least(amount: str, text: str) -> None:
    assert replace(RESULT, spent_usd=Decimal(amount)).to_dict()["spent_usd"] == text


@pytest.mark.parametrize(("n", "few"), [(0, True), (9, True), (10, False)])
def test_a_rate_over_few_cases_is_marked(n: int, few: bool) -> None:
    assert Rate(n, None, None, None).few is few


def test_answers_with_a_verdict_are_the_n_behind_the_accuracy() -> None:
    assert RUN.n_graded == 91


def test_a_finished_bake_off_is_whole_even_with_answers_that_could_not_be_graded() -> None:
    assert not RESULT.is_partial
    assert RESULT.to_dict()["partial"] is False


@pytest.mark.parametrize(
    "partial",
    [
        replace(RESULT, n_done=92),
        replace(RESULT, runs=(RUN, replace(RUN, excluded="93/93 empty outputs"))),
        replace(RESULT, runs=(replace(RUN, errors={"call_transient": 1}),)),
    ],
    ids=["open jobs", "excluded judge", "unanswered call"],
)
def test_what_is_missing_makes_a_bake_off_partial(partial: BakeOffResult) -> None:
    assert partial.is_partial
    assert partial.to_dict()["partial"] is True


def test_progress_adds_its_judges_up() -> None:
    judge = JudgeProgress("a", 10, 4, 2, 1, 1, Decimal(0), None, 0, 0.0)
    started = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
    now = started.replace(minute=1, second=30)
    money = dict.fromkeys(("cap_usd", "spent_usd", "reserved_usd"), Decimal(0))
    progress = Progress(1, "t", "dev", "running", started, now, **money, judges=(judge, judge))
    assert (progress.done, progress.total, progress.elapsed_s) == (8, 20, 90.0)


def test_a_result_is_read_back_from_its_document() -> None:
    result = replace(RESULT, spent_usd=Decimal("0.9731"), grading=())
    document = json.loads(json.dumps(result.to_dict()))
    assert BakeOffResult.from_dict(document) == result
    assert BakeOffResult.from_dict(document).to_dict() == document


def test_a_document_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="runs"):
        BakeOffResult.from_dict({**RESULT.to_dict(), "runs": "none"})
