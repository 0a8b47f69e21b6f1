"""Dollars against quality as a person, and as a program, reads it."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.reports.frontier import plain_heading, render_frontier, render_plain_frontier
from evalq.results import BakeOffResult, Frontier, LeftOut, Offer, PortfolioResult


def offer(judge: str, accuracy: float, cost: str, **more: Any) -> Offer:
    facts = {"on_frontier": True, "dominated_by": None, "not_separable_from": (), **more}
    numbers = (accuracy, accuracy - 0.1, accuracy + 0.1)
    return Offer(judge, 93, 93, *numbers, "wilson", Decimal(cost), Decimal(cost) * 93, **facts)


@pytest.fixture
def portfolio(result: BakeOffResult) -> PortfolioResult:
    """Two tasks: three judges on the first, one of them on the second."""
    offers = (
        offer("haiku", 0.6, "0.0001"),
        offer("grok", 0.8, "0.002", not_separable_from=("haiku",)),
        offer("opus", 0.7, "0.01", on_frontier=False, dominated_by="grok"),
    )
    other = replace(result, id=143, task="mail_classify", eval_set="dev-30")
    return PortfolioResult(
        (result, other),
        ("voice",),
        Frontier(
            {"knowledge_audit": offers, "mail_classify": ()},
            (offer("grok", 0.75, "0.003"),),
            (),
            (LeftOut("knowledge_audit", "gemini", "93/93 empty outputs"),),
        ),
        Decimal(5),
        ("not started: voice",),
        ("evalq frontier 142,143",),
    )


def test_each_task_has_a_table_cheapest_first_and_overall_comes_last(
    portfolio: PortfolioResult, show: Callable[..., str]
) -> None:
    lines = show(render_frontier(portfolio, width=100)).splitlines()
    heads = [line for line in lines if line.startswith("frontier")]
    assert heads == [
        "frontier  knowledge_audit · dev-93",
        "frontier  mail_classify · dev-30",
        "frontier  overall · mean of 2 tasks, each weighing the same",
    ]
    assert lines[3].split() == ["●", "haiku", "60.0%", "50–70", "0.0001", "93"]
    assert lines[4].startswith("●=  grok")
    assert lines[4].endswith("cannot be told from haiku, which is cheaper")
    assert lines[5].startswith("·   opus")
    assert lines[5].endswith("no better than grok, and no cheaper")
    assert "no judge has a rate and a price here" in lines


def test_what_is_left_out_and_what_was_spent_stand_below(
    portfolio: PortfolioResult, show: Callable[..., str]
) -> None:
    text = show(render_frontier(portfolio, width=100))
    assert "! gemini left out on knowledge_audit: 93/93 empty outputs" in text
    assert "! not started: voice" in text
    assert text.rstrip().endswith("$ 1.94 of 5.00 cap")


def test_bake_offs_not_run_together_have_no_cap_in_common(
    portfolio: PortfolioResult, show: Callable[..., str]
) -> None:
    apart = replace(portfolio, cap_usd=None)
    assert show(render_frontier(apart, width=100)).rstrip().endswith("$ 1.94 spent")
    assert apart.to_dict()["cap_usd"] is None


def test_a_narrow_terminal_keeps_the_marks_and_the_numbers(
    portfolio: PortfolioResult, show: Callable[..., str]
) -> None:
    lines = show(render_frontier(portfolio, width=50, ascii_only=True), 50).splitlines()
    assert lines[4].split() == ["o=", "grok", "80.0%", "70-90", "0.0020", "93"]
    assert max(map(len, lines)) <= 50


def test_one_task_alone_has_no_overall(portfolio: PortfolioResult, show: Callable[..., str]) -> None:
    offers = portfolio.frontier.per_task["knowledge_audit"]
    alone = replace(
        portfolio,
        bakeoffs=portfolio.bakeoffs[:1],
        frontier=replace(portfolio.frontier, per_task={"knowledge_audit": offers}),
    )
    assert "overall" not in show(render_frontier(alone, width=100))
    assert "overall" not in render_plain_frontier(alone)


def test_a_pipe_gets_one_row_per_task_and_judge(portfolio: PortfolioResult) -> None:
    head, *rows = render_plain_frontier(portfolio).splitlines()
    fields = [dict(zip(head.split("\t"), row.split("\t"), strict=False)) for row in rows]
    assert [(each["task"], each["judge"]) for each in fields[:4]] == [
        ("knowledge_audit", "haiku"),
        ("knowledge_audit", "grok"),
        ("knowledge_audit", "opus"),
        ("overall", "grok"),
    ]
    assert fields[1]["not_separable_from"] == "haiku"
    assert (fields[2]["on_frontier"], fields[2]["dominated_by"]) == ("no", "grok")
    assert fields[0] == {
        "task": "knowledge_audit",
        "judge": "haiku",
        "pass_pct": "60.0",
        "ci_low": "50.0",
        "ci_high": "70.0",
        "usd_per_case": "0.0001",
        "n": "93",
        "on_frontier": "yes",
        "dominated_by": "-",
        "not_separable_from": "-",
    }
    assert [row.split("\t")[0] for row in rows[4:]] == ["# excluded", "# warning", "# cost"]


def test_a_tasks_own_table_in_a_pipe_is_headed_by_its_name(result: BakeOffResult) -> None:
    assert plain_heading(result) == "# bake-off\t142\tknowledge_audit\tdev-93"


def test_hostile_names_stay_text(
    portfolio: PortfolioResult, show: Callable[..., str], hostile: str, forbidden: frozenset[str]
) -> None:
    offers = (offer(hostile, 0.5, "0.1", not_separable_from=(hostile,)),)
    bad = replace(
        portfolio,
        frontier=replace(portfolio.frontier, overall=offers, excluded=(LeftOut("t", hostile, hostile),)),
    )
    assert not forbidden & set(show(render_frontier(bad, width=100)))
    assert not forbidden & set(render_plain_frontier(bad))


def test_the_document_has_every_bake_off_and_money_as_text(portfolio: PortfolioResult) -> None:
    document = portfolio.to_dict()
    assert (document["schema"], document["spent_usd"], document["cap_usd"]) == (
        "evalq.portfolio/1",
        "1.94",
        "5.00",
    )
    assert [task["schema"] for task in document["tasks"]] == ["evalq.bakeoff/1"] * 2
    assert (document["not_started"], document["next"]) == (["voice"], ["evalq frontier 142,143"])
    assert document["frontier"]["per_task"]["knowledge_audit"][0]["usd_per_case"] == "0.0001"
    assert document["frontier"]["overall"][0]["judge"] == "grok"
    assert document["frontier"]["excluded"] == [
        {"task": "knowledge_audit", "judge": "gemini", "reason": "93/93 empty outputs"}
    ]
