"""The shapes an eval file comes in, each brought to the one form of a single eval."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict

from evalq.definitions.definition import Definition, split_remedy, validate
from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.suite.evals import grader_forms
from evalq.formats.suite.forms import (
    EvalType,
    SuiteConfig,
    as_mapping,
    completed,
    entries,
    part,
    renamed,
    without,
)
from evalq.formats.suite.library import Library, is_library, is_thresholds

Shape = Literal[
    "suite", "evals", "tests", "single", "wrapped", "phase", "trigger", "library", "thresholds", "report"
]

_REGRESSION_KEYS = {"baseline", "current", "comparison", "baseline_version"}
_WRAPPERS: dict[str, EvalType] = {"capability_eval": "capability", "regression_eval": "regression"}
_SHORT_EXPECTED = "exact"


@dataclass(frozen=True)
class WrittenEval:
    """One eval in the one form, its type, and what its file says of how to run it."""

    located: Located
    eval_type: EvalType
    config: SuiteConfig


class EvalTestMetadata(Definition):
    """What is known of all tests of a file; further keys are kept."""

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
    """The shape of a file's content by what is in it; None for what is none of ours."""
    if isinstance(value, list):
        return "evals" if value and all(_is_eval(one) for one in value) else None
    if not isinstance(value, dict):
        return None
    for key, shape in _BY_KEY.items():
        if key in value:
            return shape
    if {"test_cases", "test_case"} & value.keys() and "metadata" in value:
        return "tests"
    if _is_eval(value) and "id" in value:
        return "single"
    if is_library(value):
        return "library"
    return "thresholds" if is_thresholds(value) else None


_BY_KEY: dict[str, Shape] = {
    "eval_suite": "suite",
    "capability_eval": "wrapped",
    "regression_eval": "wrapped",
    "eval_trigger": "trigger",
    "phase": "phase",
    "eval_report": "report",
}


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
            yield from _tests(located, library)
        case _:
            message = "no evals here"
            remedy = "write eval_suite, capability_eval, regression_eval, a list of evals, or test_cases"
            raise InputError(located.problem((), message, remedy))


def written_eval(located: Located, library: Library) -> WrittenEval:
    """One eval, bare or under its type."""
    keys = [key for key in _WRAPPERS if isinstance(located.value, dict) and key in located.value]
    if keys:
        return _single(part(located, keys[0]), library, _WRAPPERS[keys[0]])
    return _single(located, library)


def _single(located: Located, library: Library, eval_type: EvalType | None = None) -> WrittenEval:
    value = as_mapping(located, "an eval")
    kind: EvalType = eval_type or ("regression" if _REGRESSION_KEYS & value.keys() else "capability")
    return WrittenEval(_in_form(located, library), kind, SuiteConfig())


def _in_form(located: Located, library: Library) -> Located:
    """`grader` among `graders`, `expected_output` as `expected`, short forms written out."""
    value = located.value
    if "expected_output" in value:
        if "expected" in value:
            message = "expected and expected_output are the same thing"
            raise InputError(located.problem(("expected_output",), message, "keep expected"))
        located = renamed(located, "expected_output", ("expected",), value["expected_output"])
    if "grader" in value and "graders" in value:
        message = "grader and graders are the same thing"
        raise InputError(located.problem(("grader",), message, "put all of them into graders"))
    for key, new in (("grader", ("graders", 0)), ("graders", ("graders",))):
        if located.value.get(key) is not None and key in value:
            located = renamed(located, key, new, _forms(located, key, library))
    return _written_out(without_nulls(located))


def without_nulls(located: Located) -> Located:
    """A key without a value is as good as none."""
    return without(located, *(key for key, value in located.value.items() if value is None))


def _forms(located: Located, key: str, library: Library) -> list[Any]:
    try:
        return grader_forms(located.value[key], library)
    except ValueError as exc:
        raise InputError(located.problem((key,), *split_remedy(str(exc)))) from None


def _written_out(located: Located) -> Located:
    value = located.value
    long: dict[str, Any] = {}
    if isinstance(value.get("input"), str):
        long["input"] = {"type": "prompt", "content": value["input"]}
    if "expected" in value and not isinstance(value["expected"], dict):
        long["expected"] = {"type": _SHORT_EXPECTED, "value": value["expected"]}
    return completed(located, **long)


def _tests(located: Located, library: Library) -> Iterator[WrittenEval]:
    file = validate(EvalTestFile, located)
    if (file.test_cases is None) == (file.test_case is None):
        message = "neither test_cases nor test_case" if file.test_case is None else "test_cases and test_case"
        raise InputError(located.problem((), message, "write one of them"))
    if file.test_case is not None:
        yield _test(located, file, part(located, "test_case"), library, own_id="")
        return
    for number, one in enumerate(entries(part(located, "test_cases"))):
        own = as_mapping(one, "a test case").get("id", f"tc-{number + 1:03}")
        yield _test(located, file, one, library, own_id=f"/{own}")


def _test(whole: Located, file: EvalTestFile, one: Located, library: Library, *, own_id: str) -> WrittenEval:
    """One test of a file with what the file says of all of them."""
    about = file.metadata
    own = dict(one.value)
    name = " · ".join(text for text in (about.name, str(own.get("name", ""))) if text)
    shared = {key: whole.value[key] for key in ("grader", "graders") if whole.value.get(key) is not None}
    graded = {} if {"grader", "graders"} & own.keys() else shared
    extra = about.model_dump(exclude={"id", "name", "description", "category"})
    metadata = {**extra, **_mapping(own.get("metadata"))}
    fields = {
        **own,
        **graded,
        "id": f"{about.id}{own_id}",
        "name": name,
        "description": own.get("description") or about.description,
        "category": own.get("category") or about.category,
        "metadata": metadata,
    }
    if file.eval_type == "regression":
        fields = _regression_fields(fields, whole.value)
    located = Located(fields, one.lines, one.file)
    return WrittenEval(_in_form(located, library), file.eval_type, file.config)


def _regression_fields(fields: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """`input` and `execution` make the current side; baseline and comparison may be the file's."""
    shared = {key: whole[key] for key in ("baseline", "comparison") if whole.get(key) is not None}
    fields = {**shared, **fields}
    if "current" in fields:
        return fields
    execution = fields.pop("execution", None) or whole.get("execution")
    current = {"input": fields.pop("input", None), **({"execution": execution} if execution else {})}
    return {**fields, "current": current}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
