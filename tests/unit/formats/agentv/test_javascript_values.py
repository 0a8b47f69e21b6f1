"""Expected values were printed by Node.js."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.formats.agentv.javascript_values import (
    UNDEFINED,
    as_json,
    as_number,
    as_text,
    is_truthy,
    join,
    yaml_value,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5, "5"),
        (5.0, "5"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (100.0, "100"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345678901, "123456789012345680000"),
        (2**53 + 1, "9007199254740992"),
        (-3.25e-9, "-3.25e-9"),
        (-1.25, "-1.25"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        pytest.param(10**400, "Infinity", id="huge"),
        pytest.param(-(10**400), "-Infinity", id="minus-huge"),
    ],
)
def test_a_number_is_written_as_javascript_writes_it(number: float, text: str) -> None:
    assert as_number(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(number: float) -> None:
    assert float(as_number(number)) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (UNDEFINED, "undefined"),
        (None, "null"),
        (True, "true"),
        (0.5, "0.5"),
        ([1, None, "a", [2, [3]], UNDEFINED, {}], "1,,a,2,3,,[object Object]"),
        ({"a": 1}, "[object Object]"),
        ([], ""),
    ],
)
def test_a_value_in_a_template_is_written_as_javascript_writes_it(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_joined_values_leave_nothing_empty() -> None:
    assert join([0, None, False, ""], "-") == "0--false-"


@pytest.mark.parametrize("value", [UNDEFINED, None, False, 0, -0.0, ""])
def test_nothing_is_false(value: Any) -> None:
    assert not is_truthy(value)


@pytest.mark.parametrize("value", [[], {}, "0", True, -1, 0.5])
def test_all_else_is_true(value: Any) -> None:
    assert is_truthy(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "10": 2, "2": 3, "a": [True, None]}, '{"2":3,"10":2,"b":1,"a":[true,null]}'),
        (
            {"-1": 1, "01": 2, "4294967295": 3, "4294967294": 4},
            '{"4294967294":4,"-1":1,"01":2,"4294967295":3}',
        ),
        ("é\n\u2028\x7f", '"é\\n\u2028\x7f"'),
        (1.0, "1"),
        pytest.param(10**400, "null", id="huge"),
        ({}, "{}"),
    ],
)
def test_json_is_written_as_javascript_writes_it(value: Any, text: str) -> None:
    assert as_json(value) == text


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("007", 7),
        ("-08", -8),
        ("+5", 5),
        ("00.50", 0.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("01e2", 100.0),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("yes", "yes"),
        ("", None),
        ("~", None),
        ("TRUE", True),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        ("e5", "e5"),
    ],
)
def test_a_plain_word_means_what_yaml_1_2_says(word: str, value: Any) -> None:
    found = yaml_value(word)
    assert (type(found), found) == (type(value), value)
