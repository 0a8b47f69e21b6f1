"""Dollars summed by judge and by day, and what may have been billed."""

from datetime import date
from decimal import Decimal
from typing import Any

from evalq.store.calls import DayCost
from evalq.web.cost_page import make_table


def cost(day: int, judge: str, purpose: Any = "answer", usd: str = "1", unknown: int = 0) -> DayCost:
    return DayCost(date(2030, 1, day), "openai", judge, purpose, 2, unknown, Decimal(usd), Decimal(0))


def test_costs_are_summed_over_days_dearest_first() -> None:
    table = make_table([cost(1, "a"), cost(2, "a"), cost(2, "b", usd="5"), cost(2, "a", "grade", unknown=1)])
    assert [(line.judge, line.purpose, line.calls, line.cost_usd) for line in table.lines] == [
        ("b", "answer", 2, 5),
        ("a", "answer", 4, 2),
        ("a", "grade", 2, 1),
    ]
    assert table.days == [(date(2030, 1, 2), 7), (date(2030, 1, 1), 1)]
    assert (table.total_usd, table.unknown) == (8, 1)


def test_nothing_spent_is_nothing() -> None:
    table = make_table([])
    assert (list(table.lines), list(table.days), table.total_usd) == ([], [], 0)
