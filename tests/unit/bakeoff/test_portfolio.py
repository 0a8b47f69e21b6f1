"""One cap over several tasks: refused before the first call, split up front, and shared on going on."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.bakeoff.plan import Plan, make_plan
from evalq.bakeoff.portfolio import PortfolioTask, cap_shares, next_commands, refuse_total_over_cap, split
from evalq.bakeoff.request import Request
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import TaskConfig
from evalq.errors import CapReached
from evalq.results import BakeOffResult, BakeOffState, Calls

TASK = {"name": "t", "system_prompt": "s", "user_template": "{x}", "max_tokens": 100}
SCORING = {"mode": "strict_substring", "pass_rule": "exact_match"}


def plan(estimate: str, worst: str, task: str = "t") -> Plan:
    case: Any = {"id": "c", "inputs": {"x": "y"}, "expected": {"answer": "z"}}
    judge = SimulatedJudge(name="j", provider="simulated", model="m")
    made = make_plan(
        TaskConfig.model_validate({**TASK, "name": task, "scoring": SCORING}),
        EvalSet(name="dev", cases=[EvalCase.model_validate(case)]),
        [judge],
    )
    return replace(made, estimate_usd=Decimal(estimate), worst_usd=Decimal(worst))


def test_a_projection_of_all_tasks_over_the_cap_is_refused() -> None:
    plans = [plan("0.3", "1"), plan("0.3", "1")]
    refuse_total_over_cap(plans, Decimal("0.6"))
    with pytest.raises(CapReached, match=r"all 2 tasks \$0.60 exceeds the cap \$0.59"):
        refuse_total_over_cap(plans, Decimal("0.59"))


def test_shares_of_a_cap_that_holds_all_worst_cases_hold_each() -> None:
    plans = [plan("1", "2"), plan("0.1", "3"), plan("0", "0")]
    shares = cap_shares(plans, Decimal(5))
    assert sum(shares) <= 5
    assert all(
        share >= each.worst_usd - Decimal("0.00001") for share, each in zip(shares, plans, strict=True)
    )


def test_shares_of_a_tighter_cap_hold_each_projection_and_sum_to_no_more() -> None:
    plans = [plan("1", "20"), plan("0.1", "3"), plan("0.3", "0.3")]
    shares = cap_shares(plans, Decimal("1.5"))
    assert Decimal("1.4999") < sum(shares) <= Decimal("1.5")
    assert all(share >= each.estimate_usd for share, each in zip(shares, plans, strict=True))


def test_what_costs_nothing_gets_equal_shares() -> None:
    assert cap_shares([plan("0", "0")] * 3, Decimal(1)) == [Decimal("0.333333")] * 3


def test_a_part_is_never_rounded_up() -> None:
    assert split(Decimal("0.000002"), [Decimal(1), Decimal(2)]) == [Decimal(0), Decimal("0.000001")]


def entry(task: str, estimate: str = "0.1", **asked: Any) -> PortfolioTask:
    return PortfolioTask(Request(task, "dev", ["x", "y"], **asked), plan(estimate, "9", task))


def baked(task: str, state: BakeOffState, *, spent: str = "0.2", n_done: int = 50) -> BakeOffResult:
    return BakeOffResult(
        id=7 if task == "a" else 8,
        task=task,
        eval_set="dev",
        scorer="strict_substring",
        grader=None,
        seed=0,
        samples=1,
        state=state,
        spent_usd=Decimal(spent),
        cap_usd=Decimal(1),
        saved_usd=Decimal(0),
        calls=Calls(),
        runs=(),
        comparisons=(),
        kappa=(),
        warnings=(),
        next=(),
        n_jobs=100,
        n_done=n_done,
    )


def test_after_the_last_task_all_of_them_may_be_looked_at_again() -> None:
    results = [baked("a", "concluded"), baked("b", "concluded")]
    assert next_commands(results, [entry("a"), entry("b")]) == ["evalq frontier 7,8"]
    assert next_commands(results[:1], [entry("a")]) == []
    assert next_commands([], []) == []


def test_a_paused_task_and_those_not_started_go_on_under_what_is_left_of_the_cap() -> None:
    entries = [entry("a", "0.2"), entry("b", "0.1"), entry("c", "0.2")]
    resume, start = next_commands([baked("a", "paused")], entries)
    # 0.80 is left: a quarter for the open half of a, three for b and c.
    assert resume == "evalq resume 7 --max-cost-usd 0.40"
    rest = "evalq bake-off --task b,c --eval-set b=dev,c=dev --judges x,y"
    assert start == f"{rest} --max-cost-usd 0.60"


def test_a_task_paused_last_keeps_its_cap() -> None:
    commands = next_commands([baked("a", "concluded"), baked("b", "paused")], [entry("a"), entry("b")])
    assert commands == ["evalq resume 8", "evalq frontier 7,8"]


def test_what_stopped_at_the_cap_needs_a_higher_one() -> None:
    commands = next_commands([baked("a", "capped")], [entry("a"), entry("b")])
    assert commands[0] == "evalq resume 7 --max-cost-usd 2.00"
    assert commands[1] == "evalq bake-off --task b --eval-set dev --judges x,y"


def test_the_rest_is_asked_for_as_it_was() -> None:
    asked: dict[str, Any] = {
        "scorer": "llm_judge",
        "grader_model": "sonnet 4",
        "samples": 3,
        "seed": 5,
        "allow_unpriced": True,
        "look": "final-decision",
    }
    (command,) = next_commands([], [entry("b", **asked)])
    assert command == (
        "evalq bake-off --task b --eval-set dev --judges x,y --scorer llm_judge --grader-model 'sonnet 4' "
        "--samples 3 --seed 5 --allow-unpriced --final-decision"
    )
