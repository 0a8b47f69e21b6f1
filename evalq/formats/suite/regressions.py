"""Regression evals: what the current version is asked, and how its output is compared with the baseline."""

import json
from typing import Any

from pydantic import ValidationError

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.located import Located
from evalq.definitions.template import split_at_matchers
from evalq.formats.paths import Place
from evalq.formats.suite.evals import (
    EvalContext,
    EvalSource,
    SuiteEval,
    case_inputs,
    checked_graders,
    errors_at,
    metadata_of,
    prompt_of,
    shape_text,
    skill_call,
    skill_prompt,
    time_limit,
)
from evalq.formats.suite.forms import ComparisonForm, ExpectedForm, GraderForm, InputForm, RegressionForm
from evalq.formats.suite.graders import as_text, graders_of
from evalq.formats.suite.requests import SystemRequest, is_request, read_request

_RESPONSE_PARTS = ("status", "headers", "body")
_ALLOWANCES = ("allow_additional_fields", "allow_field_reordering")
_REFINING_METHODS = ("", "structural_match", "exact_match", "exact", "structural", "numeric", "semantic")
_MATCHER_EXAMPLES = {
    "any_uuid": "123e4567-e89b-42d3-a456-426614174000",
    "any_email": "someone@example.org",
    "any_iso_datetime": "2024-01-15T10:30:00Z",
    "any_number": "1",
    "any_string": "text",
}


def build_regression_eval(located: Located, form: RegressionForm, context: EvalContext) -> SuiteEval:
    """Build a regression eval, compared with the baseline in its file if there is one."""
    with errors_at(located, "current"):
        request, base_url, prompt = _read_question(form, context)
        skill = skill_call(form.current.execution, form.current.input, context.read_if_there)
    types = _grader_types(form)
    case = EvalCase(
        id=form.id,
        inputs=case_inputs(prompt, request, skill),
        stratum={"category": form.category or "regression"},
        metadata=metadata_of(form, "regression", context, types),
    )
    bare = SuiteEval(
        case,
        "regression",
        tuple(types),
        Place(located.file, located.line_of(())),
        request,
        base_url or context.base_url,
        form,
        EvalSource(located, context),
    )
    return with_baseline(bare, form.baseline.output)


def with_baseline(one: SuiteEval, baseline: Any) -> SuiteEval:
    """The eval with the graders that compare it with a baseline; without one it keeps none."""
    form, source = one.regression, one.source
    assert form is not None
    assert source is not None
    if baseline is None:
        return one
    located, context = source.located, source.context
    with errors_at(located, "comparison"):
        graders = comparison_graders(form, baseline, context, is_response=one.request is not None)
    example = example_of(baseline)
    _, _, prompt = _read_question(form, context)
    shape = shape_text(example) if form.comparison.type in ("structural", "numeric") else ""
    return one.with_case(
        inputs={**one.case.inputs, "prompt": "\n\n".join(text for text in (prompt, shape) if text)},
        expected={"answer": as_text(example)},
        graders=checked_graders(located, [*graders, *time_limit(form.metadata, context)]),
    )


def _read_question(
    form: RegressionForm, context: EvalContext
) -> tuple[SystemRequest | None, str | None, str]:
    """The request to send and its base URL, if it is one, and the prompt."""
    execution, given = form.current.execution, form.current.input
    is_http = execution.type == "http" if execution else is_request(given)
    if is_http:
        request, base_url = read_request(given)
        if execution and execution.base_url:
            base_url = execution.base_url
        return request, base_url, request.text()
    if isinstance(given, dict) and {"type", "content"} <= given.keys():
        title = form.description or form.name
        return None, None, prompt_of(_read_input(given), title, context.read)
    return None, None, skill_prompt(execution, given, context.read_if_there)


def _read_input(given: dict[str, Any]) -> InputForm:
    try:
        return InputForm.model_validate(given)
    except ValidationError as exc:
        error = exc.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("input", *error["loc"]))
        remedy = "write type: prompt, file or api_call, and content:"
        raise ValueError(f"{where}: {error['msg']}; {remedy}") from None


def _grader_types(form: RegressionForm) -> list[str]:
    if form.graders:
        return list(dict.fromkeys(one.type for one in form.graders))
    is_judged = form.comparison.type == "semantic" and not _required_texts(form.comparison)
    return ["model" if is_judged else "code"]


def comparison_graders(
    form: RegressionForm, baseline: Any, context: EvalContext, *, is_response: bool
) -> list[dict[str, Any]]:
    """The graders of a comparison: the comparison itself, and those that do more than refine it.

    A semantic comparison is left to the eval's model or human graders, if it has any.
    """
    others = []
    strict = None
    for one in form.graders:
        if not _is_refining(one):
            others.append(one)
        elif strict is None:
            strict = one.config.get("strict")
    graders: list[dict[str, Any]] = []
    if others:
        graders = graders_of(others, ExpectedForm(type="exact", value=baseline), context.library)
    if form.comparison.type == "semantic" and any(one.type != "code" for one in others):
        return graders
    return [
        _build_comparison_grader(form.comparison, baseline, strict=strict, is_response=is_response),
        *graders,
    ]


def other_graders(one: SuiteEval) -> list[GraderConfig]:
    """The graders of a regression that need no comparison, and its time limit: they count at a capture.

    People are not waited for, and a grader that only compares with a baseline has nothing to say yet.
    """
    form, source = one.regression, one.source
    assert form is not None
    assert source is not None
    written = form.baseline.output
    expected = ExpectedForm(type="none" if written is None else "exact", value=written)
    found: list[dict[str, Any]] = []
    for grader in form.graders:
        if grader.type == "human" or _is_refining(grader):
            continue
        try:
            found += graders_of([grader], expected, source.context.library)
        except ValueError:
            if written is not None:
                raise
    found += time_limit(form.metadata, source.context)
    return checked_graders(source.located, found)


def _is_refining(grader: GraderForm) -> bool:
    """Whether a grader only sets how strict the comparison is."""
    method = str(grader.config.get("method", "")).replace("-", "_")
    return grader.type == "code" and method in _REFINING_METHODS


def _build_comparison_grader(
    form: ComparisonForm, baseline: Any, *, strict: bool | None, is_response: bool
) -> dict[str, Any]:
    match form.type:
        case "exact":
            if isinstance(baseline, str) and not form.ignore_fields:
                return {"type": "exact_match", "value": baseline}
            return _build_structural_grader(form, baseline, strict=True, is_response=is_response)
        case "numeric":
            return {"type": "numeric_delta", "value": baseline, "tolerance": form.tolerance}
        case "semantic":
            required = _required_texts(form)
            if required:
                return {"type": "semantic", **required}
            return {"type": "verdict", "rubric": "answer_matches"}
        case "structural":
            is_strict = form.options.strict if strict is None else strict
            return _build_structural_grader(form, baseline, strict=bool(is_strict), is_response=is_response)


def _required_texts(form: ComparisonForm) -> dict[str, Any]:
    """What a semantic comparison requires or forbids by name."""
    return {key: form.tolerance[key] for key in ("must_include", "must_not_include") if key in form.tolerance}


def _build_structural_grader(
    form: ComparisonForm, baseline: Any, *, strict: bool, is_response: bool
) -> dict[str, Any]:
    unknown = set(form.tolerance) - set(_ALLOWANCES)
    if unknown:
        raise ValueError(
            f"tolerance {min(unknown)!r} has no meaning for a structure; write {' or '.join(_ALLOWANCES)}"
        )
    options = form.options
    grader = {
        "type": "structural_match",
        "value": baseline,
        "ignore_fields": [*form.ignore_fields, *options.ignore_fields],
        "ignore_values": list(options.ignore_values),
        "require_keys": list(options.require_keys),
        "strict": strict,
        **form.tolerance,
        **options.model_dump(include={*_ALLOWANCES}, exclude_none=True),
    }
    if is_response and isinstance(baseline, dict):
        for key in ("ignore_fields", "ignore_values", "require_keys"):
            grader[key] = [_path_in_response(path) for path in grader[key]]
        # Parts that the baseline lacks, such as the headers of a response, are not compared.
        grader["ignore_fields"] += [name for name in _RESPONSE_PARTS if name not in baseline]
        if not strict:
            grader["value"] = _with_lenient_headers(baseline)
    return grader


def _path_in_response(path: str) -> str:
    """A path of a response is one of its body, unless it begins with another part."""
    return path if path.partition(".")[0] in _RESPONSE_PARTS else f"body.{path}"


def _with_lenient_headers(baseline: dict[str, Any]) -> dict[str, Any]:
    """The response with header names in lower case and any parameters allowed for its content type."""
    headers = baseline.get("headers")
    if not isinstance(headers, dict):
        return baseline
    lenient = {name.lower(): value for name, value in headers.items()}
    content_type = lenient.get("content-type")
    if isinstance(content_type, str) and ";" not in content_type:
        lenient["content-type"] = f"{content_type}{{{{any_string}}}}"
    return {**baseline, "headers": lenient}


def example_of(value: Any) -> Any:
    """A value that a baseline with matchers accepts."""
    if isinstance(value, dict):
        return {key: example_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [example_of(item) for item in value]
    if not isinstance(value, str):
        return value
    parts = split_at_matchers(value)
    if parts == [("any_number", True)]:
        return 1
    return "".join(_MATCHER_EXAMPLES.get(text, text) if is_matcher else text for text, is_matcher in parts)


def output_of(answer: str) -> Any:
    """An answer as a baseline keeps it: parsed if it is JSON, else its text."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return answer
