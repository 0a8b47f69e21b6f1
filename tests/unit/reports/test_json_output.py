"""JSON shows every language and nothing a terminal would obey."""

import json

from evalq.reports.json_output import json_line, json_text


def test_letters_of_every_language_stay_as_they_are() -> None:
    assert json_text({"text": "mười quả trứng, größer"}) == '{\n  "text": "mười quả trứng, größer"\n}'
    assert json_line({"a": "ß"}) == '{"a": "ß"}\n'


def test_what_a_terminal_would_obey_is_escaped_and_nothing_is_lost() -> None:
    hostile = "a\x1b[31m\x7f\x9b31m\u202eb\u2066\u2028\ud800"
    text = json_text([hostile])
    assert json.loads(text) == [hostile]
    assert all(32 <= ord(char) < 127 or char == "\n" for char in text)
