"""Reading bake-offs: lists, tables, cases, disagreements, and never a character that moves the cursor."""

import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges")
HOSTILE = """\
def answer(inputs):
    return "\\x1b[2J\\x1b]8;;http://evil\\x07 \\x9b31m \\u202e \\r \\x00 [bold]red[/bold]"
"""


@pytest.fixture(scope="module")
def baked(served: Any) -> Any:
    """A project with one bake-off: two judges, one that says nothing, one that attacks the terminal."""
    settings = (served.folder / "evalq.yaml").read_text("utf-8")
    served.write("evalq.yaml", settings + '  hostile: {provider: python, callable: "attack:answer"}\n')
    served.write("attack.py", HOSTILE)
    assert served.bake(*BAKE, "good,poor,mute,hostile", code=3)["id"] == 1
    return served


def read(project: Any, *arguments: str) -> str:
    """What a reading command prints, free of anything that could take over a terminal."""
    done = project.run(*arguments)
    assert done.returncode == 0, done.stderr
    shown = (done.stdout + done.stderr).replace("\n", "").replace("\t", "")
    assert not [
        c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or unicodedata.bidirectional(c) == "RLO"
    ]
    return str(done.stdout)


def verdicts(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        case["case_id"]: {answer["judge"]: answer["verdict"] for answer in case["answers"]}
        for case in document["cases"]
    }


def test_the_list_names_every_bake_off_with_its_best_judge(baked: Any) -> None:
    newest = json.loads(read(baked, "runs", "--json"))[-1]
    assert (newest["id"], newest["task"], newest["eval_set"]) == (1, "capitals", "dev-12")
    assert (newest["state"], newest["done"], newest["jobs"]) == ("concluded", 48, 48)
    assert newest["best"]["judge"] == "good"
    assert "1\tcapitals\tdev-12\tconcluded\t48/48\tgood" in read(baked, "runs")


def test_inspect_prints_the_document_again(baked: Any) -> None:
    document = json.loads(read(baked, "inspect", "1", "--json"))
    assert (document["schema"], document["n_done"]) == ("evalq.bakeoff/1", 48)
    stored = json.loads(baked.rows("SELECT result::text FROM bakeoffs WHERE id = 1")[0][0])
    assert document == stored


def test_inspect_shows_ranking_and_strata(baked: Any) -> None:
    shown = read(baked, "inspect", "1")
    assert "judge\tstratum\tpass_pct" in shown
    assert "rank\tjudge\tpass_pct" in shown
    assert "12/12 empty outputs" in shown


def test_failures_are_the_cases_that_somebody_did_not_pass(baked: Any) -> None:
    document = baked.bake("inspect", "1", "--show-failures", "--judge", "poor")
    (poor,) = [run for run in document["runs"] if run["judge"] == "poor"]
    assert document["n_cases_found"] == poor["n_fail"] == len(document["cases"])
    assert {v["poor"] for v in verdicts(document).values()} == {"failed"}
    assert "c00" in read(baked, "inspect", "1", "--show-failures")


def test_a_judge_that_is_left_out_makes_no_disagreement(baked: Any) -> None:
    everything = verdicts(baked.bake("inspect", "1", "--show-failures"))
    document = baked.bake("inspect", "1", "--disagreements")
    ranked = ("good", "poor", "hostile")
    split = {case for case, said in everything.items() if len({said[judge] for judge in ranked}) > 1}
    assert set(verdicts(document)) == split
    assert 0 < len(split) < 12
    read(baked, "inspect", "1", "--disagreements")


def test_a_case_is_shown_with_every_answer_made_harmless(baked: Any) -> None:
    shown = read(baked, "inspect", "1", "--case", "c03")
    assert "What is the capital" in shown or "country 3" in shown
    assert all(judge in shown for judge in ("good", "poor", "mute", "hostile"))
    assert "[bold]red[/bold]" in shown


def test_the_answers_of_one_judge_are_shown_alone(baked: Any) -> None:
    document = baked.bake("inspect", "1", "--judge", "hostile")
    assert {judge for said in verdicts(document).values() for judge in said} == {"hostile"}
    assert document["n_cases_found"] == 12
    read(baked, "inspect", "1", "--judge", "hostile", "--limit", "3")


def test_the_journal_lists_every_call(baked: Any) -> None:
    journal = json.loads(read(baked, "inspect", "1", "--calls", "--limit", "100", "--json"))
    assert len(journal) == 48
    assert {call["state"] for call in journal} == {"settled"}
    assert "\tanswer\tgood\t1\tsettled\t" in read(baked, "inspect", "1", "--calls", "--judge", "good")


def test_the_seeds_form_shows_the_failures_of_one_run(baked: Any) -> None:
    document = baked.bake("inspect", "1", "--show-failures", "--judge", "poor")
    (run_id,) = [run["run_id"] for run in document["runs"] if run["judge"] == "poor"]
    by_number = baked.bake("inspect", "--run-id", str(run_id), "--show-failures")
    by_name = baked.bake("inspect", "1/poor", "--show-failures")
    assert document["cases"] == by_number["cases"] == by_name["cases"]
    shown = read(baked, "inspect", "--run-id", str(run_id), "--show-failures")
    head, first, *_ = [row.split("\t") for row in shown.splitlines()]
    assert head[:4] == ["why", "case", "stratum", "judge"]
    assert (first[3], first[5]) == ("poor", "failed")
    assert first[6].startswith("capital ")


def test_a_judge_that_is_broken_altogether_is_one_line(baked: Any) -> None:
    shown = read(baked, "inspect", "1", "--show-failures")
    assert [row for row in shown.splitlines() if "mute" in row] == [
        "# broken\tmute\t12/12 empty outputs\tthe answer is empty"
    ]
    assert read(baked, "inspect", "1/mute").splitlines()[1:] == [
        "# broken\tmute\t12/12 empty outputs\tthe answer is empty"
    ]


def test_two_judges_are_set_side_by_side(baked: Any) -> None:
    document = baked.bake("inspect", "1", "--diff", "good", "poor")["diff"]
    assert (document["a"], document["b"]) == ("good", "poor")
    assert document["n"] == sum(group["n"] for group in document["groups"]) > 0
    assert "good passed, poor failed" in read(baked, "inspect", "1", "--diff", "good", "poor")


def test_labels_that_a_judge_confuses_are_counted(baked: Any) -> None:
    cases = [
        {"id": f"l{i:02}", "inputs": {"country": f"c {i}"}, "expected": {"answer": ("Bern", "Rome")[i % 2]}}
        for i in range(12)
    ]
    baked.write("evalsets/capitals/labels-12.json", json.dumps({"cases": cases}))
    baked.bake("bake-off", "--task", "capitals", "--eval-set", "labels-12", "--judges", "poor")
    (found,) = baked.bake("inspect", "last/poor")["confusion"]
    (run,) = baked.bake("inspect", "last")["runs"]
    assert (found["judge"], found["n"], [score["support"] for score in found["labels"]]) == (
        "poor",
        12,
        [6, 6],
    )
    assert found["matrix"]["Bern"][0] + found["matrix"]["Rome"][1] == run["n_pass"]
    assert "judge\tlabel\tprecision\trecall\tf1\tsupport" in read(baked, "inspect", "last/poor")
    assert "poor\tBern\t" in read(baked, "inspect", "last", "--confusion")


def test_answers_that_are_not_labels_have_no_confusion(baked: Any) -> None:
    assert baked.bake("inspect", "1", "--confusion")["confusion"] == []
    assert "not a few labels" in baked.run("inspect", "1", "--confusion").stderr


def test_the_result_ends_with_its_decision(baked: Any) -> None:
    decision = baked.bake("inspect", "1")["decision"]
    assert decision["kind"] in ("ship", "tie", "not_decidable")
    last_lines = read(baked, "inspect", "1").splitlines()[-2:]
    assert last_lines[0] == f"# decision\t{decision['sentence']}"
    assert "1 judge excluded as broken: mute" in last_lines[1]


def test_a_shell_completes_bake_offs_and_their_judges(baked: Any) -> None:
    patient = "import evalq.cli.completion as c, evalq.cli.main as m; c.PATIENCE_S = 600; m.run([])"

    def complete(line: str) -> list[str]:
        asked = {"_EVALQ_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        done = replace(baked, settings=asked).python("-c", patient)
        assert done.stderr == ""
        return [row.removeprefix("plain,") for row in done.stdout.splitlines()]

    assert {"last", "@-2", "1"} <= set(complete("evalq inspect "))
    assert complete("evalq kappa 1/") == ["1/good", "1/poor", "1/mute", "1/hostile"]
    assert complete("evalq report 1/po") == ["1/poor"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspect", "1/god"), "did you mean '1/good'?"),
        (("inspect", "--run-id", "99"), "there is no run '99'; the newest are "),
        (("inspect", "1/good", "--judge", "poor"), "two judges"),
        (("inspect", "1", "--run-id", "1"), "both ID and --run-id"),
        (("inspect", "1", "--diff", "good", "god"), "its judges are"),
        (("inspect", "9" * 5_000), "there is no bake-off 999"),
        (("cancel", "1/good"), "write `evalq cancel 1`"),
        (("inspect", "99"), "there is no bake-off 99"),
        (("inspect", "@-99"), "goes too far back"),
        (("inspect", "first"), "is not a bake-off"),
        (("inspect", "1", "--case", "c99"), "has no case 'c99'"),
        (("inspect", "1", "--judge", "god"), "its judges are"),
        (("resume", "99"), "there is no bake-off 99"),
    ],
)
def test_what_is_not_there_is_said_plainly(baked: Any, arguments: tuple[str, ...], words: str) -> None:
    done = baked.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("error: ") == 1


def test_a_cancelled_bake_off_stops_and_can_be_taken_up_again(baked: Any) -> None:
    bakeoff_id = baked.run(*BAKE, "slow", "--samples", "300", "--detach").stdout.strip()
    cancelled = baked.run("cancel", bakeoff_id)
    assert (cancelled.returncode, cancelled.stdout) == (0, f"bake-off {bakeoff_id} is cancelled\n")
    newest, *_ = baked.bake("runs")
    assert (newest["state"], newest["done"] < newest["jobs"]) == ("cancelled", True)
    assert baked.run("resume", bakeoff_id, "--detach").stdout.strip() == bakeoff_id
    assert baked.bake("runs")[0]["state"] == "running"
    baked.run("cancel", bakeoff_id)
    assert "there is nothing to cancel" in baked.run("cancel", bakeoff_id).stderr
