"""Reports of real runs in every form: bake-offs, suites, drift checks, holdouts."""

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges")
SUITE = """\
eval_suite:
  name: trial
  config: {retries: 0}
  thresholds: {metrics: {pass_at_1: 0.99}}
  evals:
    - {id: CAP-1, name: says it, category: form, input: say y, expected: y}
"""
WRONG = (
    "  wrong: {provider: simulated, model: wrong, accuracy: 0, time_scale: 0, price: {input: 1, output: 5}}\n"
)


@pytest.fixture(scope="module")
def baked(served: Any) -> Any:
    """A project with a bake-off of three judges, one of which says nothing."""
    assert served.bake(*BAKE, "good,poor,mute", code=3)["id"] == 1
    return served


def report(project: Any, *arguments: str, code: int = 0) -> Any:
    done = project.run("report", *arguments)
    assert done.returncode == code, done.stderr
    return done


def test_without_options_the_page_is_written_here_and_written_again(baked: Any) -> None:
    for _ in range(2):
        done = report(baked, "1", "--monthly-cases", "50000")
        assert done.stdout.strip() == "evalq-report-1.html"
    page = (baked.folder / "evalq-report-1.html").read_text("utf-8")
    assert "$/month at 50,000 cases" in page
    assert "12 cases" in page
    assert "mute" in page
    assert "evalq bake-off --task capitals --eval-set dev-12 --judges good,poor,mute" in page
    assert "evalq web" in done.stderr


def test_a_bake_off_ends_by_naming_report_and_pages(baked: Any) -> None:
    assert baked.bake("inspect", "1")["next"][-2:] == ["evalq report 1", "evalq web"]


def test_the_page_goes_to_stdout_with_a_dash(baked: Any) -> None:
    assert report(baked, "last", "-o", "-").stdout.startswith("<!doctype html>")


def test_the_document_has_result_costs_and_cases(baked: Any) -> None:
    document = json.loads(report(baked, "1", "--json", "--monthly-cases", "1000").stdout)
    assert (document["schema"], document["n_cases"]) == ("evalq.report/1", 12)
    assert document["answer"] == document["result"]["decision"]["sentence"]
    costs = {entry["judge"]: entry for entry in document["result"]["costs"]}
    per_case, per_month = float(costs["good"]["usd_per_case"]), float(costs["good"]["usd_per_month"])
    assert per_month == pytest.approx(per_case * 1000, rel=0.001)
    assert len(document["method"]["judge good"]) == len("sha256 ") + 64


def test_junit_separates_what_failed_from_what_broke(baked: Any) -> None:
    root = ElementTree.fromstring(report(baked, "1", "--junit").stdout)
    tallies = {suite.attrib["name"].split(": ")[1]: suite.attrib for suite in root}
    assert tallies["mute"]["errors"] == "12"
    assert tallies["mute"]["failures"] == "0"
    result = {run["judge"]: run for run in baked.bake("inspect", "1")["runs"]}
    assert tallies["poor"]["failures"] == str(result["poor"]["n_fail"])


def test_csv_has_a_row_for_every_answer(baked: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(report(baked, "1", "--csv").stdout)))
    assert len(rows) == 36
    assert {row["verdict"] for row in rows if row["judge"] == "mute"} == {"errored"}


def test_markdown_has_the_answer_and_the_leaderboard(baked: Any) -> None:
    text = report(baked, "1", "--md").stdout
    assert text.startswith("<!-- evalq report -->\n\n## capitals · dev-12")
    assert "### Leaderboard" in text
    assert len(text.encode()) < 60_000


def test_a_name_that_means_nothing_is_refused_with_the_remedy(baked: Any) -> None:
    assert "a suite run such as suite-7" in report(baked, "nothing", code=2).stderr


def test_a_file_that_cannot_be_written_is_told(baked: Any) -> None:
    assert "cannot be written" in report(baked, "1", "-o", "missing/folder.html", code=2).stderr


def test_a_suite_run_has_the_same_forms_and_its_gate(baked: Any) -> None:
    baked.write("evalq.yaml", (baked.folder / "evalq.yaml").read_text("utf-8") + WRONG)
    baked.write("suite.yaml", SUITE)
    assert baked.run("suite", "run", "suite.yaml", "--judges", "wrong").returncode == 1
    document = json.loads(report(baked, "suite-1", "--json", "--monthly-cases", "100").stdout)
    assert document["kind"] == "suite"
    assert document["answer"].startswith("The gate fails: wrong pass@1 0.00")
    assert [section["key"] for section in document["sections"]] == ["gate", "leaderboard", "strata", "cost"]
    root = ElementTree.fromstring(report(baked, "suite-1", "--junit").stdout)
    assert root.attrib["failures"] == "1"
    assert report(baked, "suite-1").stdout.strip() == "evalq-report-suite-1.html"


def test_a_drift_check_leads_with_its_verdict_and_withholds_the_holdout(baked: Any) -> None:
    baked.write_cases("holdout-12-sample", 12)
    for _ in range(2):
        done = baked.run(
            "verify", "--task", "capitals", "--judges", "good", "--eval-set", "holdout-12-sample", "--json"
        )
        assert done.returncode == 3, done.stderr
    checked = str(json.loads(done.stdout)["bakeoff_id"])
    document = json.loads(report(baked, checked, "--json").stdout)
    assert (document["kind"], document["answer"]) == ("drift", "Not decidable for good: see why below.")
    assert document["sections"][0]["key"] == "drift"
    assert len(document["sections"][0]["tables"][0]["rows"]) == 2
    assert document["cases"] == []
    assert "holdout-12-sample is a holdout" in document["cases_included"]
    assert "holdout-12-sample is a holdout" in report(baked, checked, "--csv", code=5).stderr
