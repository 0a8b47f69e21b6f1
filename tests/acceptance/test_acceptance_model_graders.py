"""Model graders from the command line: every type, a panel, pairs; their details are kept."""

from typing import Any

import pytest

from evalq.summary.warnings import panel_agreement, position_bias

SETTINGS = """\
  ga: {provider: simulated, model: ga, accuracy: 1, time_scale: 0, echo: true, price: {input: 1, output: 5}}
  gb: {provider: simulated, model: b, accuracy: 1, time_scale: 0,
    structured: true, price: {input: 1, output: 1}}
  gc: {provider: simulated, model: gc, accuracy: 0, time_scale: 0, price: {input: 1, output: 5}}
"""
TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: "What is the capital of {country}?"
graders:
  - {type: rubric, rubric: It names the capital., model: ga}
  - {type: verdict, rubric: answer_matches, models: [ga, gb, gc]}
  - {type: criteria, criteria: documentation, model: gb}
  - {type: categorical, rubric: What is it?, categories: [wrong, right], pass_categories: [right], model: ga}
  - {type: boolean, question: Does it name the capital?, model: ga}
  - {type: pairwise, against: good, model: ga, required: false}
  - {type: pairwise, name: moody, against: reference, model: gc, required: false}
max_tokens: 16
"""
DETAILS = """
SELECT g.details FROM grades g JOIN jobs j ON j.id = g.job_id JOIN runs r ON r.id = j.run_id
WHERE r.bakeoff_id = %s AND g.grader = %s
"""
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good,poor")


@pytest.fixture(scope="module")
def baked(served: Any) -> dict[str, Any]:
    """A bake-off that every type of model grader has marked."""
    served.write("evalq.yaml", (served.folder / "evalq.yaml").read_text("utf-8") + SETTINGS)
    served.write("tasks/capitals.yaml", TASK)
    return dict(served.bake(*BAKE))


def details(served: Any, baked: dict[str, Any], grader: str) -> list[dict[str, Any]]:
    return [one for (one,) in served.rows(DETAILS, baked["id"], grader)]


def test_graders_that_are_right_agree_on_who_passes(baked: dict[str, Any]) -> None:
    good, poor = baked["runs"]
    assert good["n_error"] == poor["n_error"] == 0
    assert good["n_pass"] > poor["n_pass"] > 0
    for run in baked["runs"]:
        rates = {name: run["metrics"][name]["accuracy"] for name in ("categorical", "boolean")}
        assert set(rates.values()) == {run["accuracy"]}


def test_a_panel_is_asked_in_full_and_its_agreement_is_known(served: Any, baked: dict[str, Any]) -> None:
    found = panel_agreement(details(served, baked, "verdict"))
    assert found is not None
    assert (found.graders, found.n, found.unanimous.k) == (("ga", "gb", "gc"), 24, 0)
    assert found.pairs == pytest.approx(1 / 3)


def test_a_grader_that_minds_the_order_is_found_out(served: Any, baked: dict[str, Any]) -> None:
    [steady] = position_bias(details(served, baked, "pairwise"))
    assert (steady.grader, steady.n, steady.inconsistent.k) == ("ga", 12, 0)
    [moody] = position_bias(details(served, baked, "moody"))
    assert moody.prefers_first == moody.inconsistent.k > 0
