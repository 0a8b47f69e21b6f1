"""Caps by the provider's own ledger: of a bake-off, of a day, of a provider; faults and retries included."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from evalq.engines.simulator.process import Simulator, running_simulator

# Every answer is fifty tokens long, as long as it may be, at a thousandth of a dollar each: a nickel a call.
TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: 'What is the capital of {country}? Say "yes".'
scoring: {mode: strict_substring, pass_rule: any_substring}
max_tokens: 50
"""
PRICE = {"input": 0, "output": 1000}
A_CALL = Decimal("0.05")
FAULTS = {"500": 0.07, "reset_after": 0.07, "529": 0.1}
PROFILES = {"shaky": {"output_tokens": 50, "faults": FAULTS}, "*": {"output_tokens": 50}}
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-30", "--judges")
BUDGET = "SELECT cap_usd, spent_usd, reserved_usd FROM bakeoffs WHERE id = %s"
JOURNAL = (
    "SELECT sum(cost_usd), count(*) FILTER (WHERE state = 'sent') FROM call_journal WHERE bakeoff_id = %s"
)
ENDS = "SELECT count(*), count(DISTINCT case_id) FROM outcomes WHERE bakeoff_id = %s"
SPENT = "SELECT coalesce(sum(cost_usd), 0) FROM call_journal WHERE provider = ANY(%s)"


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    """A provider that keeps its own account."""
    with running_simulator({"profiles": PROFILES}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any], sim: Simulator) -> Any:
    """Thirty cases, and one worker of fifty slots: all of them could be asked at once."""
    project = new_project(XAI_API_KEY="sk-x")
    project.write("tasks/capitals.yaml", TASK)
    cases = [
        {"id": f"c{i:02}", "inputs": {"country": f"country {i}"}, "expected": {"answer": "yes"}}
        for i in range(30)
    ]
    project.write("evalsets/capitals/dev-30.json", json.dumps({"cases": cases}))
    limit(project, sim)
    return project


def limit(project: Any, sim: Simulator, **caps: Any) -> None:
    """Write the settings, with these caps."""
    judge = {"base_url": sim.openai_url, "price": PRICE}
    judges = {
        "shaky": {**judge, "provider": "openai", "model": "shaky"},
        "steady": {**judge, "provider": "openai", "model": "steady"},
        "grok": {**judge, "provider": "xai", "model": "grok"},
    }
    fleet = {"processes": 1, "slots": 50}
    project.write("evalq.yaml", json.dumps({"fleet": fleet, "judges": judges, "caps": caps}))


def billed_usd(sim: Simulator, model: str) -> Decimal:
    return Decimal(sim.ledger()["by_model"][model]["output_tokens"]) / 1000


def test_fifty_slots_and_a_provider_full_of_faults_stay_under_the_cap_and_a_higher_one_goes_on(
    served: Any, sim: Simulator
) -> None:
    capped = served.bake(*BAKE, "shaky", "--max-cost-usd", "0.5", code=4)
    assert (capped["state"], 0 < capped["n_done"] < 30) == ("capped", True)
    assert 0 < billed_usd(sim, "shaky") <= Decimal(capped["spent_usd"]) <= 10 * A_CALL
    assert any("stopped at the cap of the bake-off" in warning for warning in capped["warnings"])
    [(cap_usd, spent_usd, reserved_usd)] = served.rows(BUDGET, capped["id"])
    assert (cap_usd, reserved_usd) == (10 * A_CALL, 0)
    assert served.rows(JOURNAL, capped["id"]) == [(spent_usd, 0)]
    resumed = served.bake("resume", "last", "--max-cost-usd", "5")
    assert (resumed["state"], resumed["n_done"], resumed["runs"][0]["n_pass"]) == ("concluded", 30, 30)
    assert served.rows(ENDS, capped["id"]) == [(30, 30)]
    assert billed_usd(sim, "shaky") <= Decimal(resumed["spent_usd"]) <= 5


def test_the_faults_were_met_and_an_unknown_end_is_paid_for(served: Any, sim: Simulator) -> None:
    met = {call["fault"] for call in sim.calls()}
    assert set(FAULTS) <= met
    unknown = "SELECT DISTINCT cost_usd = reserved_usd FROM call_journal WHERE state = 'unknown'"
    assert served.rows(unknown) == [(True,)]


def test_a_cap_of_the_day_stops_a_bake_off_by_what_others_spent_and_a_higher_one_goes_on(
    served: Any, sim: Simulator
) -> None:
    [(before,)] = served.rows(SPENT, ["openai", "xai"])
    limit(served, sim, per_day_usd=str(before + 4 * A_CALL))
    capped = served.bake(*BAKE, "steady", code=4)
    assert (capped["state"], capped["spent_usd"], capped["n_done"]) == ("capped", "0.20", 4)
    assert any("stopped at the cap of the day" in warning for warning in capped["warnings"])
    assert billed_usd(sim, "steady") == 4 * A_CALL
    limit(served, sim, per_day_usd=str(before + 30 * A_CALL))
    resumed = served.bake("resume", "last")
    assert (resumed["state"], resumed["n_done"]) == ("concluded", 30)
    assert billed_usd(sim, "steady") == 30 * A_CALL


def test_a_cap_of_a_provider_stops_a_bake_off_and_leaves_the_others_alone(
    served: Any, sim: Simulator
) -> None:
    [(before,)] = served.rows(SPENT, ["openai"])
    limit(served, sim, per_provider_usd={"openai": str(before + 2 * A_CALL)})
    capped = served.bake(*BAKE, "steady", code=4)
    assert (capped["state"], capped["spent_usd"]) == ("capped", "0.10")
    assert any(
        "stopped at the cap of the day for provider:openai" in warning for warning in capped["warnings"]
    )
    assert served.bake(*BAKE, "grok")["n_done"] == 30


def test_a_cap_that_was_lifted_for_a_while_counts_what_was_spent_meanwhile(
    served: Any, sim: Simulator
) -> None:
    limit(served, sim)
    assert served.bake(*BAKE, "steady")["spent_usd"] == "1.50"
    [(before,)] = served.rows(SPENT, ["openai", "xai"])
    billed_before = billed_usd(sim, "steady")
    limit(served, sim, per_day_usd=str(before + 3 * A_CALL))
    capped = served.bake(*BAKE, "steady", code=4)
    assert (capped["state"], capped["spent_usd"]) == ("capped", "0.15")
    assert billed_usd(sim, "steady") - billed_before == 3 * A_CALL
