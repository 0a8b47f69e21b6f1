"""Whatever a document holds, it is transpiled to valid JSON or refused with a reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.agentv.compat import transpile_as_agentv
from evalq.formats.agentv.read import read_eval_document
from evalq.formats.agentv.sections import TYPES
from evalq.formats.agentv.skill_evals import Transpilation, json_document, run_eval_list
from evalq.formats.agentv.transpile import transpile

scalars = st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
types = st.sampled_from([*sorted(TYPES), "trigger-judge", "skill-used", "llm_judge", "not-contains", "odd"])
FIELDS = (
    "value",
    "criteria",
    "prompt",
    "rubrics",
    "name",
    "command",
    "expected",
    "fields",
    "minimums",
    "score_ranges",
    "assertions",
    "skill",
    "should_trigger",
    "negate",
    "weight",
    "threshold",
    "budget",
)
assertions = st.lists(
    st.fixed_dictionaries({}, optional={"type": types | values, **dict.fromkeys(FIELDS, values)})
    | st.fixed_dictionaries({"type": types, "skill": st.sampled_from("ab"), "value": st.text(max_size=3)})
    | values,
    max_size=4,
)
TEST_KEYS = ("id", "criteria", "input", "input_files", "expected_output", "turns", "vars", "execution")
tests = st.fixed_dictionaries(
    {"asked": st.none()},
    optional={"assert": assertions, "assertions": values, **dict.fromkeys(TEST_KEYS, values)},
)
documents = st.fixed_dictionaries(
    {"tests": st.lists(tests | values, max_size=4) | values},
    optional={"assertions": assertions, "input": values, "prompts": values, "execution": values},
)


texts = st.text(max_size=8)
blocks = st.fixed_dictionaries({"type": st.sampled_from(["text", "file", "image"]), "value": texts})
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "system", "assistant"]),
        "content": texts | st.lists(blocks, min_size=1),
    }
)
checks = st.fixed_dictionaries(
    {"type": types.filter(lambda name: "skill" not in name and "trigger" not in name), "value": texts}
)
triggers = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.booleans(), max_size=3).map(
    lambda wanted: [
        {"type": "trigger-judge", "skill": skill, "should_trigger": answer}
        for skill, answer in wanted.items()
    ]
)
sound_tests = st.fixed_dictionaries(
    {
        "input": texts | st.lists(messages, min_size=1),
        "assert": st.tuples(st.lists(checks | texts), triggers),
    },
    optional={"criteria": texts, "expected_output": values, "id": scalars},
).map(lambda test: {**test, "assert": [*test["assert"][0], *test["assert"][1]]})


def check(result: Transpilation) -> None:
    for document in result.documents.values():
        content = json.loads(json_document(document.content()))
        assert content["skill_name"] == document.skill_name
        for entry in content["evals"]:
            assert isinstance(entry["id"], int | float)
            assert isinstance(entry["prompt"], str)
            assert all(isinstance(line, str) for line in entry["assertions"])
            assert isinstance(entry.get("should_trigger", True), bool)
        queries, _ = run_eval_list(document)
        assert all(query["query"] and isinstance(query["should_trigger"], bool) for query in queries)


def by_default(document: Any) -> Transpilation:
    return transpile(read_eval_document(Located(document, {(): 1}, "EVAL.yaml"), Path("EVAL.yaml")))


def outcome(transpiling: Callable[[Any], Transpilation], document: Any) -> Transpilation | InputError:
    try:
        return transpiling(document)
    except InputError as exc:
        return exc


@given(documents)
def test_any_document_is_transpiled_or_refused_with_a_line(document: Any) -> None:
    found = outcome(by_default, document)
    if isinstance(found, InputError):
        assert all(problem.line and problem.message for problem in found.problems)
    else:
        check(found)


@given(documents | values)
def test_any_document_is_transpiled_as_agentv_or_refused(document: Any) -> None:
    found = outcome(lambda value: transpile_as_agentv(value, "EVAL.yaml"), document)
    if isinstance(found, InputError):
        assert str(found)
    else:
        check(found)


@given(st.lists(sound_tests, min_size=1, max_size=5), st.lists(checks | texts, max_size=2))
def test_a_sound_test_is_in_the_file_of_each_skill_it_names_or_in_one(
    tests: list[dict[str, Any]], shared: list[Any]
) -> None:
    result = by_default({"tests": tests, "assertions": shared})
    check(result)
    named = [sum(isinstance(one, dict) and "skill" in one for one in test["assert"]) for test in tests]
    assert sum(len(document.evals) for document in result.documents.values()) == sum(max(n, 1) for n in named)
    assert all(document.evals for document in result.documents.values())
