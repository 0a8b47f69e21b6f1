import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.template import check_template, names_builtin_rubric, render


def test_the_names_of_a_template_come_once_and_in_order() -> None:
    assert check_template("{b} and {a}, {b} again; {{not_this}}") == ("b", "a")


@pytest.mark.parametrize(
    "template",
    [
        "{x.__class__}",
        "{c.__init__.__globals__[SECRET]}",
        "{x[0]}",
        "{x!r}",
        "{x:>1000000}",
        "{x:{y}}",
        "{}",
        "{0}",
        "{ x }",
        "{a-b}",
        '{"json": 1}',
    ],
)
def test_anything_but_a_plain_name_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="is not a plain name; write a name such as"):
        check_template(template)


@pytest.mark.parametrize("template", ["{x", "x}", "{", "}", "{{x}", "{x!}", "{a{b}"])
def test_unbalanced_braces_are_refused(template: str) -> None:
    with pytest.raises(ValueError, match="braces that are text"):
        check_template(template)


def test_values_are_filled_in_once_and_braces_in_them_stay() -> None:
    assert render("{a}{b}", {"a": "{b}", "b": "{{x.__class__}}"}) == "{b}{{x.__class__}}"


def test_doubled_braces_are_braces() -> None:
    assert render('{{"q": "{q}"}}', {"q": "é"}) == '{"q": "é"}'


def test_what_is_not_text_becomes_compact_json() -> None:
    values = {"n": 1, "l": ["ü", None], "d": {"a": True}, "s": '"as it is"'}
    assert render("{n} {l} {d} {s}", values) == '1 ["ü",null] {"a":true} "as it is"'


@given(st.text(alphabet=st.characters(exclude_characters="{}")), st.text())
def test_a_value_arrives_unchanged_between_its_neighbours(around: str, value: str) -> None:
    assert render(around + "{x}" + around, {"x": value}) == around + value + around


def test_a_bare_word_names_a_built_in_rubric() -> None:
    assert names_builtin_rubric("knowledge_audit")
    assert not names_builtin_rubric("Is {answer} right?")
    assert not names_builtin_rubric("")
