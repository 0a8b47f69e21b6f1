import json
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.agentv.read import read_eval_document, read_eval_yaml
from evalq.formats.agentv.skill_evals import Transpilation
from evalq.formats.agentv.transpile import transpile

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "eval-yaml" / "EVAL.yaml"


def transpiled(*tests: dict[str, Any], **suite: Any) -> Transpilation:
    located = Located({"tests": list(tests), **suite}, {(): 1}, "EVAL.yaml")
    return transpile(read_eval_document(located, Path("EVAL.yaml")))


def evals(*tests: dict[str, Any], **suite: Any) -> list[dict[str, Any]]:
    """The entries of the one document."""
    (document,) = transpiled(*tests, **suite).documents.values()
    found: list[dict[str, Any]] = document.content()["evals"]
    return found


def placed(*tests: dict[str, Any], **suite: Any) -> dict[str, list[tuple[int, bool | None]]]:
    """By file name, the id of each entry and whether the skill should be used."""
    documents = transpiled(*tests, **suite).documents
    return {
        name: [(case.id, case.should_trigger) for case in document.evals]  # type: ignore[misc]
        for name, document in documents.items()
    }


def wants(skill: str, should_trigger: bool = True) -> dict[str, Any]:
    return {"type": "trigger-judge", "skill": skill, "should_trigger": should_trigger}


def asking(*assertions: Any) -> dict[str, Any]:
    return {"input": "Hi", "assert": list(assertions)}


def test_the_documented_example_gives_the_documented_json() -> None:
    """The shape agentv's proposal shows, in other words, with the criteria in front as its table has it."""
    first = {
        "id": "best-quarters",
        "criteria": "The two best quarters are found",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "file", "value": "files/turnover.csv"},
                    {"type": "text", "value": "Which two quarters were best?"},
                ],
            }
        ],
        "expected_output": "The fourth and the second.",
        "assert": [
            wants("table-reader"),
            {"type": "rubrics", "criteria": "The fourth quarter comes first"},
            {"type": "contains", "value": "$31,070"},
        ],
    }
    second = {
        "id": "small-talk",
        "criteria": "table-reader stays unused",
        "input": "How do you do?",
        "assert": [wants("table-reader", False)],
    }
    documents = transpiled(first, second).documents
    assert list(documents) == ["evals.json"]
    content = documents["evals.json"].content()
    assert content == {
        "skill_name": "table-reader",
        "evals": [
            {
                "id": 1,
                "prompt": "Which two quarters were best?",
                "expected_output": "The fourth and the second.",
                "files": ["files/turnover.csv"],
                "should_trigger": True,
                "assertions": [
                    "The two best quarters are found",
                    "The fourth quarter comes first",
                    "Output contains '$31,070'",
                ],
            },
            {
                "id": 2,
                "prompt": "How do you do?",
                "should_trigger": False,
                "assertions": ["table-reader stays unused"],
            },
        ],
    }
    keys = ["id", "prompt", "expected_output", "files", "should_trigger", "assertions"]
    assert list(content["evals"][0]) == keys


def test_our_own_example_is_two_skills_files() -> None:
    result = transpile(read_eval_yaml(EXAMPLE))
    assert result.warnings == ()
    ids = {name: [case.id for case in found.evals] for name, found in result.documents.items()}
    assert ids == {"ledger-reader.evals.json": [1, 2, 3, 4], "chart-maker.evals.json": [1, 2]}
    first = result.documents["ledger-reader.evals.json"].evals[0]
    assert first.prompt.endswith("second quarter. What did we spend the most on?")
    assert first.files == ("files/chart-of-accounts.md", "files/ledger-q2.csv")
    assert first.assertions[-1] == "Response time under 30000ms"


def test_a_test_for_two_skills_is_in_both_files() -> None:
    assert placed(asking(wants("a"), wants("b", False))) == {
        "a.evals.json": [(1, True)],
        "b.evals.json": [(1, False)],
    }


def test_tests_without_a_trigger_go_with_the_dominant_skill_in_their_order() -> None:
    tests = [asking(), asking(wants("a")), asking(wants("b")), asking(), asking(wants("b"))]
    assert placed(*tests) == {
        "a.evals.json": [(2, True)],
        "b.evals.json": [(1, None), (3, True), (4, None), (5, True)],
    }


def test_of_skills_alike_the_first_is_dominant() -> None:
    assert placed(asking(wants("b")), asking(wants("a")), asking())["b.evals.json"] == [(1, True), (3, None)]


def test_without_any_skill_the_file_says_so() -> None:
    (document,) = transpiled(asking()).documents.values()
    assert placed(asking()) == {"_no-skill.json": [(1, None)]}
    assert document.content()["skill_name"] == "_no-skill"
    assert "should_trigger" not in document.content()["evals"][0]


def test_a_trigger_without_a_skill_means_the_dominant_one() -> None:
    nameless = {"type": "trigger-judge", "should_trigger": False}
    assert placed(asking(nameless), asking(wants("a"))) == {"evals.json": [(1, False), (2, True)]}
    assert placed(asking(nameless)) == {"_no-skill.json": [(1, False)]}
    assert "a trigger that names no skill" in str(transpiled(asking(nameless)).warnings[0])


@pytest.mark.parametrize(
    ("written", "should_trigger"),
    [
        ({"type": "trigger-judge", "skill": "s"}, True),
        ({"type": "trigger-judge", "skill": "s", "should_trigger": None}, True),
        ({"type": "skill-trigger", "skill": None, "value": "s"}, True),
        ({"type": "trigger_judge", "skill": "s", "should_trigger": False}, False),
        ({"type": "skill-trigger", "skill": "s", "negate": True}, False),
        ({"type": "skill-used", "value": "s"}, True),
        ({"type": "skill-used", "value": {"name": " s "}}, True),
        ({"type": "not-skill-used", "value": "s"}, False),
        ({"type": "not-skill-used", "value": "s", "negate": True}, True),
    ],
)
def test_a_trigger_is_read_in_every_dialect(written: dict[str, Any], should_trigger: bool) -> None:
    document = transpiled(asking(written)).documents["evals.json"]
    assert (document.skill_name, document.evals[0].should_trigger) == ("s", should_trigger)
    assert document.evals[0].assertions == ()


def test_a_suites_trigger_is_every_tests_unless_it_has_one_for_that_skill() -> None:
    tests = [asking(), asking(wants("a", False)), asking(wants("b"))]
    assert placed(*tests, assertions=[wants("a")]) == {
        "a.evals.json": [(1, True), (2, False), (3, True)],
        "b.evals.json": [(3, True)],
    }


def test_the_same_trigger_twice_counts_once() -> None:
    assert placed(asking(wants("a"), wants("a"))) == {"evals.json": [(1, True)]}


@pytest.mark.parametrize(
    ("assertions", "message"),
    [
        ([wants("a"), wants("a", False)], "skill 'a' should and should not be used, first on line 1"),
        ([{"type": "trigger-judge", "skill": 5}], "the skill is not a name"),
        (
            [{"type": "trigger-judge", "skill": "a", "should_trigger": "false"}],
            "should_trigger is neither true nor false",
        ),
        (
            [{"type": "skill-used"}, {"type": "not-skill-used"}],
            "the skill should and should not be used",
        ),
    ],
)
def test_a_trigger_that_means_nothing_is_refused(assertions: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=f"EVAL.yaml:1: {message}"):
        transpiled(asking(*assertions))


def test_the_problems_of_all_tests_are_told_once() -> None:
    with pytest.raises(InputError) as caught:
        transpiled(asking({"type": "contains"}), asking(), assertions=[{"type": "regex"}])
    assert [problem.message for problem in caught.value.problems] == [
        "contains without a value",
        "regex without a value",
    ]


def test_file_names_are_safe_and_apart() -> None:
    tests = [asking(wants(skill)) for skill in ("a/b", "a b", "A_B", "a_b-2", "ü")]
    assert list(placed(*tests)) == [
        "a_b.evals.json",
        "a_b-2.evals.json",
        "A_B-3.evals.json",
        "a_b-2-2.evals.json",
        "_.evals.json",
    ]


def test_a_numeric_id_is_kept_and_any_other_is_the_place_in_the_file() -> None:
    tests = [{"id": written, "input": "x"} for written in (42, "b", "7", None, 1.5, True)]
    assert [case["id"] for case in evals(*tests)] == [42, 2, 3, 4, 1.5, 6]


def test_an_id_used_twice_is_warned_of() -> None:
    (warning,) = transpiled({"id": 2, "input": "x"}, {"id": "b", "input": "y"}).warnings
    assert "id 2 is that of line 1 too" in str(warning)


def test_the_prompt_is_the_last_user_messages_text_and_files_are_everyones() -> None:
    def block(kind: str, value: str) -> dict[str, str]:
        return {"type": kind, "value": value}

    messages = [
        {"role": "system", "content": [block("file", "s.md"), block("text", "no")]},
        {"role": "user", "content": "earlier"},
        {"role": "user", "content": [block("text", "One "), block("image", "i.png"), block("text", "two")]},
        {"role": "assistant", "content": [block("file", "a.md")]},
        {"role": "user", "content": [block("file", "u.md")]},
    ]
    (case,) = evals({"input": messages, "input_files": ["first.csv"]})
    assert case["prompt"] == "One two"
    assert case["files"] == ["first.csv", "s.md", "i.png", "a.md", "u.md"]


def test_the_suites_messages_come_before_the_tests() -> None:
    shared = [{"role": "user", "content": [{"type": "file", "value": "s.md"}]}]
    (case,) = evals({"input": "own"}, input=shared)
    assert (case["prompt"], case["files"]) == ("own", ["s.md"])


def test_a_test_that_asks_nothing_is_warned_of() -> None:
    (warning,) = transpiled({"id": "x"}).warnings
    assert "the prompt is empty" in str(warning)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("As it is ", "As it is "),
        ("", ""),
        ([{"role": "assistant", "content": "One"}, {"role": "assistant", "content": "Two"}], "Two"),
        ([{"role": "assistant", "content": "One"}, {"role": "assistant", "tool_calls": []}], "One"),
        ([{"role": "assistant", "content": [{"type": "text", "value": "Block"}]}], "Block"),
        ([{"role": "assistant", "content": {"a": 1}}], '{"a":1}'),
        ({"risk": "Low", "p": 0.5}, '{"risk":"Low","p":0.5}'),
        ([1, 2], "[1,2]"),
        (5, "5"),
        (False, "false"),
    ],
)
def test_what_is_expected_is_flattened_to_text(written: Any, text: str) -> None:
    (case,) = evals({"input": "x", "expected_output": written})
    assert case["expected_output"] == text


def test_expecting_files_only_is_warned_of() -> None:
    written = [{"role": "assistant", "content": [{"type": "file", "value": "a.md"}]}]
    result = transpiled({"input": "x", "expected_output": written})
    assert "expected_output has no text: left out" in str(result.warnings[0])
    assert "expected_output" not in result.documents["_no-skill.json"].content()["evals"][0]


def test_the_suites_checks_are_appended_to_every_test() -> None:
    cases = evals({"criteria": "C", "input": "x"}, {"input": "y", "assert": ["own"]}, assertions=["S"])
    assert [case["assertions"] for case in cases] == [["C", "S"], ["own", "S"]]


def test_a_warning_about_the_suite_is_given_once() -> None:
    warnings = transpiled(asking(), asking(), assertions=[{"type": "odd"}]).warnings
    assert [str(warning) for warning in warnings] == [
        "EVAL.yaml:1: unknown type 'odd', taken as: odd assertion"
    ]


def test_a_conversation_is_its_last_turn() -> None:
    turns = [
        {"input": "Hi", "assertions": [wants("early"), "Greets"]},
        {"input": "Bye", "expected_output": "Bye!", "assertions": [wants("late", False), "Ends"]},
    ]
    result = transpiled({"mode": "conversation", "turns": turns})
    (document,) = result.documents.values()
    assert document.skill_name == "late"
    (case,) = document.evals
    assert (case.prompt, case.expected_output, case.should_trigger) == ("Bye", "Bye!", False)
    assert case.assertions == ("Agent uses the skill 'early'", "Greets", "Ends")
    assert "2 turns: the prompt is the last one's" in str(result.warnings[0])


def test_settings_for_run_eval_are_passed_through() -> None:
    result = transpiled(asking(wants("a"), wants("b")), runs_per_query=5, trigger_threshold=0.6)
    for document in result.documents.values():
        assert list(document.content()) == ["skill_name", "runs_per_query", "trigger_threshold", "evals"]
        assert (document.runs_per_query, document.trigger_threshold) == (5, 0.6)


def test_no_tests_are_refused() -> None:
    with pytest.raises(InputError, match=r"EVAL\.yaml:1: no tests"):
        transpiled()


def test_a_suite_that_repeats_too_much_is_refused() -> None:
    with pytest.raises(InputError, match="add up to 1,002,000 in all tests"):
        transpiled(*[{"input": "x"}] * 1002, assertions=["s"] * 1000)
    with pytest.raises(InputError, match="the evals have 100,000,100 characters"):
        transpiled(*[{"input": "x"}] * 100, assertions=["s" * 1_000_000])


def test_the_same_input_gives_the_same_text() -> None:
    once, again = (json.dumps(evals(asking(wants("a"), "x"))) for _ in range(2))
    assert once == again
