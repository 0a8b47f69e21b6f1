"""The report and the diff: everything that was replaced, where it stood, and no value."""

import json

from evalq.cases.scrub.report import KindCount, make_report, render_diff
from evalq.cases.scrub.scrub import Pseudonyms, ScrubbedRow, scrub_row


def rows(*texts: str) -> list[ScrubbedRow]:
    pseudonyms = Pseudonyms()
    return [scrub_row({"text": text}, pseudonyms, line=line) for line, text in enumerate(texts, start=2)]


def test_the_report_counts_values_different_values_and_rows() -> None:
    report = make_report(rows("a@b.example a@b.example", "a@b.example c@d.example 203.0.113.7", "nothing"))
    assert report.counts() == [KindCount("email", 4, 2, 2), KindCount("ip", 1, 1, 1)]


def test_the_report_says_where_and_never_what() -> None:
    document = make_report(rows("x", "see a@b.example")).document()
    assert document["where"] == [
        {"line": 3, "field": "text", "kind": "email", "stand_in": "[email-1]", "shown": "a…(11)"}
    ]
    assert "a@b" not in json.dumps(document)


def test_a_key_that_looks_personal_is_a_warning() -> None:
    report = make_report([scrub_row({"a@b.example": "x"}, Pseudonyms(), line=7)])
    assert report.warnings() == ["line 7: the key a…(11) looks like email; keys are left as they are"]


def test_the_diff_shows_the_lines_that_changed_masked_on_one_side() -> None:
    diff = render_diff(rows("same\nto a@b.example\nsame"), before="prod.csv", after="set.yaml")
    assert diff == "--- prod.csv\n+++ set.yaml\n@@ -2 +2 @@ text\n-to ‹a…(11)›\n+to [email-1]\n"


def test_a_value_over_several_lines_is_one_line_of_the_diff() -> None:
    block = "-----BEGIN " + "PRIVATE KEY-----\nFAKE0000FAKE0000\n-----END PRIVATE KEY-----"
    diff = render_diff(rows(f"key {block} end\nmore a@b.example"), before="b", after="a")
    assert diff.splitlines()[3:] == [
        f"-key ‹-…({len(block)})› end",
        "+key [private-key-1] end",
        "-more ‹a…(11)›",
        "+more [email-1]",
    ]


def test_of_a_long_text_only_what_is_near_a_change_is_shown() -> None:
    diff = render_diff(rows("x" * 5_000 + " a@b.example " + "y" * 5_000), before="b", after="a")
    assert "-" + " … " + "x" * 79 + " ‹a…(11)› " + "y" * 79 + " … " in diff.splitlines()


def test_rows_without_a_change_make_no_diff() -> None:
    assert render_diff(rows("nothing", "at all"), before="b", after="a") == ""
