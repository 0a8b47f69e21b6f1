"""Heatmaps: a number in every cell, hatching where it must not be read."""

from evalq.reports.charts import kappa_heatmap, strata_heatmap
from evalq.results import Agreement

from .conftest import stratified_run


def test_cells_with_fewer_than_ten_cases_are_hatched_and_marked() -> None:
    svg = strata_heatmap([stratified_run("a", {"few": 9, "enough": 10})])
    assert svg.count('fill="url(#') == 1
    assert "80 / 9!" in svg
    assert "80 / 10<" in svg


def test_a_stratum_a_judge_lacks_is_not_zero() -> None:
    svg = strata_heatmap([stratified_run("a", {"EN": 20}), stratified_run("b", {"DE": 20})])
    assert svg.count(">n/a<") == 2


def test_long_headings_are_slanted_and_cut() -> None:
    svg = strata_heatmap([stratified_run("a", {"negative_with_a_very_long_name": 20})])
    assert "rotate(-35)" in svg
    assert "negative_with_a_very_…" in svg
    assert "<title>negative_with_a_very_long_name</title>" in svg


def test_kappa_stands_on_both_sides_of_the_diagonal() -> None:
    svg = kappa_heatmap([Agreement("a", "b", 93, 0.52, 0.6, False)])
    assert svg.count(">0.52<") == 2


def test_kappa_of_a_constant_judge_is_not_applicable() -> None:
    svg = kappa_heatmap([Agreement("a", "b", 93, None, 0.6, True)])
    assert svg.count(">n/a<") == 2


def test_a_flag_has_a_sign_and_its_meaning_below() -> None:
    svg = kappa_heatmap([Agreement("a", "b", 93, 0.66, 0.7, False, "same_provider")])
    assert ">0.66!<" in svg
    assert "! same provider, do not count as two votes" in svg


def test_agreement_below_chance_is_orange() -> None:
    assert 'class="ch-bad"' in kappa_heatmap([Agreement("a", "b", 93, -0.3, -0.2, False)])


def test_very_many_pairs_are_told_in_part() -> None:
    pairs = [Agreement(f"j{a}", f"j{b}", 9, 0.1, 0.1, False) for a in range(13) for b in range(a)]
    assert "and 18 more" in kappa_heatmap(pairs)
