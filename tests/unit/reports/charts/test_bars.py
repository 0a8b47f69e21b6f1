"""Bars of intervals: the axis, the words, judges without a rate."""

from evalq.reports.charts import AgreementRow, BarRow, agreement_chart, interval_bars


def test_wide_intervals_share_the_axis_from_0_to_100() -> None:
    svg = interval_bars([BarRow("a", 0.83, 0.74, 0.89, 93)])
    assert ">0%<" in svg
    assert ">100%<" in svg
    assert "zoomed" not in svg


def test_thin_intervals_zoom_the_axis_and_say_so() -> None:
    svg = interval_bars([BarRow("a", 0.87, 0.866, 0.874, 12_500), BarRow("b", 0.86, 0.856, 0.864, 12_500)])
    assert "zoomed: the axis runs from" in svg
    assert ">100%<" not in svg


def test_thin_intervals_far_apart_keep_the_whole_axis() -> None:
    svg = interval_bars([BarRow("a", 0.9, 0.896, 0.904, 12_500), BarRow("b", 0.1, 0.096, 0.104, 12_500)])
    assert "zoomed" not in svg


def test_a_rate_carries_its_interval_and_n() -> None:
    assert "83.0% · 74–89 · n=93" in interval_bars([BarRow("a", 0.83, 0.74, 0.89, 93)])


def test_an_excluded_judge_has_its_reason_instead_of_a_bar() -> None:
    svg = interval_bars([BarRow("a", None, None, None, 0, "93 of 93 answers empty")])
    assert "! 93 of 93 answers empty" in svg
    assert "ch-range" not in svg


def test_agreement_below_chance_widens_the_axis() -> None:
    svg = agreement_chart([AgreementRow("people", -0.2, -0.7, 0.1, 20)])
    assert ">−1.0<" in svg
    assert "−0.20 · [−0.70, 0.10] · n=20" in svg


def test_agreement_of_a_constant_rater_is_not_a_number() -> None:
    svg = agreement_chart([AgreementRow("people", None, None, None, 9)])
    assert "n/a (constant)" in svg


def test_agreement_without_an_interval_is_a_line() -> None:
    assert "0.50 · –" in agreement_chart([AgreementRow("people", 0.5, None, None, 9)])
