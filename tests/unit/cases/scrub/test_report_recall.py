"""The shipped set is large, in three languages and of every kind, and the detectors find what is marked."""

from collections import Counter

import pytest

from evalq.cases.scrub import DETECTORS
from evalq.cases.scrub.report import MarkedText, load_marked, measure_recall
from evalq.cases.scrub.span import Kind, Span
from evalq.summary.rates import share_of

# Found by their form alone; addresses and passwords are known by words, as far as these go.
STRUCTURED = sorted(set(DETECTORS) - {"address", "secret"})

TEXTS = load_marked()
RECALL = measure_recall(TEXTS)


def test_the_set_has_a_hundred_and_fifty_values_and_sixty_harmless_texts() -> None:
    assert sum(len(one.spans) for one in TEXTS) >= 150
    assert RECALL.harmless >= 60
    assert RECALL.texts == len(TEXTS)


def test_every_kind_is_in_it_and_most_in_every_language() -> None:
    langs = {
        kind: {one.lang for one in TEXTS for span in one.spans if span.kind == kind} for kind in DETECTORS
    }
    assert all(langs.values())
    assert Counter(len(found) for found in langs.values())[3] >= 12
    assert {one.lang for one in TEXTS if not one.spans} == {"EN", "DE", "VN"}


def test_no_text_is_there_twice_and_no_mark_is_left_in_one() -> None:
    assert len({one.text for one in TEXTS}) == len(TEXTS)
    assert not any(sign in one.text for one in TEXTS for sign in ("⟦", "⟧", "~~"))


@pytest.mark.parametrize("kind", STRUCTURED)
def test_of_a_structured_kind_nineteen_in_twenty_are_found(kind: Kind) -> None:
    share = RECALL.recall[kind]
    assert share.k / share.n >= 0.95


def test_over_all_kinds_nineteen_in_twenty_are_found_and_right() -> None:
    recall, precision = RECALL.overall_recall, RECALL.overall_precision
    assert recall.k / recall.n >= 0.95
    assert precision.k / precision.n >= 0.95
    assert RECALL.false_alarms <= 3


def test_a_value_counts_as_found_only_by_its_own_kind_and_as_a_whole() -> None:
    text = "a@b.example and 203.0.113.7 and more"
    spans = (Span(0, 11, "email"), Span(16, 32, "ip"), Span(32, 35, "phone"))
    found = measure_recall([MarkedText("EN", text, spans), MarkedText("EN", "c@d.example", ())])
    assert (found.recall["email"], found.recall["ip"]) == (share_of(1, 1), share_of(0, 1))
    assert (found.precision["email"], found.precision["ip"]) == (share_of(1, 2), share_of(1, 1))
    assert found.missed == (("ip", "203.0.113.7 and "), ("phone", "mor"))
    assert (found.harmless, found.false_alarms) == (1, 1)


def test_every_rate_has_its_n_and_its_interval() -> None:
    document = RECALL.document()
    for share in (document["recall"], document["precision"], document["kinds"]["phone"]["recall"]):
        assert 0 <= share["ci_low"] <= share["rate"] <= share["ci_high"] <= 1
        assert share["n"] > 0
    assert measure_recall([]).document()["recall"] == {"k": 0, "n": 0, "rate": None}
