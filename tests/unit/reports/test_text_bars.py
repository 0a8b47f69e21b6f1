from hypothesis import given
from hypothesis import strategies as st

from evalq.reports.text import interval_bar, progress_bar, to_ascii

SHARE = st.floats(min_value=0, max_value=1)
WIDTH = st.integers(min_value=1, max_value=60)


def test_the_interval_is_drawn_where_it_lies_on_the_axis() -> None:
    assert interval_bar(0.70, 0.83, 0.92, 18) == "············──●──·"
    assert to_ascii(interval_bar(0.40, 0.60, 0.80, 10)) == "....--o--."


def test_the_ends_of_the_axis_are_on_it() -> None:
    assert interval_bar(0.0, 0.0, 0.4, 5) == "●──··"
    assert interval_bar(0.6, 1.0, 1.0, 5) == "···─●"


@given(st.lists(SHARE, min_size=3, max_size=3).map(sorted), WIDTH)
def test_an_interval_always_has_its_width_and_its_point(shares: list[float], width: int) -> None:
    bar = interval_bar(*shares, width)
    assert len(bar) == width
    assert bar.count("●") == 1


def test_progress_is_full_only_at_the_end() -> None:
    assert progress_bar(0.66, 6) == "━━━╌╌╌"
    assert progress_bar(0.999, 6) == "━━━━━╌"
    assert progress_bar(1.0, 6) == "━" * 6
    assert progress_bar(1.7, 3) == "━━━"
    assert progress_bar(-1, 3) == "╌╌╌"
