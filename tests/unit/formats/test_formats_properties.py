"""Whatever promptfoo files, evals.json and tables say: they are imported, or refused with a place."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.definitions.loaded import LoadedTask
from evalq.errors import InputError, Problem
from evalq.formats import recognise, tables
from evalq.formats.promptfoo import load as promptfoo
from evalq.formats.promptfoo.checks import ROWS
from evalq.formats.skills import evals_json

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=10)
NUMBERS = st.integers(-3, 100) | st.floats(-2, 20, allow_nan=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | WORDS
    | st.sampled_from(["{{x}}", "{% if %}", "file://gone", "a,b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.just("type"), inner, max_size=3),
    max_leaves=5,
)
CHECKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from([*ROWS, "not-contains", "javascript", "assert-set", "similar"])},
        optional={
            "value": VALUES,
            "threshold": NUMBERS,
            "weight": NUMBERS,
            "metric": WORDS,
            "assert": VALUES,
        },
    )
    | VALUES,
    max_size=3,
)


def _has_type(check: Any) -> bool:
    return isinstance(check, dict) and isinstance(check.get("type"), str)


TESTS = st.lists(
    st.fixed_dictionaries(
        {"vars": st.dictionaries(st.sampled_from(["x", "prompt", "question"]), VALUES, max_size=2)},
        optional={"assert": CHECKS, "threshold": NUMBERS, "description": VALUES, "metadata": VALUES},
    )
    | VALUES,
    max_size=3,
)
SOUND_TESTS = st.lists(
    st.fixed_dictionaries(
        {
            "vars": st.dictionaries(
                st.sampled_from(["x", "question"]), WORDS | st.lists(WORDS, max_size=2), max_size=2
            ),
            "assert": CHECKS.map(lambda checks: [{"type": "is-json"}, *filter(_has_type, checks)]),
        },
        optional={"threshold": st.floats(0, 1), "description": WORDS},
    ),
    min_size=1,
    max_size=3,
)
MODES = st.sampled_from(["tool_calls", "description"])


def tried(
    load: Callable[..., LoadedTask], name: str, text: str, **how: Any
) -> LoadedTask | tuple[Problem, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        recognise(path)
        try:
            return load(path, path.parent, **how)
        except InputError as exc:
            return exc.problems


def is_sound(found: LoadedTask | tuple[Problem, ...]) -> bool:
    """Cases that something marks, or problems that say where."""
    if isinstance(found, LoadedTask):
        return all(case.graders or found.task.graders for case in found.evalset.cases)
    return all(problem.file for problem in found)


@settings(max_examples=150, deadline=None)
@given(
    SOUND_TESTS | TESTS | VALUES,
    st.just(["Say {{x}}"]) | st.lists(VALUES) | VALUES,
    CHECKS | st.just([]),
    MODES,
)
def test_a_promptfoo_file_is_imported_or_refused(tests: Any, prompts: Any, checks: Any, mode: Any) -> None:
    text = json.dumps({"prompts": prompts, "tests": tests, "defaultTest": {"assert": checks}})
    assert is_sound(tried(promptfoo.load, "promptfooconfig.json", text, trigger_mode=mode))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"prompt": WORDS | VALUES},
            optional={
                **dict.fromkeys(("id", "expected_output", "files", "assertions", "should_trigger"), VALUES),
                "expectations": st.lists(WORDS, max_size=2),
            },
        )
        | VALUES,
        max_size=3,
    ),
    VALUES,
    MODES,
)
def test_an_evals_json_is_imported_or_refused(evals: Any, skill: Any, mode: Any) -> None:
    text = json.dumps({"skill_name": skill, "evals": evals})
    assert is_sound(tried(evals_json.load, "evals.json", text, trigger_mode=mode))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["question", "answer", "id", "messages", "topic"]), VALUES),
        max_size=3,
    )
)
def test_a_table_is_imported_or_refused(lines: Any) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert is_sound(tried(tables.load, "data.jsonl", text))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=3), max_size=3))
def test_any_csv_is_imported_or_refused(cells: Any) -> None:
    text = "question,answer\n" + "\n".join(",".join(row) for row in cells)
    assert is_sound(tried(tables.load, "data.csv", text))
