"""The shapes of an eval file, each read into the same form of a single eval."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict

from evalq.definitions.definition import Definition, validate
from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.suite.evals import errors_at, grader_forms
from evalq.formats.suite.forms import EvalType, SuiteConfig
from evalq.formats.suite.library import Library, is_library, is_thresholds
from evalq.formats.suite.parts import (
    mapping_or_empty,
    move_key,
    part_at,
    require_mapping,
    split_entries,
    with_values,
    without_nulls,
)

Shape = Literal[
    "suite", "evals", "tests", "single", "wrapped", "phase", "trigger", "library", "thresholds", "report"
]

_SHAPE_BY_KEY: dict[str, Shape] = {
    "eval_suite": "suite",
    "capability_eval": "wrapped",
    "regression_eval": "wrapped",
    "eval_trigger": "trigger",
    "phase": "phase",
    "eval_report": "report",
}
_WRAPPERS: dict[str, EvalType] = {"capability_eval": "capability", "regression_eval": "regression"}
_REGRESSION_KEYS = {"baseline", "current", "comparison", "baseline_version"}


@dataclass(frozen=True)
class WrittenEval:
    """One eval in the common form, its type, and the config of its file."""

    located: Located
    eval_type: EvalType
    config: SuiteConfig


class EvalTestMetadata(Definition):
    """What all tests of a file share; further keys are kept."""

    model_config = ConfigDict(extra="allow")

    id: str
    name: str = ""
    description: str = ""
    category: str = ""


class EvalTestFile(Definition):
    """A file with `schema_version` and its tests."""

    schema_version: str | float | int = "1.0"
    eval_type: EvalType = "capability"
    metadata: EvalTestMetadata
    config: SuiteConfig = SuiteConfig()
    test_cases: list[Any] | None = None
    test_case: dict[str, Any] | None = None
    baseline: Any = None
    execution: Any = None
    comparison: Any = None
    grader: Any = None
    graders: Any = None


def shape_of(value: Any) -> Shape | None:
    """The shape of a file's content; None for a file of another kind."""
    if isinstance(value, list):
        return "evals" if value and all(_is_eval(one) for one in value) else None
    if not isinstance(value, dict):
        return None
    for key, shape in _SHAPE_BY_KEY.items():
        if key in value:
            return shape
    if {"test_cases", "test_case"} & value.keys() and "metadata" in value:
        return "tests"
    if "id" in value and _is_eval(value):
        return "single"
    if is_library(value):
        return "library"
    return "thresholds" if is_thresholds(value) else None


def _is_eval(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return "$ref" in value or ("id" in value and bool({"input", *_REGRESSION_KEYS} & value.keys()))


def evals_in(located: Located, library: Library) -> Iterator[WrittenEval]:
    """The evals of a file that is neither a suite nor a list."""
    match shape_of(located.value):
        case "wrapped" | "single":
            yield written_eval(located, library)
        case "tests":
            yield from _read_tests(located, library)
        case _:
            remedy = "write eval_suite, capability_eval, regression_eval, a list of evals, or test_cases"
            raise InputError(located.problem((), "no evals here", remedy))


def written_eval(located: Located, library: Library) -> WrittenEval:
    """One eval, bare or under the key of its type."""
    for key, eval_type in _WRAPPERS.items():
        if key in mapping_or_empty(located.value):
            inner = part_at(located, key)
            require_mapping(inner, "an eval")
            return WrittenEval(_in_common_form(inner, library), eval_type, SuiteConfig())
    value = require_mapping(located, "an eval")
    guessed: EvalType = "regression" if _REGRESSION_KEYS & value.keys() else "capability"
    return WrittenEval(_in_common_form(located, library), guessed, SuiteConfig())


def _in_common_form(located: Located, library: Library) -> Located:
    """The eval with `graders` and `expected` instead of their variants, and short forms written out."""
    value = located.value
    if "expected_output" in value:
        if "expected" in value:
            message = "expected and expected_output are the same thing"
            raise InputError(located.problem(("expected_output",), message, "keep expected"))
        located = move_key(located, "expected_output", ("expected",), value["expected_output"])
    if "grader" in value and "graders" in value:
        message = "grader and graders are the same thing"
        raise InputError(located.problem(("grader",), message, "put all of them into graders"))
    for key in ("grader", "graders"):
        if value.get(key) is not None:
            with errors_at(located, key):
                graders = grader_forms(value[key], library)
            located = move_key(located, key, ("graders", 0) if key == "grader" else ("graders",), graders)
    return _expand_short_forms(without_nulls(located))


def _expand_short_forms(located: Located) -> Located:
    """A text as input is a prompt; an expectation that is not a mapping is the exact answer."""
    value = located.value
    expanded: dict[str, Any] = {}
    if isinstance(value.get("input"), str):
        expanded["input"] = {"type": "prompt", "content": value["input"]}
    if "expected" in value and not isinstance(value["expected"], dict):
        expanded["expected"] = {"type": "exact", "value": value["expected"]}
    return with_values(located, **expanded)


def _read_tests(located: Located, library: Library) -> Iterator[WrittenEval]:
    file = validate(EvalTestFile, located)
    if (file.test_cases is None) == (file.test_case is None):
        message = "neither test_cases nor test_case" if file.test_case is None else "test_cases and test_case"
        raise InputError(located.problem((), message, "write one of them"))
    if file.test_case is not None:
        yield _read_test(located, file, part_at(located, "test_case"), library, id_suffix="")
        return
    for number, one in enumerate(split_entries(part_at(located, "test_cases")).values(), 1):
        own_id = require_mapping(one, "a test case").get("id", f"tc-{number:03}")
        yield _read_test(located, file, one, library, id_suffix=f"/{own_id}")


def _read_test(
    whole: Located, file: EvalTestFile, one: Located, library: Library, *, id_suffix: str
) -> WrittenEval:
    """One test of a file, completed by what the file sets for all of them."""
    shared = file.metadata
    own = dict(one.value)
    fields = dict(own)
    if not {"grader", "graders"} & own.keys():
        for key in ("grader", "graders"):
            if whole.value.get(key) is not None:
                fields[key] = whole.value[key]
    names = [shared.name, str(own.get("name", ""))]
    extra = shared.model_dump(exclude={"id", "name", "description", "category"})
    fields |= {
        "id": f"{shared.id}{id_suffix}",
        "name": " · ".join(name for name in names if name),
        "description": own.get("description") or shared.description,
        "category": own.get("category") or shared.category,
        "metadata": {**extra, **mapping_or_empty(own.get("metadata"))},
    }
    if file.eval_type == "regression":
        fields = _regression_fields(fields, whole.value)
    located = Located(fields, one.lines, one.file)
    return WrittenEval(_in_common_form(located, library), file.eval_type, file.config)


def _regression_fields(fields: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Put `input` and `execution` under `current`; take baseline and comparison from the file if needed."""
    for key in ("baseline", "comparison"):
        if key not in fields and whole.get(key) is not None:
            fields[key] = whole[key]
    if "current" not in fields:
        execution = fields.pop("execution", None) or whole.get("execution")
        fields["current"] = {"input": fields.pop("input", None)}
        if execution:
            fields["current"]["execution"] = execution
    return fields
