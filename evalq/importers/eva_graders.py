"""The graders of an eva case: one for each assertion, one for the rubric."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.graders import GraderConfig
from evalq.definitions.json_text import load_json
from evalq.definitions.template import names_builtin_rubric
from evalq.definitions.validation import split_remedy
from evalq.importers.eva_eval import Assertion, Case, EvalFile
from evalq.importers.eva_prompt import PromptFolder
from evalq.importers.paths import Place, read_inside

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)

_PARAMETERS: Mapping[str, str] = {
    "contains": "value",
    "not_contains": "value",
    "contains_any": "values",
    "contains_all": "values",
    "matches": "pattern",
    "not_matches": "pattern",
    "min_tokens": "value",
    "max_tokens": "value",
    "json_schema": "schema",
}
"""The parameter of our grader that holds what an assertion looks for."""


def graders_of(
    case: Case, exam: EvalFile, folder: PromptFolder, *, place_of: Callable[[int], Place]
) -> list[GraderConfig]:
    """What marks a case's answers; `place_of` says where its assertions are written."""
    checks = [_check(one, folder, place_of(number)) for number, one in enumerate(case.asserts)]
    return [*checks, _rubric(case, exam)] if case.rubric is not None else checks


def _check(assertion: Assertion, folder: PromptFolder, place: Place) -> GraderConfig:
    op, value = assertion.op, assertion.value
    if op == "json_schema" and isinstance(value, str):
        value = load_json(read_inside(value, folder.roots, place=place), value).value
    try:
        return _GRADER.validate_python({"type": op, _PARAMETERS[op]: value})
    except ValidationError as exc:
        message, remedy = split_remedy(exc.errors()[0]["msg"].removeprefix("Value error, "))
        raise place.error(f"{op}: {message}", remedy or "change the value") from None


def _rubric(case: Case, exam: EvalFile) -> GraderConfig:
    fields: dict[str, Any] = {
        "type": "rubric",
        "rubric": _as_plain_text(case.rubric or ""),
        "pass_threshold": exam.threshold_of(case),
    }
    model = exam.grader_of(case)
    return _GRADER.validate_python({**fields, "model": model} if model else fields)


def _as_plain_text(rubric: str) -> str:
    """A rubric that means itself: ours may have names in braces, or be the name of a built-in one."""
    text = rubric.replace("{", "{{").replace("}", "}}")
    return f"{text}." if names_builtin_rubric(text) else text
