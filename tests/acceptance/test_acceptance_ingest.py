"""Production data in, scrubbed cases out; a model's drafts in, accepted cases out: on real engines."""

import json
from typing import Any

import pytest

from evalq.definitions.files import load_evalset

MODELS = """\
  namer:
    {provider: simulated, model: namer, time_scale: 0, price: {input: 1, output: 5},
     answers: {line-2: '["Anna Berger", "Anna", "Nobody"]', line-3: '[]', line-4: 'I see none.'}}
  drafter:
    {provider: simulated, model: drafter, accuracy: 1, time_scale: 0, price: {input: 1, output: 5},
     answers: {even-1: '[{"inputs": {"country": "Wakanda"}, "expected": {"answer": "Birnin Zana"}},
       {"inputs": {"country": "country 1"}, "expected": {"answer": "x"}}, {"inputs": {"land": "y"}}]'}}
"""
PROD = """\
mail,label,lang
"Anna Berger here: is 4000 0000 0000 1232 my card? Anna, anna@mail.example",Paris,EN
"Ruf 0171/2345678 an, oder anna@mail.example",Berlin,DE
"password=hunter2000, DE61 5000 0000 0123 4567 89",Rome,EN
"""
VALUES = ("4000 0000 0000 1232", "anna@mail.example", "0171/2345678", "hunter2000", "DE61", "0123 4567")
INGEST = ("ingest", "prod.csv", "--task", "capitals", "--map", "country=mail", "--expected", "label")
GENERATE = ("generate", "--task", "capitals", "--judge", "drafter")


@pytest.fixture(scope="module")
def stocked(served: Any) -> Any:
    """The project with rows to ingest, a model that names people and one that drafts."""
    served.write("evalq.yaml", (served.folder / "evalq.yaml").read_text("utf-8") + MODELS)
    served.write("prod.csv", PROD)
    return served


def cases(project: Any, name: str) -> list[Any]:
    return load_evalset(project.folder / "evalsets/capitals" / f"{name}.yaml").evalset.cases


def test_nothing_is_written_before_the_review_and_then_what_was_reviewed(stocked: Any) -> None:
    shown = stocked.run(*INGEST, "--stratum", "lang")
    assert shown.returncode == 0, shown.stderr
    assert not (stocked.folder / "evalsets/capitals/ingested.yaml").exists()
    assert "-Ruf ‹0…(12)› an, oder ‹a…(17)›\n+Ruf [phone-1] an, oder [email-1]\n" in shown.stdout
    assert "email\t2\t1\t2\n" in shown.stdout
    assert "recall is 9" in shown.stderr
    command = shown.stderr.rstrip().rsplit("next  evalq ", 1)[1]
    assert command.endswith(" --yes")

    written = stocked.bake(*INGEST, "--stratum", "lang", "--yes")
    assert (written["schema"], written["written"], written["cases"]) == ("evalq.ingest/1", True, 3)
    assert written["replaced"]["card"] == {"n": 1, "distinct": 1, "rows": 1}
    text = (stocked.folder / "evalsets/capitals/ingested.yaml").read_text("utf-8")
    everything = text + shown.stdout + shown.stderr + json.dumps(written, ensure_ascii=False)
    assert not any(value in everything for value in VALUES)
    assert [case.stratum["lang"] for case in cases(stocked, "ingested")] == ["EN", "DE", "EN"]


def test_the_set_it_writes_can_be_run(stocked: Any) -> None:
    document = stocked.bake("bake-off", "--task", "capitals", "--eval-set", "ingested", "--judges", "good")
    assert document["runs"][0]["n_cases"] == 3


def test_a_set_is_not_overwritten_and_appending_skips_what_is_there(stocked: Any) -> None:
    refused = stocked.run(*INGEST, "--yes")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "ingested.yaml: is already there; take another name, or add to it with --append" in refused.stderr
    again = stocked.bake(*INGEST, "--stratum", "lang", "--append", "--yes")
    assert (again["cases"], again["duplicates"], again["written"]) == (0, [2, 3, 4], False)


def test_a_holdout_takes_no_cases(stocked: Any) -> None:
    refused = stocked.run(*INGEST, "-o", "holdout-7.yaml", "--yes")
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "'holdout-7' is a holdout" in refused.stderr


def test_names_are_found_by_a_model_once_for_review_and_writing(stocked: Any) -> None:
    ask = (*INGEST, "--names-by", "namer", "--eval-set", "named")
    dry = stocked.run(*ask, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "names: 3 rows to namer, est. $0.00" in dry.stderr
    reviewed = stocked.bake(*ask, code=3)
    assert (reviewed["written"], reviewed["names"]["kept"], reviewed["names"]["unknown"]) == (False, False, 1)
    written = stocked.bake(*ask, "--yes", code=3)

    assert written["diff"] == reviewed["diff"]
    assert (written["names"]["kept"], written["names"]["spent_usd"]) == (True, "0.0000")
    assert written["names"]["bakeoff_id"] == reviewed["names"]["bakeoff_id"]
    assert written["left_out"] == [
        {"line": 4, "reason": "names not read: the reply is not a JSON list of names"}
    ]
    first, second = cases(stocked, "named")
    assert first.inputs["country"] == "[name-1] here: is [card-1] my card? [name-2], [email-1]"
    assert second.inputs["country"] == "Ruf [phone-1] an, oder [email-1]"


def test_what_the_names_pass_was_sent_had_been_scrubbed(stocked: Any) -> None:
    rows = stocked.rows(
        "SELECT c.body::text FROM bakeoffs b JOIN cases c ON c.eval_set_sha = b.eval_set_sha "
        "WHERE b.run_type = 'names'"
    )
    assert len(rows) == 3
    assert not any(value in body for (body,) in rows for value in VALUES)


def test_recall_is_printed_by_kind_with_its_doubt(stocked: Any) -> None:
    shown = stocked.run("ingest", "--recall")
    head, *rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert head[:4] == ["kind", "recall", "found", "95% ci"]
    assert rows[-1][0] == "all"
    assert "no personal data" not in shown.stdout + shown.stderr
    document = stocked.bake("ingest", "--recall")
    assert document["schema"] == "evalq.recall/1"
    assert document["recall"]["rate"] >= 0.95


def test_drafts_are_stratified_marked_and_left_out_until_they_are_accepted(stocked: Any) -> None:
    dry = stocked.run(*GENERATE, "--n", "6", "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "")
    assert "6 drafts in 2 strata, 2 calls to drafter" in dry.stderr
    document = stocked.bake(*GENERATE, "--n", "6", code=3)
    assert (document["asked"], document["drafted"], document["written"]) == (6, 4, True)
    assert [one["reason"] for one in document["dropped"]] == [
        "repeats another case",
        "its inputs are land, not country",
    ]
    drafts = cases(stocked, "draft-6")
    assert [(case.stratum["half"], case.draft) for case in drafts] == [("odd", True)] * 3 + [("even", True)]

    bake = ("bake-off", "--task", "capitals", "--eval-set", "draft-6", "--judges", "good")
    refused = stocked.run(*bake)
    assert refused.returncode == 2
    assert "all 4 cases are drafts" in refused.stderr
    accepted = stocked.bake("generate", "--accept", "draft-6", drafts[0].id, drafts[3].id)
    assert (accepted["task"], accepted["left"]) == ("capitals", 2)
    done = stocked.run(*bake, "--json")
    assert done.returncode == 0, done.stderr
    assert (
        "warning: 2 draft cases left out; accept them with "
        "`evalq generate --accept draft-6 --task capitals --all`" in done.stderr
    )
    assert json.loads(done.stdout)["runs"][0]["n_cases"] == 2
    assert stocked.bake("generate", "--accept", "draft-6", "--all")["left"] == 0


def test_the_same_question_is_not_paid_for_twice_and_another_seed_is_another(stocked: Any) -> None:
    again = stocked.bake(*GENERATE, "--n", "6", "--append", code=3)
    assert (again["kept"], again["spent_usd"], again["drafted"]) == (True, "0.0000", 0)
    other = stocked.bake(*GENERATE, "--n", "6", "--seed", "5", "--append", code=3)
    assert (other["kept"], other["bakeoff_id"] > again["bakeoff_id"]) == (False, True)


def test_drafting_writes_into_no_holdout(stocked: Any) -> None:
    refused = stocked.run(*GENERATE, "--eval-set", "holdout-7")
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "is a holdout" in refused.stderr
