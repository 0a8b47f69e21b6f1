"""From decisions to rates, confusion and collisions."""

from decimal import Decimal

import pytest

from evalq.formats.skills.measure import (
    JudgeDecisions,
    build_questions,
    compute_confusions,
    compute_rates,
    find_collisions,
)
from evalq.formats.skills.result import TriggersResult
from evalq.formats.skills.skill_files import SkillQuery as Query
from evalq.formats.skills.trigger_cases import Skill
from evalq.stats import wilson
from evalq.summary.rates import share_of

A, B = Skill("a", "does a"), Skill("b", "does b")
SHOULD, SHOULD_NOT = build_questions([A], [Query("a", "yes", True), Query("a", "no", False)])


def said(ask: object, *words: str | None, judge: str = "j") -> JudgeDecisions:
    return JudgeDecisions(ask, judge, words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "rate", "passed"),
    [
        (("YES", "YES", "NO"), 2 / 3, True),
        (("YES", "NO", "NO"), 1 / 3, False),
        (("YES", "NO"), 0.5, True),
        (("YES", None, None), 1.0, True),
        ((None, None), None, None),
        ((), None, None),
    ],
)
def test_a_request_that_should_trigger_does_so_in_half_its_runs(
    words: tuple[str | None, ...], rate: float | None, passed: bool | None
) -> None:
    (found,) = compute_rates([said(SHOULD, *words)], 0.5)
    assert (found.rate.rate, found.passed, found.errors) == (rate, passed, words.count(None))


def test_a_request_that_should_not_stays_under_the_threshold() -> None:
    half = said(SHOULD_NOT, "YES", "NO")
    assert [compute_rates([half], at)[0].passed for at in (0.5, 0.6)] == [False, True]


def test_a_rate_has_wilsons_interval() -> None:
    found = share_of(2, 3)
    assert (found.ci_low, found.ci_high) == tuple(wilson(2, 3))
    assert share_of(0, 0).rate is None


def test_confusion_counts_requests_not_runs() -> None:
    queries = [Query("a", f"yes{i}", True) for i in range(3)] + [
        Query("a", f"no{i}", False) for i in range(2)
    ]
    words = [("YES", "YES"), ("YES", "YES"), ("NO", "NO"), ("YES", "YES"), (None, None)]
    decided = [said(ask, *word) for ask, word in zip(build_questions([A], queries), words, strict=True)]
    (found,) = compute_confusions(compute_rates(decided, 0.5))
    assert (found.tp, found.fp, found.fn, found.tn) == (2, 1, 1, 0)
    assert (found.precision.k, found.precision.n) == (2, 3)
    assert (found.recall.k, found.recall.n) == (2, 3)
    assert (found.accuracy.k, found.accuracy.n) == (2, 4)


def test_several_skills_have_a_confusion_each() -> None:
    asks = build_questions([A, B], [Query("a", "x", True), Query("b", "y", True)])
    rates = compute_rates([said(ask, "YES", judge=judge) for ask in asks for judge in "jk"], 0.5)
    found = [(one.skill, one.judge, one.tp) for one in compute_confusions(rates)]
    assert found == [
        (None, "j", 2),
        (None, "k", 2),
        ("a", "j", 1),
        ("a", "k", 1),
        ("b", "j", 1),
        ("b", "k", 1),
    ]


def two_skills(on_a: str, on_b: str, *picked: str | None) -> list[JudgeDecisions]:
    """What is said to one request that skill a should get."""
    ask_a, ask_b, which = build_questions([A, B], [Query("a", "q", True)])
    return [said(ask_a, on_a), said(ask_b, on_b), said(which, *picked)]


@pytest.mark.parametrize(
    ("on_a", "on_b", "picked", "kind"),
    [
        ("YES", "NO", ["a", "a", "b"], None),
        ("YES", "NO", ["a", "b"], None),
        ("YES", "NO", [None], None),
        ("YES", "YES", ["a"], "claimed twice"),
        ("YES", "NO", ["b", "b", "a"], "goes elsewhere"),
        ("YES", "NO", ["none"], "goes elsewhere"),
        ("YES", "YES", ["b"], "goes elsewhere"),
    ],
)
def test_skills_collide_when_two_claim_a_request_or_another_gets_it(
    on_a: str, on_b: str, picked: list[str | None], kind: str | None
) -> None:
    found = find_collisions(two_skills(on_a, on_b, *picked), 0.5)
    assert [one.kind for one in found] == ([kind] if kind else [])


def test_a_collision_says_who_claims_and_who_is_picked() -> None:
    (found,) = find_collisions(two_skills("YES", "YES", "b", "b", "a"), 0.5)
    assert (found.should_go_to, found.claimed_by, found.picked) == (("a",), ("a", "b"), {"b": 2, "a": 1})


def test_a_claim_on_another_s_request_is_no_part_of_the_rates() -> None:
    assert [one.skill for one in compute_rates(two_skills("YES", "YES", "a"), 0.5)] == ["a"]


def result_of(
    decided: list[JudgeDecisions], *, state: str = "concluded", partial: bool = False
) -> TriggersResult:
    rates = compute_rates(decided, 0.5)
    found = tuple(find_collisions(decided, 0.5))
    return TriggersResult(
        7,
        state,
        partial,
        3,
        0.5,
        (("a", "does a"),),
        tuple(rates),
        tuple(compute_confusions(rates)),
        found,
        Decimal("0.5"),
    )


def test_how_it_ended_is_in_the_exit_code() -> None:
    fine, wrong, mute = (said(SHOULD, word) for word in ("YES", "NO", None))
    assert result_of([fine]).exit_code == 0
    assert result_of([fine, wrong, mute]).exit_code == 1
    assert result_of([fine, mute]).exit_code == 3
    assert result_of([fine], partial=True).exit_code == 3
    assert result_of([wrong], state="capped").exit_code == 4
    assert result_of(two_skills("YES", "YES", "a")).exit_code == 1


def test_the_document_has_the_words_others_use() -> None:
    document = result_of([said(SHOULD, "YES", "YES", "NO"), said(SHOULD_NOT, None)]).to_dict()
    first = document["results"][0]
    assert (first["query"], first["should_trigger"], first["triggers"], first["runs"]) == ("yes", True, 2, 3)
    assert first["pass"] is True
    assert document["summary"] == {"total": 2, "passed": 1, "failed": 0, "errored": 1}
    assert document["spent_usd"] == "0.50"
    assert set(document["confusion"][0]) >= {"judge", "tp", "fp", "fn", "tn", "precision", "recall"}
