"""Regression evals: what the current version is asked, and how its output is held against the baseline."""

import json
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.located import Located
from evalq.definitions.template import split_at_matchers
from evalq.formats.paths import Place
from evalq.formats.suite.evals import (
    EvalContext,
    EvalSource,
    SuiteEval,
    checked_graders,
    errors_at,
    metadata_of,
    prompt_of,
    shape_text,
    skill_prompt,
    time_limit,
)
from evalq.formats.suite.forms import ComparisonForm, ExpectedForm, GraderForm, InputForm, RegressionForm
from evalq.formats.suite.graders import as_text, graders_of
from evalq.formats.suite.requests import SystemRequest, is_request, read_request

_RESPONSE = ("status", "headers", "body")
_REFINING = ("", "structural_match", "exact_match", "exact", "structural", "numeric", "semantic")
_EXAMPLES: dict[str, Any] = {
    "any_uuid": "123e4567-e89b-42d3-a456-426614174000",
    "any_email": "someone@example.org",
    "any_iso_datetime": "2024-01-15T10:30:00Z",
    "any_number": "1",
    "any_string": "text",
}


def build_regression_eval(located: Located, form: RegressionForm, setting: EvalContext) -> SuiteEval:
    """A regression eval, compared with the baseline written in its file if there is one."""
    with errors_at(located, "current"):
        request, base_url, prompt = _asked(form, setting)
    bare = SuiteEval(
        EvalCase(
            id=form.id,
            inputs={"prompt": prompt, **({"request": request.document()} if request else {})},
            stratum={"category": form.category or "regression"},
            metadata=metadata_of(form, "regression", setting, _types(form)),
        ),
        "regression",
        tuple(_types(form)),
        Place(located.file, located.line_of(())),
        request,
        base_url or setting.base_url,
        form,
        EvalSource(located, setting),
    )
    return with_baseline(bare, form.baseline.output)


def with_baseline(one: SuiteEval, baseline: Any) -> SuiteEval:
    """The eval held against a baseline; without one it has no graders, and nothing can be said of it."""
    form, source = one.regression, one.source
    assert form is not None
    assert source is not None
    if baseline is None:
        return one
    located, setting = source.located, source.setting
    with errors_at(located, "comparison"):
        graders = comparison_graders(form, baseline, setting, is_response=one.request is not None)
    shape = shape_text(example_of(baseline)) if form.comparison.type in ("structural", "numeric") else ""
    _, _, prompt = _asked(form, setting)
    return one.with_case(
        inputs={**one.case.inputs, "prompt": "\n\n".join(text for text in (prompt, shape) if text)},
        expected={"answer": as_text(example_of(baseline))},
        graders=checked_graders(located, [*graders, *time_limit(form.metadata, setting)]),
    )


def comparison_graders(
    form: RegressionForm, baseline: Any, setting: EvalContext, *, is_response: bool
) -> list[dict[str, Any]]:
    """The graders of a comparison: the comparison itself, unless people or a model make it, and others."""
    refining = [one for one in form.graders if one.type == "code" and _method(one) in _REFINING]
    others = [one for one in form.graders if one not in refining]
    expected = ExpectedForm(type="exact", value=baseline)
    made = graders_of(others, expected, setting.library) if others else []
    if form.comparison.type == "semantic" and any(one.type != "code" for one in others):
        return made
    strict = next((one.config["strict"] for one in refining if "strict" in one.config), None)
    return [_compare(form.comparison, baseline, strict=strict, is_response=is_response), *made]


def example_of(value: Any) -> Any:
    """A value that a baseline with matchers allows."""
    if isinstance(value, dict):
        return {key: example_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [example_of(item) for item in value]
    if not isinstance(value, str):
        return value
    parts = split_at_matchers(value)
    if parts == [("any_number", True)]:
        return 1
    return "".join(_EXAMPLES.get(text, text) if is_matcher else text for text, is_matcher in parts)


def _asked(form: RegressionForm, setting: EvalContext) -> tuple[SystemRequest | None, str | None, str]:
    execution, given = form.current.execution, form.current.input
    is_http = execution.type == "http" if execution else is_request(given)
    if is_http:
        request, base_url = read_request(given)
        return request, (execution.base_url if execution else None) or base_url, request.text()
    if isinstance(given, dict) and {"type", "content"} <= given.keys():
        form_of_input = InputForm.model_validate(given)
        return None, None, prompt_of(form_of_input, form.description or form.name, setting.read)
    return None, None, skill_prompt(execution, given, setting.read_if_there)


def _types(form: RegressionForm) -> list[str]:
    if form.graders:
        return list(dict.fromkeys(one.type for one in form.graders))
    is_judged = form.comparison.type == "semantic" and not _demands(form.comparison)
    return ["model" if is_judged else "code"]


def _method(form: GraderForm) -> str:
    return str(form.config.get("method", "")).replace("-", "_")


def _compare(
    form: ComparisonForm, baseline: Any, *, strict: bool | None, is_response: bool
) -> dict[str, Any]:
    match form.type:
        case "exact":
            return _exact(form, baseline, is_response=is_response)
        case "numeric":
            return {"type": "numeric_delta", "value": baseline, "tolerance": form.tolerance}
        case "semantic":
            demands = _demands(form)
            return (
                {"type": "semantic", **demands}
                if demands
                else {"type": "verdict", "rubric": "answer_matches"}
            )
        case "structural":
            is_strict = form.options.strict if strict is None else strict
            return _structural(form, baseline, strict=bool(is_strict), is_response=is_response)


def _demands(form: ComparisonForm) -> dict[str, Any]:
    return {key: form.tolerance[key] for key in ("must_include", "must_not_include") if key in form.tolerance}


def _exact(form: ComparisonForm, baseline: Any, *, is_response: bool) -> dict[str, Any]:
    if isinstance(baseline, str) and not form.ignore_fields:
        return {"type": "exact_match", "value": baseline}
    return _structural(form, baseline, strict=True, is_response=is_response)


def _structural(form: ComparisonForm, baseline: Any, *, strict: bool, is_response: bool) -> dict[str, Any]:
    options = form.options
    unknown = set(form.tolerance) - {"allow_additional_fields", "allow_field_reordering"}
    if unknown:
        raise ValueError(
            f"tolerance {min(unknown)!r} has no meaning for a structure; "
            "write allow_additional_fields or allow_field_reordering"
        )
    allowed = {**form.tolerance, **options.model_dump(include={*_ALLOWANCES}, exclude_none=True)}
    ignored = [*form.ignore_fields, *options.ignore_fields]
    # What a baseline has no word for, such as the headers of a response, is not compared.
    silent = [
        name for name in _RESPONSE if is_response and isinstance(baseline, dict) and name not in baseline
    ]
    inside = _inside_body if is_response and isinstance(baseline, dict) else lambda path: path
    return {
        "type": "structural_match",
        "value": _lenient_headers(baseline) if is_response and not strict else baseline,
        "ignore_fields": [*map(inside, ignored), *silent],
        "ignore_values": [inside(path) for path in options.ignore_values],
        "require_keys": [inside(path) for path in options.require_keys],
        "strict": strict,
        **allowed,
    }


_ALLOWANCES = ("allow_additional_fields", "allow_field_reordering")


def _inside_body(path: str) -> str:
    """Paths of a response are those of its body, unless they say otherwise."""
    return path if path.partition(".")[0] in _RESPONSE else f"body.{path}"


def _lenient_headers(baseline: Any) -> Any:
    """Header names in lower case; a content type without parameters allows any."""
    headers = baseline.get("headers") if isinstance(baseline, dict) else None
    if not isinstance(headers, dict):
        return baseline
    low = {name.lower(): value for name, value in headers.items()}
    kind = low.get("content-type")
    if isinstance(kind, str) and ";" not in kind:
        low["content-type"] = f"{kind}{{{{any_string}}}}"
    return {**baseline, "headers": low}


def output_of(answer: str) -> Any:
    """An answer as a baseline keeps it: JSON where it is JSON, else its text."""
    try:
        return json.loads(answer)
    except (ValueError, RecursionError):
        return answer
