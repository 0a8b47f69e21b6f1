from typing import Any

import pytest
import yaml

from evalq.definitions import yaml_text
from evalq.definitions.located import MAX_NODES, MAX_TEXT_BYTES, Tree
from evalq.definitions.yaml_text import load_yaml, plain_value
from evalq.errors import InputError, Problem


def problem_in(text: str) -> Problem:
    with pytest.raises(InputError) as caught:
        load_yaml(text, "f.yaml")
    (problem,) = caught.value.problems
    assert problem.file == "f.yaml"
    assert problem.remedy
    return problem


def test_values_come_with_the_line_of_every_part() -> None:
    located = load_yaml("a: 1\nb:\n  - x\n  - {c: [true, ~]}\n", "f.yaml")
    assert located.value == {"a": 1, "b": ["x", {"c": [True, None]}]}
    assert located.lines[("b",)] == 2
    assert located.lines[("b", 1, "c", 0)] == 4


def test_the_nearest_line_passes_over_tags_and_missing_keys() -> None:
    located = load_yaml("graders:\n  - type: mrr\n    x: 1\n", "f.yaml")
    assert located.line_of(("graders", 0, "mrr", "x")) == 3
    assert located.line_of(("graders", 0, "mrr", "missing")) == 2
    assert located.line_of(("nothing",)) == 1


@pytest.mark.parametrize("text", ["", "# only a comment\n", "~", "---\n"])
def test_an_empty_document_is_none(text: str) -> None:
    assert load_yaml(text, "f.yaml").value is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("NULL", None),
        ("12:30:45", "12:30:45"),
        ("2024-01-31", "2024-01-31"),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        (".5", 0.5),
        ("1_000", "1_000"),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("007", "007"),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
    ],
)
def test_plain_words_mean_what_yaml_1_2_says(word: str, value: Any) -> None:
    assert plain_value(word) == value
    assert type(plain_value(word)) is type(value)


def test_quoted_words_are_always_text() -> None:
    assert load_yaml("['true', \"1\", '~']", "f.yaml").value == ["true", "1", "~"]


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 9))
    problem = problem_in("l0: &l0 [lol]\n" + levels)
    assert (problem.line, problem.message) == (1, "alias or anchor '&l0'")


def test_a_self_reference_is_refused() -> None:
    assert "&x" in problem_in("a: 1\nb: &x [*x]\n").message


def test_an_alias_is_refused() -> None:
    assert "'*x'" in problem_in("a: *x\n").message


@pytest.mark.parametrize("opening", ["[", "- ", "{a: "])
def test_deep_nesting_is_refused_at_once(opening: str) -> None:
    assert "deeper than 50" in problem_in(opening * 100_000).message


def test_fifty_levels_are_allowed() -> None:
    assert load_yaml("[" * 50 + "]" * 50, "f.yaml").value


@pytest.mark.parametrize("text", ["a: !!python/object:os.system x", "a: !mine 1", "a: !!str 1", "!x {a: 1}"])
def test_tags_are_refused(text: str) -> None:
    assert "tag" in problem_in(text).message


def test_a_key_written_twice_names_both_lines() -> None:
    problem = problem_in("max_cost_usd: 1\nb: 2\nmax_cost_usd: 100\n")
    assert problem.line == 3
    assert problem.message == "key 'max_cost_usd' is written twice, first on line 1"


def test_a_key_written_twice_is_found_at_any_level() -> None:
    assert problem_in("- a: {b: 1,\n      b: 2}\n").line == 2


@pytest.mark.parametrize("text", ["true: x", "~: x", "[a]: x", "? {a: b}\n: x", "1.5: x"])
def test_keys_that_are_not_text_are_refused(text: str) -> None:
    assert "key that is not text" in problem_in(text).message


@pytest.mark.parametrize("number", [".nan", ".inf", "-.INF", "1e999", "123e4567"])
def test_numbers_that_are_not_finite_are_refused(number: str) -> None:
    problem = problem_in(f"a: 1\nb: {number}\n")
    assert (problem.line, problem.message) == (2, "not a finite number")


def test_a_second_document_is_refused() -> None:
    assert problem_in("a: 1\n---\nb: 2\n").line == 2


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("a: 1\nb: c: d\n", 2, "in quotes"),
        ("a:\n\t- b\n", 2, "spaces, not tabs"),
        ("a: 1\nb: 'never closed\nc: 2\n", 2, "close the quote"),
        ("a: [1, 2\n", 2, "close the bracket"),
        ("a: 1\nb: \x07\n", 2, "control character"),
        ("%YAML 9.0\n--- a", 1, "indentation"),
    ],
)
def test_syntax_errors_have_a_line_and_a_remedy(text: str, line: int, remedy: str) -> None:
    problem = problem_in(text)
    assert problem.message.startswith("not YAML: ")
    assert problem.line == line
    assert remedy in problem.remedy


@pytest.mark.parametrize("text", ["a: \x00", "a: \ud800", "é: \ud800", 'a: "\\0"'])
def test_what_postgres_cannot_hold_is_refused(text: str) -> None:
    assert "NUL" in problem_in(text).message


def test_a_text_over_the_size_limit_is_refused() -> None:
    assert "larger than 5 MB" in problem_in("# " + "x" * MAX_TEXT_BYTES).message
    assert "larger than 5 MB" in problem_in("# " + "ü" * (MAX_TEXT_BYTES // 2)).message


def test_too_many_values_are_refused() -> None:
    tree = Tree("f.yaml")
    tree.open([], 1)
    for _ in range(MAX_NODES - 1):
        tree.scalar(1, 1)
    with pytest.raises(InputError, match=r"f\.yaml:2: more than 500,000 values; split the file"):
        tree.scalar(1, 2)


def test_an_error_without_a_mark_is_placed_on_line_one() -> None:
    with (
        pytest.raises(InputError, match=r"f\.yaml:1: not YAML: odd"),
        yaml_text._syntax_errors_located("", "f.yaml"),
    ):
        raise yaml.MarkedYAMLError(problem="odd")
