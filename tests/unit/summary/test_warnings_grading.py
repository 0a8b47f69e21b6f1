"""Whether the order of two answers moves a grader, and whether a panel agrees, with their doubt."""

from typing import Any

import pytest

from evalq.summary.rates import share_of
from evalq.summary.warnings import grading_notes, panel_agreement, position_bias


def pair(straight: str, swapped: str, model: str = "g") -> dict[str, Any]:
    return {"members": [{"model": model, "passed": True, "replies": [straight, swapped]}]}


def panel(*votes: bool | None) -> dict[str, Any]:
    return {
        "members": [
            {"model": name, "error": "silent"} if passed is None else {"model": name, "passed": passed}
            for name, passed in zip("abc", votes, strict=False)
        ]
    }


def test_a_grader_that_minds_the_answers_is_not_biased() -> None:
    [bias] = position_bias([pair("A", "B")] * 5 + [pair("B", "A")] * 5 + [pair("TIE", "TIE")])
    assert (bias.grader, bias.n, bias.inconsistent.k, bias.first.rate) == ("g", 11, 0, 0.5)
    assert not bias.is_biased
    assert str(bias) == "grader g prefers the same answer in either order in all of 11 pairs"


def test_a_grader_that_minds_the_order_is_biased_and_told_on() -> None:
    [bias] = position_bias([pair("A", "A")] * 12 + [pair("A", "B")] * 80 + [pair("B", "TIE")])
    assert (bias.inconsistent.k, bias.prefers_first, bias.prefers_second) == (13, 12, 1)
    assert (bias.first.k, bias.first.n) == (104, 185)
    assert str(bias).startswith(
        "grader g changes its mind with the order in 13 of 93 (14%, 95 % CI 8% to 22%) pairs: "
        "it prefers the first answer in 12 and the second in 1; "
    )


def test_one_place_that_wins_more_than_chance_explains_is_bias() -> None:
    assert position_bias([pair("A", "A")] * 20)[0].is_biased
    assert position_bias([pair("B", "B")] * 20)[0].is_biased
    assert not position_bias([pair("A", "A")])[0].is_biased


def test_every_grader_has_a_bias_of_its_own() -> None:
    found = position_bias([pair("A", "A", "x"), pair("A", "B", "y"), panel(True, False), {}])
    assert [(bias.grader, bias.inconsistent.k) for bias in found] == [("x", 1), ("y", 0)]


def test_ties_alone_leave_no_winner_to_count() -> None:
    [bias] = position_bias([pair("TIE", "TIE")])
    assert (bias.first.n, bias.first.rate, bias.is_biased) == (0, None, False)


def test_a_panel_of_one_mind_agrees_on_all() -> None:
    found = panel_agreement([panel(True, True, True), panel(False, False, False)])
    assert found is not None
    assert (found.graders, found.n, found.unanimous.k, found.pairs, found.alpha) == (
        ("a", "b", "c"),
        2,
        2,
        1.0,
        1.0,
    )


def test_a_panel_that_differs_says_how_far() -> None:
    found = panel_agreement(
        [panel(True, True, False)] * 2 + [panel(True, True, True), panel(True, None, True)]
    )
    assert found is not None
    assert (found.n, found.unanimous.k, found.errors) == (4, 2, {"b": 1})
    assert found.pairs == pytest.approx(6 / 10)
    assert found.alpha is not None
    assert str(found).startswith(
        "panel a, b, c is of one mind on 2 of 4 (50%, 95 % CI 15% to 85%) answers; 60% of"
    )
    assert str(found).endswith("; b had no opinion on 1")


def test_agreement_that_could_not_have_failed_has_no_alpha() -> None:
    found = panel_agreement([panel(True, True), panel(True, True)])
    assert found is not None
    assert found.alpha is None
    assert "alpha" not in str(found)


@pytest.mark.parametrize("details", [[], [{}], [pair("A", "B")], [panel(True, None)]])
def test_without_two_opinions_there_is_nothing_to_agree_on(details: list[dict[str, Any]]) -> None:
    assert panel_agreement(details) is None


def test_a_share_of_nothing_is_unknown() -> None:
    assert str(share_of(0, 0)) == "0 of 0"


def test_the_document_of_a_note_calls_a_rate_a_share() -> None:
    [note] = grading_notes({"quality": [panel(True, True, False)]})
    unanimous = note.numbers["unanimous"]
    assert (unanimous["k"], unanimous["n"], unanimous["share"]) == (0, 1, 0.0)
    assert set(unanimous) == {"k", "n", "share", "ci_low", "ci_high"}
