"""The arithmetic of the ledger."""

from evalq.engines.simulator.ledger import Ledger, LedgerEntry


def entry(seq: int = 1, *, model: str = "m", key: str = "k", billed: bool = True) -> LedgerEntry:
    tokens = (10, 2) if billed else (0, 0)
    return LedgerEntry(seq, float(seq), model, "openai", key, billed, None, *tokens, 200)


def test_requests_and_bills_are_counted_by_model_and_by_key() -> None:
    ledger = Ledger()
    for one in (entry(1), entry(2), entry(3, billed=False), entry(4, model="n", key="l")):
        ledger.open(one)
    document = ledger.document()
    assert (document["requests"], document["billed"]) == (4, 3)
    assert (document["input_tokens"], document["output_tokens"]) == (30, 6)
    assert document["by_key"] == {"k": 2, "l": 1}
    assert document["by_model"]["m"]["requests"] == 3
    assert document["by_model"]["m"]["billed"] == 2
    assert document["by_model"]["n"]["input_tokens"] == 10
    assert (document["first_at"], document["last_at"]) == (1.0, 4.0)


def test_the_peak_is_the_most_that_were_open_at_once() -> None:
    ledger = Ledger()
    first, second = ledger.open(entry(1)), ledger.open(entry(2, model="n"))
    first.close()
    third = ledger.open(entry(3))
    assert ledger.document()["in_flight"] == 2
    second.close()
    third.close()
    document = ledger.document()
    assert document["in_flight"] == 0
    assert document["peak_in_flight"] == 2
    assert [document["by_model"][name]["peak_in_flight"] for name in "mn"] == [1, 1]


def test_an_empty_ledger_has_no_times() -> None:
    document = Ledger().document()
    assert (document["requests"], document["first_at"], document["last_at"]) == (0, None, None)
    assert Ledger().calls() == []


def test_calls_are_listed_after_a_number() -> None:
    ledger = Ledger()
    for seq in range(1, 6):
        ledger.open(entry(seq))
    assert [call["seq"] for call in ledger.calls(since=3)] == [4, 5]
    assert len(ledger.calls()) == 5
    assert ledger.calls(since=5) == []
    assert set(ledger.calls()[0]) == set(LedgerEntry._fields)


def test_only_the_last_calls_are_kept_but_all_are_counted() -> None:
    ledger = Ledger(kept=100)
    for seq in range(1, 111):
        ledger.open(entry(seq)).close()
    assert ledger.document()["requests"] == 110
    assert [ledger.calls()[i]["seq"] for i in (0, -1)] == [11, 110]
    assert [call["seq"] for call in ledger.calls(since=108)] == [109, 110]
    assert len(ledger.calls(since=3)) == 100
