"""How the list says what state a bake-off is in: always a sign and a word."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from evalq.store.bakeoff_lists import BakeOffLine
from evalq.web.run_list import STATES, describe_state


def line(state: Any, *, is_partial: bool = False) -> BakeOffLine:
    n_done = None if state == "concluded" else 3
    numbers = (Decimal(1), Decimal(5), datetime.now(UTC), 10, n_done, is_partial)
    return BakeOffLine(7, "task", "set", None, "bake-off", state, *numbers, "a", None, 0.8, 0.7, 0.9, 10)


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_a_sign_and_words(state: str) -> None:
    sign, words, kind = describe_state(line(state))
    assert sign
    assert words
    assert kind in ("good", "bad")


def test_a_partial_result_is_not_called_done_alone() -> None:
    assert describe_state(line("concluded")) == ("✓", "done", "good")
    assert describe_state(line("concluded", is_partial=True)) == ("!", "done, partial", "bad")


def test_what_is_on_its_way_or_stopped_says_how_far_it_is() -> None:
    assert describe_state(line("running"))[1] == "running 3/10"
    assert describe_state(line("capped")) == ("!", "capped 3/10", "bad")
