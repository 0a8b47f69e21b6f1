"""Scoring again from the command line: stored answers, paid verdicts, one answer replayed."""

import json
from typing import Any

import pytest

BY_MODEL = (
    *("bake-off", "--task", "knowledge_audit", "--eval-set", "dev-93", "--judges", "sim-grok-4.3"),
    *("--scorer", "llm_judge", "--max-cost-usd", "50"),
)
CALLS = "SELECT count(*) FROM call_journal WHERE bakeoff_id = %s"
RUBRIC = """\
scoring:
  mode: llm_judge
  judge_model: sim-grader
  rubric: "Sources: {sources} Finding: {finding_json} Is it right? VALID or INVALID"
  pass_rule: positive_at_least_one_valid_or_empty_on_negative
"""


@pytest.fixture(scope="module")
def audited(served: Any) -> Any:
    """The project with a bake-off of 93 cases, graded by a model."""
    served.first = served.bake(*BY_MODEL)
    return served


def run_of(document: dict[str, Any]) -> dict[str, Any]:
    (run,) = document["runs"]
    return run


def test_the_same_graders_cost_nothing_and_ask_nobody(audited: Any) -> None:
    old = run_of(audited.first)
    again = audited.bake("score", "--run-id", str(old["run_id"]), "--rescore")
    new = run_of(again)
    assert audited.rows(CALLS, again["id"]) == [(0,)]
    assert (again["spent_usd"], again["calls"]["sent"]) == ("0.00", 0)
    assert again["calls"]["cached_verdicts"] == audited.first["calls"]["sent"] - 93
    assert (again["rescored_from"], new["rescored_from"]) == (audited.first["id"], old["run_id"])
    assert [new[key] for key in ("n_cases", "n_pass", "n_fail", "n_error", "p95_latency_ms")] == [
        old[key] for key in ("n_cases", "n_pass", "n_fail", "n_error", "p95_latency_ms")
    ]
    assert audited.rows(
        "SELECT rescored_from, total_cost_usd::float FROM eval_runs WHERE id = %s", new["run_id"]
    ) == [(old["run_id"], 0.0)]


def test_a_changed_rubric_asks_again_for_what_a_model_marks_and_only_that(audited: Any) -> None:
    audited.write("other.yaml", RUBRIC)
    command = ("score", "--run-id", "@-1", "--rescore", "--graders", "other.yaml")
    asked = audited.first["calls"]["sent"] - 93
    before = audited.rows("SELECT count(*) FROM bakeoffs")
    forecast = audited.bake(*command, "--dry-run")
    assert (forecast["answers"], forecast["cached_verdicts"], forecast["calls"]) == (93, 0, asked)
    assert float(forecast["estimate_usd"]) > 0
    assert audited.rows("SELECT count(*) FROM bakeoffs") == before
    again = audited.bake(*command)
    assert audited.rows(CALLS, again["id"]) == [(asked,)]
    assert again["calls"]["cached_verdicts"] == 0


def test_another_scorer_marks_the_same_answers(audited: Any) -> None:
    name = f"{audited.first['id']}:sim-grok-4.3"
    strict = audited.bake("score", name, "--rescore", "--scorer", "strict_substring")
    assert (strict["scorer"], strict["spent_usd"]) == ("strict_substring", "0.00")
    assert run_of(strict)["n_cases"] == 93
    old, new = (
        audited.rows(
            "SELECT j.case_id, k.answer FROM jobs j JOIN completions k ON k.job_id = j.id "
            "WHERE j.bakeoff_id = %s ORDER BY 1",
            bakeoff["id"],
        )
        for bakeoff in (audited.first, strict)
    )
    assert old == new


def test_answers_that_failed_are_not_asked_for_again(audited: Any) -> None:
    first = audited.bake("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "mute", code=3)
    again = audited.bake("score", "--run-id", str(run_of(first)["run_id"]), "--rescore", code=3)
    assert run_of(again)["errors"] == {"empty": 12}
    assert audited.rows(CALLS, again["id"]) == [(0,)]
    retried = audited.run("retry", str(again["id"]), "--errors")
    assert "has no errored job to run again" in retried.stderr


def test_a_frozen_sets_answers_are_not_marked_anew_in_passing(audited: Any) -> None:
    look = audited.bake(
        *("bake-off", "--task", "knowledge_audit", "--eval-set", "holdout-30-sample"),
        *("--judges", "sim-grok-4.3", "--scorer", "strict_substring", "--final-decision"),
    )
    done = audited.run("score", "--run-id", str(run_of(look)["run_id"]), "--rescore")
    assert done.returncode == 5
    assert "--final-decision" in done.stderr


def test_one_answer_is_replayed_byte_for_byte(audited: Any) -> None:
    run_id = str(run_of(audited.first)["run_id"])
    document = audited.bake("replay", run_id, "ka-de-np-04")
    assert (document["same_prompt"], document["differs"]) == (True, False)
    assert document["verdict"]["then"] == document["verdict"]["now"]
    assert "[A]" in document["prompt"]["user"]
    stored = audited.rows(
        "SELECT answer FROM completions k JOIN jobs j ON j.id = k.job_id "
        "WHERE j.run_id = %s AND j.case_id = 'ka-de-np-04'",
        int(run_id),
    )
    assert stored == [(document["answer"],)]


def test_a_replay_shows_what_is_not_as_it_was(audited: Any) -> None:
    run_id = run_of(audited.first)["run_id"]
    job = "SELECT id FROM jobs WHERE run_id = %s AND case_id = 'ka-en-pe-02'"
    ((job_id,),) = audited.rows(job, run_id)
    audited.rows("UPDATE completions SET answer = '[]' WHERE job_id = %s RETURNING 1", job_id)
    done = audited.run("replay", str(run_id), "ka-en-pe-02")
    assert done.returncode == 1
    assert "≠ llm_judge" in done.stdout


def test_a_question_put_again_is_metered_like_any_other(audited: Any) -> None:
    command = ("replay", str(audited.first["id"]), "ka-de-np-04", "--judge", "sim-grok-4.3", "--call")
    document = audited.bake(*command)
    assert document["call"]["answer"] == document["answer"]
    assert audited.rows(
        "SELECT count(*) FROM call_journal c JOIN bakeoffs b ON b.id = c.bakeoff_id "
        "WHERE b.run_type = 'replay' AND c.purpose = 'answer'"
    ) == [(1,)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "--run-id", "last"), "give --rescore"),
        (("score", "--rescore"), "score takes ID or --run-id"),
        (("score", "1", "2", "--rescore"), "the runs are of several bake-offs"),
        (("score", "--run-id", "999999", "--rescore"), "there is no run '999999'"),
        (("score", "--run-id", "last", "--rescore", "--graders", "none.yaml"), "none.yaml: no such file"),
        (("score", "--run-id", "last", "--rescore", "--graders", "bad.yaml"), "bad.yaml:1"),
        (("replay", "last", "no-such-case", "--judge", "sim-grok-4.3"), "no answer to case 'no-such-case'"),
        (("cache", "prune"), "--older-than"),
    ],
)
def test_what_cannot_be_meant_is_said(audited: Any, arguments: tuple[str, ...], words: str) -> None:
    audited.write("bad.yaml", "- {type: no_such_grader}\n")
    done = audited.run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_cache_is_counted_and_forgotten_on_request(audited: Any) -> None:
    (row,) = json.loads(audited.run("cache", "stats", "--json").stdout)
    assert (row["grader_model"], row["verdicts"] > 0, row["uses"] > 0) == ("sim-grader", True, True)
    dry = audited.run("cache", "prune", "--all", "--dry-run")
    assert dry.stdout.startswith(f"{row['verdicts']} verdicts would go")
    assert audited.run("cache", "prune", "--grader", "nobody").stdout.startswith("0 verdicts forgotten")
    assert audited.run("cache", "prune", "--all").stdout.startswith(f"{row['verdicts']} verdicts forgotten")
    assert json.loads(audited.run("cache", "stats", "--json").stdout) == []
