"""What a bake-off is said to cost before it starts."""

import json
from typing import Any

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good")


def test_a_plan_says_what_its_estimate_is_made_from_and_a_cap_refuses_no_known_cost(project: Any) -> None:
    fresh = project.run(*BAKE, "--dry-run")
    assert (fresh.returncode, "(a guess), at most" in fresh.stderr) == (0, True), fresh.stderr
    assert not project.data_dir.exists()
    first = project.bake(*BAKE)
    known = project.run(*BAKE, "--samples", "5", "--dry-run", "--json")
    assert (known.returncode, "(from 12 earlier answers), at most" in known.stderr) == (0, True), known.stderr
    document = json.loads(known.stdout)
    assert (document["schema"], document["estimate_from"]) == ("evalq.plan/1", "from 12 earlier answers")
    estimate, spent = float(document["estimate_usd"]), float(first["spent_usd"])
    assert abs(estimate - 5 * spent) < 0.02 * estimate + 0.0005
    assert estimate < float(document["worst_usd"])
