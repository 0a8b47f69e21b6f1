"""Whatever an EVAL.yaml says: it is imported or refused with a place, and no check vanishes in silence."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError, Problem
from evalq.formats.agentv.load import load
from evalq.formats.agentv.sections import TYPES

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
NUMBERS = st.integers(-3, 1000) | st.floats(-2, 20, allow_nan=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    *(
        "value",
        "values",
        "criteria",
        "rubrics",
        "prompt",
        "flags",
        "threshold",
        "budget",
        "max_total",
        "fields",
    ),
    *("expected", "mode", "minimums", "skill", "should_trigger", "aggregator", "command", "max_cost_usd"),
    *("args_match", "model", "temperature", "description", "max_duration_ms"),
)
KINDS = st.sampled_from(sorted(TYPES)) | st.sampled_from(
    ["not-contains", "llm-judge", "script", "odd", "assert-set"]
)


def check(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    common = st.fixed_dictionaries(
        {"type": KINDS},
        optional={
            "weight": NUMBERS,
            "required": st.booleans() | NUMBERS,
            "min_score": NUMBERS,
            "negate": st.booleans(),
            "name": WORDS,
            "assertions": inner,
        },
    )
    fields = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
    return st.builds(lambda a, b: {**b, **a}, common, fields) | WORDS


CHECKS = st.recursive(
    st.lists(check(st.just([])), max_size=3), lambda inner: st.lists(check(inner), max_size=3)
)
TESTS = st.fixed_dictionaries(
    {"id": VALUES, "input": st.just("Ask.") | VALUES},
    optional={"criteria": WORDS, "expected_output": VALUES, "assertions": CHECKS, "execution": st.just({})},
)
MODES = st.sampled_from(["tool_calls", "description"])


def refused(path: Path, mode: Any) -> tuple[tuple[Problem, ...], LoadedTask | None]:
    try:
        return (), load(path, path.parent, trigger_mode=mode)
    except InputError as exc:
        return exc.problems, None


@settings(max_examples=150, deadline=None)
@given(st.lists(TESTS, min_size=1, max_size=3), CHECKS, MODES)
def test_a_file_is_imported_or_refused(tests: Any, suite: Any, mode: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "EVAL.json"
        path.write_text(json.dumps({"tests": tests, "assertions": suite}), "utf-8")
        problems, found = refused(path, mode)
        assert all(problem.file for problem in problems)
        assert all(case.graders for case in (found.evalset.cases if found else []))


@settings(max_examples=150, deadline=None)
@given(check(st.just([])), MODES)
def test_a_check_becomes_a_grader_or_a_warning(one: Any, mode: Any) -> None:
    test = {"id": "t", "input": "Ask.", "assertions": [{"type": "is-json", "name": "known"}, one]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "EVAL.json"
        path.write_text(json.dumps({"tests": [test]}), "utf-8")
        _, found = refused(path, mode)
        if found is None:
            return
        graders = [
            grader for case in found.evalset.cases for grader in case.graders if grader.name != "known"
        ]
        is_empty_line = isinstance(one, str) and not one.strip()
        assert graders or found.warnings or is_empty_line
