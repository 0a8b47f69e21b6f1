import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.yaml_text import MAX_EXPANDED, MAX_EXPANDED_BYTES, load_anchored_yaml, load_yaml
from evalq.errors import InputError, Problem


def problem_in(text: str) -> Problem:
    with pytest.raises(InputError) as caught:
        load_anchored_yaml(text, "f.yaml")
    (problem,) = caught.value.problems
    assert problem.file == "f.yaml"
    assert problem.remedy
    return problem


def test_an_alias_is_its_anchors_value_with_its_anchors_lines() -> None:
    located = load_anchored_yaml("a: &x\n  - 1\n  - {b: 2}\nc: [*x, *x]\n", "f.yaml")
    assert located.value["c"] == [[1, {"b": 2}], [1, {"b": 2}]]
    assert located.lines[("c", 1, 1, "b")] == 3


def test_an_alias_inside_an_anchor_is_expanded_too() -> None:
    text = "a: &a one\nb: &b [*a, {k: *a}]\nc: *b\n"
    assert load_anchored_yaml(text, "f.yaml").value["c"] == ["one", {"k": "one"}]


def test_an_anchor_may_be_set_anew() -> None:
    assert load_anchored_yaml("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "f.yaml").value == {
        "a": 1,
        "b": 1,
        "c": 2,
        "d": 2,
    }


def test_an_alias_can_be_a_key() -> None:
    assert load_anchored_yaml("a: &x word\n*x : 1\n", "f.yaml").value == {"a": "word", "word": 1}


def test_merged_keys_lie_beneath_the_mappings_own() -> None:
    located = load_anchored_yaml("base: &b {x: 1, y: 2}\nuse:\n  x: own\n  <<: *b\n  z: 3\n", "f.yaml")
    assert located.value["use"] == {"x": "own", "y": 2, "z": 3}
    assert list(located.value["use"]) == ["x", "y", "z"]
    assert located.lines[("use", "y")] == 1
    assert located.lines[("use", "z")] == 5


def test_of_several_mappings_merged_the_first_counts() -> None:
    text = "a: &a {k: 1}\nb: &b {k: 2, l: 2}\nc: {<<: [*a, *b]}\n"
    assert load_anchored_yaml(text, "f.yaml").value["c"] == {"k": 1, "l": 2}


def test_a_merge_inside_a_merge_is_followed() -> None:
    text = "a: &a {k: 1}\nb: &b {<<: *a, l: 2}\nc: [{<<: *b, m: 3}]\n"
    assert load_anchored_yaml(text, "f.yaml").value["c"] == [{"k": 1, "l": 2, "m": 3}]


def test_without_merges_the_merge_key_is_a_key() -> None:
    located = load_anchored_yaml("a: &a {k: 1}\nb: {<<: *a}\n", "f.yaml", merges=False)
    assert located.value["b"] == {"<<": {"k": 1}}


@pytest.mark.parametrize("merged", ["5", "[*a, word]", "~"])
def test_only_mappings_can_be_merged(merged: str) -> None:
    problem = problem_in(f"a: &a {{k: 1}}\nb:\n  <<: {merged}\n")
    assert (problem.message, problem.line) == ("a merge key without a mapping", 3)


def test_keys_are_text_as_written() -> None:
    assert load_anchored_yaml("0: a\n1.50: b\ntrue: c\n~: d\n", "f.yaml").value == {
        "0": "a",
        "1.50": "b",
        "true": "c",
        "~": "d",
    }


def test_what_plain_words_mean_is_the_callers_to_say() -> None:
    assert load_anchored_yaml("a: 007\nb: '007'\n", "f.yaml", plain=len).value == {"a": 3, "b": "007"}


def test_a_bomb_of_aliases_is_refused_with_its_line() -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    problem = problem_in("\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *levels]))
    assert problem.message == f"aliases that expand to more than {MAX_EXPANDED:,} values"
    assert problem.line == 5


def test_few_aliases_of_a_long_text_are_refused_too() -> None:
    aliases = "".join("- *a\n" for _ in range(70))
    problem = problem_in(f"- &a {'x' * 1_000_000}\n{aliases}")
    assert problem.message == f"aliases that expand to more than {MAX_EXPANDED_BYTES:,} bytes"
    assert problem.line == 66


def test_an_anchor_that_holds_itself_is_refused() -> None:
    problem = problem_in("a: &a\n  - *a\n")
    assert (problem.message, problem.line) == ("alias '*a' is inside its own anchor", 2)


def test_an_alias_of_nothing_is_refused() -> None:
    assert problem_in("a: 1\nb: *nothing\n").message == "alias '*nothing' names no anchor"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "key 'a' is written twice, first on line 1"),
        ("a: 1\nb: !!str 2\n", "a tag ('!…')"),
        ("a: &x !thing {}\n", "a tag ('!…')"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("a: " + "[" * 60, "nested deeper than 50 levels"),
        ("a: .inf\n", "not a finite number"),
        ("{a: [}", "not YAML"),
        ("? [a]\n: b\n", "a key that is not text"),
    ],
)
def test_the_rest_is_refused_as_ever(text: str, message: str) -> None:
    assert problem_in(text).message.startswith(message)


@given(st.recursive(st.integers() | st.text("ab:&*-<'\" \n", max_size=5), st.lists, max_leaves=8))
def test_what_has_no_anchors_reads_as_it_does_elsewhere(value: object) -> None:
    text = f"key: {value!r}"
    try:
        expected = load_yaml(text, "f.yaml")
    except InputError:
        return
    assert load_anchored_yaml(text, "f.yaml").value == expected.value
