"""What is noted beside accuracy: another version, a slower or dearer provider, nothing when it is alike."""

from evalq.drift.rules import ProviderFacts, compare_provider_facts

BEFORE = [ProviderFacts(("grok-0709",), 900, 0.0020), ProviderFacts(("grok-0709",), 1000, 0.0022)]


def test_alike_is_nothing_to_note() -> None:
    found = compare_provider_facts(BEFORE, ProviderFacts(("grok-0709",), 1100, 0.0021))
    assert found["notes"] == []
    assert found["p50_latency_ms"] == {"from": 950, "to": 1100}


def test_another_version_is_named() -> None:
    found = compare_provider_facts(BEFORE, ProviderFacts(("grok-1101",), 950, 0.0021))
    assert found["notes"] == ["model version grok-0709 → grok-1101"]
    assert found["models"] == {"from": ["grok-0709"], "to": ["grok-1101"]}


def test_slower_and_cheaper_are_both_noted() -> None:
    found = compare_provider_facts(BEFORE, ProviderFacts(("grok-0709",), 1900, 0.0010))
    assert found["notes"] == ["p50 latency 950 ms → 1900 ms", "cost per case $0.002100 → $0.001000"]


def test_what_was_free_and_costs_now_is_noted() -> None:
    found = compare_provider_facts([ProviderFacts((), 10, 0.0)], ProviderFacts((), 10, 0.1))
    assert found["notes"] == ["cost per case $0.000000 → $0.100000"]


def test_without_both_sides_there_is_nothing_to_compare() -> None:
    assert compare_provider_facts([], ProviderFacts((), 1, 1)) == {}
    assert compare_provider_facts(BEFORE, None) == {}
    unknown = compare_provider_facts([ProviderFacts((), None, None)], ProviderFacts(("m",), 5, 0.1))
    assert unknown["notes"] == []
    assert unknown["p50_latency_ms"]["from"] is None
