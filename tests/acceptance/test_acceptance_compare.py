"""Runs set against each other from the command line: kappa, compare, power, and the numbers of a result."""

import json
from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-60", "--judges")


@pytest.fixture(scope="module")
def baked(served: Any) -> Any:
    """A project with two bake-offs on sixty cases: two judges, then the better one with three samples."""
    served.write_cases("dev-60", 60)
    assert served.bake(*BAKE, "good,poor")["id"] == 1
    assert served.bake(*BAKE, "good", "--samples", "3")["id"] == 2
    return served


def test_a_significant_drop_is_a_regression_and_ends_with_one(baked: Any) -> None:
    document = baked.bake("compare", "1:good", "1:poor", code=1)
    assert (document["schema"], document["verdict"], document["n"]) == ("evalq.compare/1", "regression", 60)
    assert document["ci_low"] <= document["diff"] <= document["ci_high"] < 0
    assert document["p"] < 0.05
    assert len(document["a_only"]) - len(document["b_only"]) == round(-60 * document["diff"])
    assert (document["a"]["run_id"], document["a"]["judge"], document["b"]["judge"]) == (1, "good", "poor")
    assert document["latency_change_ms"]["n"] == 60


def test_the_other_way_round_it_is_an_improvement_and_ends_with_zero(baked: Any) -> None:
    done = baked.run("compare", "run-2", "run-1")
    assert done.returncode == 0, done.stderr
    assert "improvement: B is better than A on 60 shared cases" in done.stdout
    assert "gained (better in B), " in done.stdout
    assert "next  evalq inspect 1" in done.stderr


def test_what_the_cases_cannot_tell_ends_with_three_and_a_wider_margin_settles_it(baked: Any) -> None:
    document = baked.bake("compare", "1:good", "1:good", code=3)
    assert (document["verdict"], document["diff"], document["p"]) == ("inconclusive", 0.0, 1.0)
    assert document["cases_needed"] > 60
    done = baked.run("compare", "1:good", "1:good", "--margin", "0.1")
    assert done.returncode == 0
    assert "no regression: B is not worse than A by more than 10 pp" in done.stdout


def test_one_judge_twice_is_compared_by_the_means_of_its_samples(baked: Any) -> None:
    done = baked.run("compare", "1:good", "last:good", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"]
    assert (document["method"], document["warnings"]) == ("case_means_tango_t", ["1 and 3 samples a case"])


def test_two_bake_offs_are_compared_judge_by_judge(baked: Any) -> None:
    done = baked.run("compare", "1", "2", "--json")
    document = json.loads(done.stdout)
    assert (document["schema"], document["a"], document["b"]) == ("evalq.compare_bakeoffs/1", 1, 2)
    assert [change["a"]["judge"] for change in document["judges"]] == ["good"]
    assert (document["only_in_a"], document["exit_code"]) == (["poor"], done.returncode)
    shown = baked.run("compare", "1", "last")
    assert shown.stdout.startswith("judge\tA\tB\tB − A, 95% CI\tp\tverdict\ngood\t")
    assert "only in A: poor" in shown.stderr
    assert "next  evalq compare 1/good 2/good" in shown.stderr


@pytest.mark.parametrize("form", ["1/{}", "1:{}", "@-2/{}"])
def test_every_form_of_a_run_name_is_taken(baked: Any, form: str) -> None:
    document = baked.bake("compare", form.format("good"), form.format("poor"), code=1)
    assert (document["a"]["run_id"], document["b"]["run_id"]) == (1, 2)


def test_kappa_is_printed_and_stored_across_bake_offs(baked: Any) -> None:
    document = baked.bake("kappa", "--task", "capitals", "--run-ids", "1:good,1:poor,2:good")
    assert document["schema"] == "evalq.kappa/1"
    found = {(pair["run_a"], pair["run_b"]): pair for pair in document["kappa"]}
    stored = baked.rows("SELECT eval_run_id_a, eval_run_id_b, kappa::float, n FROM eval_kappa")
    assert {(a, b): (kappa, n) for a, b, kappa, n in stored} == {
        pair: (entry["kappa"], entry["n"]) for pair, entry in found.items()
    }
    assert len(stored) == 3
    assert found[1, 3]["flag"] == "same_judge"
    assert found[1, 3]["ci_low"] <= found[1, 3]["kappa"] <= found[1, 3]["ci_high"]
    shown = baked.run("kappa", "--task", "tasks/capitals.yaml", "--run-ids", "1,2")
    assert shown.stdout.startswith("a\tb\tkappa\tci_low\tci_high\tac1\tn\tflag\ngood\tpoor\t")
    assert baked.run("fsck").returncode == 0


def test_kappa_takes_bake_offs_and_runs_as_its_siblings_do(baked: Any) -> None:
    def runs(*names: str) -> list[int]:
        return [run["run_id"] for run in baked.bake("kappa", *names)["runs"]]

    assert runs("1") == [1, 2]
    assert runs("1/good", "2/good") == [1, 3]
    assert runs("--task", "capitals", "--run-ids", "2,1") == [2, 1]


def test_a_bake_off_shows_who_errs_alike(baked: Any) -> None:
    done = baked.run("inspect", "1", "--kappa")
    assert (done.returncode, done.stdout.splitlines()[1].split("\t")[:2]) == (0, ["good", "poor"])
    assert "next  evalq inspect 1 --disagreements" in done.stderr


def test_the_power_of_a_plan_rests_on_past_runs_and_is_priced(baked: Any) -> None:
    document = baked.bake("power", "--task", "capitals", "--eval-set", "dev-60", "--judges", "good,poor")
    assert (document["schema"], document["past_pairs"], document["past_cases"]) == ("evalq.power/1", 1, 60)
    assert document["cases_needed"] > 60
    assert document["enough"] is False
    assert 0 < document["mde"] < 1
    assert 0 < float(document["estimate_usd"]) < float(document["estimate_needed_usd"])


def test_without_past_runs_power_says_what_it_assumes(baked: Any) -> None:
    done = baked.run("power", "--task", "mail_classify", "--delta", "0.3", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert "assumed to err independently" in done.stderr
    assert "further samples are assumed to change nothing" in done.stderr
    assert "next  evalq bake-off --task mail_classify" in done.stderr
    assert "a difference of 30 pp" in done.stdout


def test_a_result_has_macro_strata_and_flips(baked: Any) -> None:
    document = baked.bake("inspect", "1")
    for run in document["runs"]:
        assert (run["macro"]["n"], run["macro"]["method"]) == (60, "wilson_stratified")
        assert run["macro"]["ci_low"] < run["macro"]["accuracy"] < run["macro"]["ci_high"]
        assert {(rate["n"], rate["few"]) for rate in run["per_stratum"].values()} == {(30, False)}
    (pair,) = document["comparisons"]
    assert (pair["method"], pair["a_only"] - pair["b_only"]) == ("tango_mcnemar", round(60 * pair["diff"]))
    assert pair["cases_needed"] is None


def test_several_samples_have_pass_k_and_clustered_intervals(baked: Any) -> None:
    (run,) = baked.bake("inspect", "2")["runs"]
    assert run["ci_method"] == "wilson_clustered"
    assert [entry["k"] for entry in run["pass_k"]] == [1, 2, 3]
    last = run["pass_k"][-1]
    assert last["pass_hat_k_unbiased"] <= last["pass_hat_k"] <= run["accuracy"] <= last["pass_at_k"]
    assert (last["n_cases"], last["skipped"]) == (60, 0)


@pytest.mark.parametrize("ci", ["clopper_pearson", "beta", "bootstrap"])
def test_another_interval_is_shown_when_asked_for_and_wilsons_is_stored(baked: Any, ci: str) -> None:
    (run, _) = baked.bake("inspect", "1", "--ci", ci)["runs"]
    assert run["ci_method"] == ci
    (stored,) = baked.rows("SELECT ci_method, ci_low::float FROM eval_runs WHERE id = %s", run["run_id"])
    assert stored[0] == "wilson"
    assert stored[1] != run["ci_low"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "1:good", "99"), "there is no bake-off 99"),
        (("compare", "1/good", "run-99"), "there is no run 'run-99'"),
        (("kappa", "--task", "capitals", "--run-ids", "99,1/poor"), "there is no run '99'"),
        (("compare", "1:good", "1:god"), "judge 'god' is not in bake-off 1"),
        (("kappa", "--task", "rivers", "--run-ids", "1,2"), "is of task 'capitals', not 'rivers'"),
        (("kappa", "--task", "capitals", "--run-ids", "1"), "agreement takes two runs"),
        (("kappa", "1/good"), "agreement takes two runs"),
        (("kappa", "1", "98", "99"), "there is no bake-off 98"),
        (("kappa", "1", "--run-ids", "1"), "both ID and --run-ids are given"),
        (("power", "--task", "nothing"), "no task 'nothing'"),
        (("power", "--task", "capitals", "--delta", "0"), "--delta"),
    ],
)
def test_bad_input_is_said_plainly(baked: Any, arguments: tuple[str, ...], words: str) -> None:
    done = baked.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_another_interval_may_be_asked_for_when_the_bake_off_starts(baked: Any) -> None:
    document = baked.bake(*BAKE, "good", "--ci", "beta")
    assert document["runs"][0]["ci_method"] == "beta"
    kept = baked.run("kappa", "--task", "capitals", "--run-ids", "1:good,last:good")
    assert kept.returncode == 0, kept.stderr
    several = baked.run(*BAKE[:2], "capitals,mail_classify", "--judges", "good", "--ci", "beta")
    assert several.returncode == 2
    assert "--ci is for a bake-off on one task" in several.stderr


def test_runs_on_other_cases_have_no_agreement(baked: Any) -> None:
    baked.bake(*BAKE[:3], "--eval-set", "dev-12", "--judges", "poor")
    done = baked.run("kappa", "--task", "capitals", "--run-ids", "1:good,last:poor")
    assert done.returncode == 2
    assert "is on dev-12 (" in done.stderr
