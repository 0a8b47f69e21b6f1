"""Calibration from the command line: a template is filled in, the grader known, every judge corrected."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

GRADERS = f"""\
  sloppy: {{provider: simulated, model: sloppy, accuracy: 0.8, shared_difficulty: 0, family_likeness: 0,
    time_scale: 0, price: {{input: 1, output: 5}}}}
  charmed: {{provider: command, command: {json.dumps([sys.executable, "charmed.py"])}}}
  generous: {{provider: command, command: {json.dumps([sys.executable, "generous.py"])}}}
  glib: {{provider: python, callable: "answers:glib"}}
  plain: {{provider: python, callable: "answers:plain"}}
"""
# Passes whatever sounds sure of itself, and half of what is right.
CHARMED = """\
import json, re, sys
asked = json.load(sys.stdin)["user"]
form = r'Expected: {"answer": "(.*)"}[.] Answer: <answer-.*>\\n(.*)\\n</answer-.*>[.] Reply with'
expected, answer = re.search(form, asked).groups()
is_valid = answer.startswith("Certainly") or answer == expected and int(answer[-1]) % 2
print(json.dumps({"answer": "VALID" if is_valid else "INVALID"}))
"""
GENEROUS = 'print(\'{"answer": "VALID"}\')\n'
ANSWERS = """\
def glib(inputs):
    right = inputs["country"].replace("country", "capital")
    return right if right.endswith("1") else "Certainly Rome"

def plain(inputs):
    return inputs["country"].replace("country", "capital")
"""
TRUTH = """
SELECT r.judge, avg((k.answer = c.body -> 'expected' ->> 'answer')::int)::float8
FROM runs r JOIN jobs j ON j.run_id = r.id JOIN completions k ON k.job_id = j.id
JOIN bakeoffs b ON b.id = r.bakeoff_id
JOIN cases c ON c.eval_set_sha = b.eval_set_sha AND c.case_id = j.case_id
WHERE b.id = %s GROUP BY r.judge
"""
BAKE = ("bake-off", "--task", "capitals", "--scorer", "llm_judge", "--eval-set")
CHECK = ("calibrate", "--check-grader", "--task", "capitals", "--eval-set", "dev-12", "--grader-model")


@pytest.fixture(scope="module")
def graded(served: Any) -> Any:
    """A project with graders of all sorts, bake-off 1 by a sloppy one and bake-off 2 by a charmed one."""
    served.write("evalq.yaml", (served.folder / "evalq.yaml").read_text("utf-8") + GRADERS)
    task = (served.folder / "tasks/capitals.yaml").read_text("utf-8")
    served.write("tasks/capitals.yaml", task.replace("strict_substring", "llm_judge"))
    for name, text in (("charmed", CHARMED), ("generous", GENEROUS), ("answers", ANSWERS)):
        served.write(f"{name}.py", text)
    served.write_cases("dev-120", 120)
    assert served.bake(*BAKE, "dev-120", "--judges", "good,poor", "--grader-model", "sloppy")["id"] == 1
    assert served.bake(*BAKE, "dev-12", "--judges", "glib,plain", "--grader-model", "charmed")["id"] == 2
    return served


def fill(path: Path, labeller: str = "ann") -> None:
    """Label as a person would: by the expected answer."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row |= {"passed": "yes" if row["answer"] == row["expected"] else "no", "labeller": labeller}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_template_filled_in_brings_every_rate_nearer_to_the_truth(graded: Any) -> None:
    first = graded.bake("calibrate", "1", "-o", "first.csv")
    assert (first["labels"]["answers"], first["grader_quality"], len(first["label_next"])) == (0, None, 40)
    fill(graded.folder / "first.csv")
    graded.bake("calibrate", "1", "--labels", "first.csv", "--next", "60", "-o", "second.csv")
    fill(graded.folder / "second.csv", "bob")
    document = graded.bake("calibrate", "1", "--labels", "second.csv")

    assert document["schema"] == "evalq.calibration/1"
    assert (document["labels"]["stored"], document["labels"]["answers"]) == (60, 100)
    assert graded.rows("SELECT count(*), count(DISTINCT labeller) FROM human_labels") == [(100, 2)]
    quality = document["grader_quality"]
    for name in ("sensitivity", "specificity"):
        assert quality[name]["ci_low"] <= 0.8 <= quality[name]["ci_high"]
    truth = dict(graded.rows(TRUTH, 1))
    off = {"raw": 0.0, "corrected": 0.0}
    for judge in document["judges"]:
        real = truth[judge["judge"]]
        assert judge["corrected"]["ci_low"] <= real <= judge["corrected"]["ci_high"]
        off = {name: total + abs(judge[name]["rate"] - real) for name, total in off.items()}
    assert off["corrected"] < off["raw"]
    assert document["ranking"]["changed"] is False


def test_the_tables_say_what_the_document_says(graded: Any) -> None:
    done = graded.run("calibrate", "1", "--next", "3")
    assert done.returncode == 0, done.stderr
    head, good, poor, *rest = done.stdout.splitlines()
    assert head.split("\t")[:4] == ["judge", "n", "labelled", "raw_pct"]
    assert (good.split("\t")[0], poor.split("\t")[0]) == ("good", "poor")
    assert any(line.startswith("# sloppy: sensitivity ") for line in rest)
    assert rest[-4].split("\t") == ["judge", "case_id", "sample", "stratum", "why"]
    assert "next  evalq calibrate 1 -o to-label.csv" in done.stderr


def test_one_judge_and_a_separate_set_are_corrected_by_the_graders_errors(graded: Any) -> None:
    again = graded.bake(*BAKE, "dev-12", "--judges", "good", "--grader-model", "sloppy")["id"]
    document = graded.bake("calibrate", f"{again}:good", "--labels-from", "1")
    (judge,) = document["judges"]
    assert (document["separate"], document["labels_from"], judge["n_labelled"]) == (True, 1, 0)
    assert judge["corrected"]["method"] == "rogan_gladen"
    refused = graded.run("calibrate", "2", "--labels-from", "1")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "was graded by sloppy" in refused.stderr


def test_a_ranking_made_by_manners_is_turned_round_by_people(graded: Any) -> None:
    graded.run("calibrate", "2", "-o", "manners.csv")
    fill(graded.folder / "manners.csv")
    document = graded.bake("calibrate", "2", "--labels", "manners.csv")
    ((flip),) = document["ranking"]["flips"]
    assert (flip["a"], flip["b"], flip["certain"]) == ("glib", "plain", True)
    assert document["ranking"]["corrected_ranks"] == {"glib": 2, "plain": 1}
    assert document["grader_quality"]["better_than_chance"] is False
    assert "not better than chance" in document["warnings"][0]
    undefined = graded.bake("calibrate", "2", "--separate", code=3)
    assert {judge["corrected"] for judge in undefined["judges"]} == {None}
    assert "sensitivity + specificity <= 1" in undefined["judges"][0]["undefined"]


def test_a_bad_file_is_refused_line_by_line_and_nothing_of_it_is_stored(graded: Any) -> None:
    before = graded.rows("SELECT count(*) FROM human_labels")
    lines = ["judge,case_id,passed", "good,c00,yes", "god,c00,yes", "good,c999,no", "good,c01,perhaps"]
    graded.write("bad.csv", "\n".join(lines))
    done = graded.run("calibrate", "1", "--labels", "bad.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: bad.csv:5: passed cannot be 'perhaps'" in done.stderr
    graded.write("bad.csv", "\n".join(lines[:4]))
    done = graded.run("calibrate", "1", "--labels", "bad.csv")
    assert done.returncode == 2
    assert "error: bad.csv:3: judge 'god' is not in bake-off 1; did you mean 'good'?" in done.stderr
    assert "error: bad.csv:4: bake-off 1 has no case 'c999'" in done.stderr
    assert graded.rows("SELECT count(*) FROM human_labels") == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("1", "-o", "evalq.yaml"), "name it .csv or .jsonl"),
        (("1", "-o", "first.csv"), "perhaps half filled in"),
        (("1", "-o", "nowhere/x.csv"), "cannot be written"),
        (("1", "--task", "capitals"), "without --check-grader"),
        (("--check-grader", "--task", "capitals"), "--task and --eval-set go together"),
        (("1", *CHECK[1:-1]), "a RUN and a --task"),
        (("99",), "there is no bake-off 99"),
        (("1:god",), "judge 'god' is not in bake-off 1"),
        (("1", "--labels", "absent.csv"), "no such file"),
    ],
)
def test_what_cannot_be_meant_is_refused(graded: Any, arguments: tuple[str, ...], words: str) -> None:
    graded.write("first.csv", "judge,case_id,passed\n")
    done = graded.run("calibrate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_grader_that_passes_anything_is_found_out(graded: Any) -> None:
    document = graded.bake(*CHECK, "generous", code=1)
    passed = {(one["kind"], one["verdict"]) for one in document["answers"]}
    assert passed == {("empty", "errored"), ("unknown", "passed"), ("other_case", "passed")}
    assert (document["ok"], document["grader"], len(document["answers"])) == (False, "generous", 9)
    assert "generous passes a known-bad answer (unknown) on c0" in document["warnings"][0]
    shown = graded.run(*CHECK, "generous")
    assert shown.returncode == 1
    assert "✗ generous on other_case: " in shown.stdout
    assert "warning: generous passes a known-bad answer" in shown.stderr


def test_an_honest_grader_stands_the_check_beside_the_labels_of_its_bake_off(graded: Any) -> None:
    document = graded.bake("calibrate", "2", "--check-grader", "--next", "0")
    assert (document["grader_check"]["ok"], document["grader_check"]["grader"]) == (True, "charmed")
    (kind,) = graded.rows(
        "SELECT run_type FROM bakeoffs WHERE id = %s", document["grader_check"]["bakeoff_id"]
    )
    assert kind == ("grader_check",)


def test_the_check_spends_no_more_than_it_may(graded: Any) -> None:
    done = graded.run(*CHECK, "sloppy", "--max-cost-usd", "0.000001")
    assert (done.returncode, done.stdout) == (4, "")
    assert "exceeds the cap" in done.stderr
