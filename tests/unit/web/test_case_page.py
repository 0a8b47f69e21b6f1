"""The texts of a case as the inspector lists them: named, cut where they are too long."""

from evalq.web.case_page import MOST_SHOWN, list_texts


def test_every_input_is_listed_by_its_name() -> None:
    assert list_texts({"q": "why?", "n": 3, "list": ["ü"]}) == [
        ("q", "why?", 0),
        ("n", "3", 0),
        ("list", '[\n "ü"\n]', 0),
    ]


def test_an_expectation_may_be_a_plain_value_or_missing() -> None:
    assert list_texts("Hanoi") == [("", "Hanoi", 0)]
    assert list_texts(None) == []


def test_a_long_text_says_how_much_is_cut_off() -> None:
    ((_, text, cut),) = list_texts("x" * (MOST_SHOWN + 7))
    assert (len(text), cut) == (MOST_SHOWN, 7)
