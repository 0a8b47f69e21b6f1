"""The cap from the command line: refused before the first call, stopped in time, raised later."""

from decimal import Decimal
from typing import Any

import pytest

# A thousandth of a dollar a token: each question is estimated at 13 of them, costs 21 and may cost 118.
DEAR = """\
  dear: {provider: simulated, model: dear, time_scale: 0, price: {input: 1000, output: 0}}
"""
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "dear", "--max-cost-usd")


@pytest.fixture(scope="module")
def priced(served: Any) -> Any:
    """The project with a judge that costs something."""
    settings = (served.folder / "evalq.yaml").read_text("utf-8")
    served.write("evalq.yaml", settings + DEAR)
    return served


def test_a_projection_over_the_cap_is_refused_before_anything_is_asked(priced: Any) -> None:
    before = priced.run("runs", "--json").stdout
    done = priced.run(*BAKE, "0.10")
    assert (done.returncode, done.stdout) == (4, "")
    assert "the projected cost $0.16 exceeds the cap $0.10" in done.stderr
    assert priced.run("runs", "--json").stdout == before


def test_a_cap_reached_midway_stops_in_time_and_a_higher_one_goes_on(priced: Any) -> None:
    capped = priced.bake(*BAKE, "0.20", code=4)
    assert (capped["state"], capped["cap_usd"], 0 < capped["n_done"] < 12) == ("capped", "0.20", True)
    assert Decimal(capped["spent_usd"]) == capped["n_done"] * Decimal("0.021") <= Decimal("0.20")
    assert any("stopped at the cap" in warning for warning in capped["warnings"])
    budget = "SELECT reserved_usd, spent_usd <= cap_usd FROM bakeoffs WHERE id = %s"
    assert priced.rows(budget, capped["id"]) == [(0, True)]
    resumed = priced.bake("resume", "last", "--max-cost-usd", "5")
    assert (resumed["state"], resumed["n_done"], resumed["cap_usd"]) == ("concluded", 12, "5.00")
    assert resumed["calls"]["sent"] == 12
    assert Decimal(resumed["spent_usd"]) == 12 * Decimal("0.021")


def test_a_cap_of_zero_is_enough_for_judges_that_cost_nothing(priced: Any) -> None:
    command = (
        "bake-off",
        "--task",
        "personal_rag_retrieval",
        "--eval-set",
        "personal-93",
        "--max-cost-usd",
        "0",
    )
    assert priced.bake(*command)["spent_usd"] == "0.00"
