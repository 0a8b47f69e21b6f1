"""Regular expressions are checked when they are loaded, and mean what they mean to Python."""

import re

import pytest

from evalq.definitions.regexes import MAX_PATTERN_CHARS, check_regex, compile_regex, read_flags


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        ("(", "not a regular expression: missing ), unterminated subpattern at position 0; use the syntax"),
        (r"\p{L}", r"not a regular expression: bad escape \p at position 0; use the syntax"),
        ("a{3}{3}", "not a regular expression: multiple repeat at position 4; use the syntax"),
        ("a{99999999999}", "not a regular expression: the repetition number is too large; use the syntax"),
        ("x" * (MAX_PATTERN_CHARS + 1), "longer than 5,000 characters; split it"),
        ("(?:" * 2_000 + ")" * 2_000, "longer than 5,000 characters; split it"),
        ("(?:" * 1_200 + ")" * 1_200, "nested too deep; write it flatter"),
        ("a[[", "not a regular expression: a set that does not end; write ] behind it"),
        ("[[:alpha:]]", "the set [[:alpha:] is ambiguous; put a backslash before"),
        ("[^[:alpha:]]", "the set [^[:alpha:] is ambiguous; put a backslash before"),
        ("[a||b]", "the set [a||b] is ambiguous; put a backslash before"),
    ],
)
def test_what_is_no_regular_expression_is_refused(pattern: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:(?:ab){1000}){1000}",
        "(?:a{60000}b){100}",
        "(?:" * 16 + "ab" + "){2}" * 16,
        "(?:" * 20 + "ab" + ")+" * 20,
        "(?:" * 40 + "a?b?" + "){1,2}" * 40,
        "(" * 12 + "[ab]c" + "){2,}" * 12,
        "(?x)(?:" + "(?:" * 15 + "a # )))\n" + "){2}" * 15 + ")",
    ],
)
def test_repeats_that_no_engine_could_hold_are_refused(pattern: str) -> None:
    with pytest.raises(
        ValueError, match="its nested repeats multiply to too many; lower the counts in braces"
    ):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["a{65535}", "(?:ab){0,65535}", "(?:" * 14 + "ab" + ")+" * 14, "|".join(f"w{i}" for i in range(700))],
)
def test_what_an_engine_can_hold_compiles(pattern: str) -> None:
    check_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a{e<=1}", "a{e<=1}", True),
        ("a{e<=1}", "b", False),
        ("{name}", "{name}", True),
        (r"\N{BULLET}{2}", "••", True),
        ("[]{i}]{2}", "]i", True),
        ("(?P<x>a)(?P=x)(?#{e}comment)", "aa", True),
        ("(a)?(?(1)b|c){2}", "abb", True),
        ("(?i:A)(?<=a)b(?!c)", "ab", True),
        ("(?x) a [#] # {e} (\n {e}", "a#{e}", True),
        ("(?x:a # [\n){2}", "aa", True),
        (r"\d+$", "٣\n", True),
    ],
)
def test_a_pattern_is_read_as_python_reads_it(pattern: str, text: str, found: bool) -> None:
    assert (compile_regex(pattern).search(text) is not None) is found
    assert (re.search(pattern, text) is not None) is found


def test_flags_are_names_or_letters() -> None:
    assert read_flags("imsxa") == ["ignorecase", "multiline", "dotall", "verbose", "ascii"]
    assert read_flags("gu") == []
    assert read_flags("dotall") == ["dotall"]
    assert read_flags(["DOTALL", 3]) == ["dotall", 3]
    with pytest.raises(ValueError, match="no flag is called 'y'; write a list of ignorecase"):
        read_flags("iy")


def test_flags_change_what_is_found() -> None:
    assert compile_regex("^b # end", ("verbose", "multiline", "ignorecase")).search("a\nB") is not None
