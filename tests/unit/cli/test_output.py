import json

import pytest

from evalq.cli.output import fit_columns, json_text


def test_letters_of_every_language_stay_as_they_are() -> None:
    assert json_text({"text": "mười quả trứng, größer"}) == '{\n  "text": "mười quả trứng, größer"\n}'


def test_what_a_terminal_would_obey_is_escaped_and_nothing_is_lost() -> None:
    hostile = "a\x1b[31m\x7f\x9b31m\u202eb\u2066\u2028\ud800"
    text = json_text([hostile])
    assert json.loads(text) == [hostile]
    assert all(32 <= ord(char) < 127 or char == "\n" for char in text)


def test_columns_without_room_on_a_terminal_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["1", "x" * 30, "y" * 30, "z" * 30]]
    head = ["id", "a", "b", "c"]
    monkeypatch.setenv("COLUMNS", "80")

    assert fit_columns(head, rows, drop=("c", "b"))[0] == head
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert fit_columns(head, rows, drop=("c", "b")) == (["id", "a", "b"], [["1", "x" * 30, "y" * 30]])
