"""Graders of eval files as graders of evalq: code by method, model by scoring, human by scale."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from evalq.definitions.rubrics import CRITERIA, RUBRICS
from evalq.formats.own_scale import find_own_scale
from evalq.formats.suite.forms import ExpectedForm, GraderForm
from evalq.formats.suite.library import Library
from evalq.formats.suite.rubrics import USUAL_RANGE, parse_rubric

_METHOD_BY_EXPECTED = {
    "exact": "exact_match",
    "contains": "contains",
    "pattern": "regex",
    "semantic": "semantic",
    "functional": "function_output",
    "numeric": "numeric",
    "structural": "structural_match",
}
_METHOD_SPELLINGS = {
    "exact": "exact_match",
    "regex_match": "regex",
    "pattern": "regex",
    "function": "function_output",
    "functional": "function_output",
    "structural": "structural_match",
}
_CODE_KEYS = ("executor", "function_name", "test_cases")
_SCALES = ("binary", "likert", "ranking")
_MODEL_KEYS = ("model", "models", "panel", "temperature", "max_tokens")
_MODEL_GRADER_KEYS = {
    *_MODEL_KEYS,
    "rubric",
    "criteria",
    "scoring",
    "examples",
    "pass_threshold",
    "pass_categories",
}
_DEFAULT_RUBRIC = "Does the output do what was asked, and does it agree with what was expected?"
_DEFAULT_PASS_SHARE = 0.75
"""Where a scale passes by default: 4 on a scale from 1 to 5."""

Config = dict[str, Any]
ExampleReader = Callable[[Mapping[str, Any]], Config]


def graders_of(forms: list[GraderForm], expected: ExpectedForm | None, library: Library) -> list[Config]:
    """The graders of an eval, ready to be validated; chosen by what it expects when it names none.

    Raises ValueError for invalid graders, as `what is wrong; what to do`.
    """
    expected = expected or ExpectedForm(type="none")
    if not forms:
        return [_build_default_grader(expected)]
    graders = []
    for form in forms:
        config = {**library.defaults.get(form.type, {}), **form.config}
        match form.type:
            case "code":
                grader = _build_code_grader(config, expected)
            case "model":
                grader = build_model_grader(config, library)
            case "human":
                grader = _build_human_grader(config, library)
        own = {"name": form.name, "weight": form.weight, "required": form.required}
        graders.append({**grader, **{key: value for key, value in own.items() if value is not None}})
    return graders


def types_of(forms: list[GraderForm], graders: list[Config]) -> list[str]:
    """The types of an eval's graders in the words of its file: code, model or human."""
    if forms:
        return list(dict.fromkeys(form.type for form in forms))
    return ["model" if graders[0]["type"] == "verdict" else "code"]


def as_text(value: Any) -> str:
    """A value as an answer would show it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _build_default_grader(expected: ExpectedForm) -> Config:
    if expected.type == "none":
        raise ValueError("nothing grades the answer; add a grader, or what is expected")
    if expected.type == "semantic" and not isinstance(expected.value, dict):
        return {"type": "verdict", "rubric": "answer_matches"}
    return _build_code_grader({}, expected)


def _build_code_grader(config: Config, expected: ExpectedForm) -> Config:
    config = dict(config)
    method = str(config.pop("method", "") or _guess_method(config, expected)).replace("-", "_")
    method = _METHOD_SPELLINGS.get(method, method)
    build = _CODE_GRADERS.get(method, _build_other_check)
    return build(method, config, expected)


def _guess_method(config: Config, expected: ExpectedForm) -> str:
    if any(key in config for key in _CODE_KEYS):
        return "function_output"
    if "pattern" in config:
        return "regex"
    if expected.type == "none":
        raise ValueError("which check is meant? add method to the grader's config, or what is expected")
    return _METHOD_BY_EXPECTED[expected.type]


def _build_exact(method: str, config: Config, expected: ExpectedForm) -> Config:
    value = config.pop("value", config.pop("expected", expected.value))
    others = _with_alternatives([as_text(other) for other in expected.alternatives])
    return {"type": method, "value": as_text(value), **others, **config}


def _build_contains(method: str, config: Config, expected: ExpectedForm) -> Config:
    value = config.pop("value", config.pop("expected", expected.value))
    prefix = "" if config.pop("case_sensitive", True) else "i"
    if isinstance(value, list):
        return {"type": f"{prefix}contains_all", "values": [as_text(one) for one in value], **config}
    others = _with_alternatives([as_text(other) for other in expected.alternatives])
    return {"type": f"{prefix}{method}", "value": as_text(value), **others, **config}


def _build_regex(method: str, config: Config, expected: ExpectedForm) -> Config:
    pattern = config.pop("pattern", expected.value)
    if not isinstance(pattern, str):
        raise ValueError("a regex grader has no pattern; add pattern to its config")
    others = _with_alternatives(expected.alternatives if expected.type == "pattern" else [])
    return {"type": method, "pattern": pattern, **others, **config}


def _build_semantic(method: str, config: Config, expected: ExpectedForm) -> Config:
    value = expected.value
    required = value if isinstance(value, dict) else {"must_include": value}
    return {"type": method, **required, **config}


def _build_structural(method: str, config: Config, expected: ExpectedForm) -> Config:
    if expected.type == "none":
        return {"type": method, **config}
    return {"type": method, "value": expected.value, **_with_alternatives(expected.alternatives), **config}


def _build_numeric(method: str, config: Config, expected: ExpectedForm) -> Config:
    grader: Config = {"type": method}
    if expected.type != "none":
        grader["value"] = _as_float(expected.value)
    return {**grader, **_with_alternatives([_as_float(one) for one in expected.alternatives]), **config}


def _build_function(method: str, config: Config, expected: ExpectedForm) -> Config:
    cases = config.pop("test_cases", None)
    if cases is None and isinstance(expected.value, dict):
        cases = expected.value.get("test_cases")
    if not isinstance(cases, list) or not cases:
        raise ValueError("a function_output grader has no test_cases; list input and output of each")
    return {"type": method, "test_cases": [_read_test_case(case) for case in cases], **config}


def _read_test_case(case: Any) -> Any:
    """Read `input` and `output` as `args` and `expected`; one argument need not be a list."""
    if not isinstance(case, dict) or "input" not in case:
        return case
    given = case["input"]
    call: Config
    if isinstance(given, dict):
        call = {"kwargs": given, "args": []}
    else:
        call = {"args": given if isinstance(given, list) else [given]}
    if "output" in case:
        call["expected"] = case["output"]
    return {**call, **{key: value for key, value in case.items() if key not in ("input", "output")}}


def _build_other_check(method: str, config: Config, expected: ExpectedForm) -> Config:
    """Any other check by its own name; what is expected is its value unless its config has one."""
    has_value = bool({"value", "values", "expected"} & config.keys())
    if has_value or expected.value in (None, {}):
        return {"type": method, **config}
    return {"type": method, "value": expected.value, **config}


_CODE_GRADERS: Mapping[str, Callable[[str, Config, ExpectedForm], Config]] = {
    "exact_match": _build_exact,
    "equals": _build_exact,
    "contains": _build_contains,
    "regex": _build_regex,
    "semantic": _build_semantic,
    "structural_match": _build_structural,
    "numeric": _build_numeric,
    "function_output": _build_function,
}


def _with_alternatives(values: list[Any]) -> Config:
    return {"alternatives": values} if values else {}


def _as_float(value: Any) -> Any:
    """An integer as a float, which the strict model wants; any other value as it is."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _build_human_grader(config: Config, library: Library) -> Config:
    """A human grader; its scale and its rubric may be the names of shared ones."""
    grader = {"type": "human", **config}
    scale, rubric = config.get("rating_scale"), config.get("rubric")
    if isinstance(scale, str) and scale not in _SCALES:
        if scale not in library.scales:
            raise ValueError(f"no scale is called {scale!r}; add it to config/graders.yaml, or write it out")
        grader["rating_scale"] = dict(library.scales[scale])
    if isinstance(rubric, str) and rubric in library.rubrics:
        grader["rubric"] = library.rubrics[rubric]
    return grader


def build_model_grader(config: Mapping[str, Any], library: Library) -> Config:
    """A model grader; ValueError for invalid config."""
    unknown = sorted(set(config) - _MODEL_GRADER_KEYS)
    if unknown:
        known = ", ".join(sorted(_MODEL_GRADER_KEYS))
        raise ValueError(f"unknown key {unknown[0]!r} in a model grader's config; known are {known}")
    scoring = config.get("scoring") or {}
    if not isinstance(scoring, dict):
        raise ValueError("scoring is not a mapping; write type, and range or categories")
    rubric = _find_rubric(config.get("rubric"), library)
    match scoring.get("type", "numeric"):
        case "categorical":
            grader = _build_categorical_grader(config, scoring, rubric)
        case "boolean":
            grader = {"type": "boolean", "rubric": rubric, **_read_examples(config, _read_boolean_example)}
        case "numeric":
            grader = _build_score_grader(config, scoring, rubric)
        case other:
            raise ValueError(f"scoring.type cannot be {other!r}; write numeric, categorical or boolean")
    return {**{key: config[key] for key in _MODEL_KEYS if config.get(key) is not None}, **grader}


def _find_rubric(written: Any, library: Library) -> str:
    """The rubric: its text, or that of the shared or built-in one it names."""
    if written is None:
        return _DEFAULT_RUBRIC
    if not isinstance(written, str) or not written.strip():
        raise ValueError("rubric is not text; write what a good answer is, or the name of a shared rubric")
    name = written.strip()
    if name in library.rubrics:
        return library.rubrics[name]
    built_in = name.removesuffix("_rubric")
    return built_in if built_in in CRITERIA or built_in in RUBRICS else written


def _build_categorical_grader(config: Mapping[str, Any], scoring: Config, rubric: str) -> Config:
    passing = config.get("pass_categories", scoring.get("pass_categories"))
    if not passing:
        raise ValueError("which categories pass? add pass_categories beside them")
    return {
        "type": "categorical",
        "rubric": _escape_braces(rubric),
        "categories": scoring.get("categories", []),
        "pass_categories": passing,
        **_read_examples(config, _read_category_example),
    }


def _build_score_grader(config: Mapping[str, Any], scoring: Config, rubric: str) -> Config:
    """A grader with scores: by the criteria of the config, or of the rubric, else one score for all."""
    listed = config.get("criteria")
    if listed is not None:
        opening = rubric if config.get("rubric") else ""
        return _build_criteria_grader(config, scoring, listed, opening=opening)
    if rubric in CRITERIA:
        return _build_criteria_grader(config, scoring, rubric)
    parsed = parse_rubric(rubric)
    if parsed is not None:
        return _build_criteria_grader(
            config, scoring, list(parsed.criteria), opening=parsed.opening, usual_range=parsed.range
        )
    return {
        "type": "rubric",
        "rubric": _escape_braces(rubric),
        **_read_scale(config, scoring, _own_range(scoring, rubric)),
        **_read_examples(config, _read_score_example),
    }


def _build_criteria_grader(
    config: Mapping[str, Any],
    scoring: Config,
    criteria: Any,
    *,
    opening: str = "",
    usual_range: tuple[int, int] = USUAL_RANGE,
) -> Config:
    listed = criteria if isinstance(criteria, list) else []
    if not all(isinstance(one, dict) for one in listed):
        raise ValueError("a criterion is not a mapping; write {name: …, description: …}")
    names = [str(one.get("name")) for one in listed]
    grader = {"type": "criteria", "criteria": criteria}
    if opening:
        grader["rubric"] = _escape_braces(opening)
    return {
        **grader,
        **_read_scale(config, scoring, usual_range),
        **_read_examples(config, lambda one: _read_criteria_example(one, names)),
    }


def _escape_braces(rubric: str) -> str:
    """The rubric as a template that renders as written; the name of a built-in one stays a name."""
    return rubric if rubric in RUBRICS else rubric.replace("{", "{{").replace("}", "}}")


def _read_scale(config: Mapping[str, Any], scoring: Config, usual_range: tuple[int, int]) -> Config:
    low, high = _read_range(scoring.get("range")) or usual_range
    threshold = config.get("pass_threshold", scoring.get("pass_threshold"))
    if threshold is None:
        threshold = low + _DEFAULT_PASS_SHARE * (high - low)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ValueError("pass_threshold is not a number; write the score that passes")
    return {"range": [low, high], "pass_threshold": float(threshold)}


def _own_range(scoring: Config, rubric: str) -> tuple[int, int]:
    """The range that the text of a rubric asks for, unless scoring.range is written; else the usual one."""
    if scoring.get("range") or rubric in RUBRICS:
        return USUAL_RANGE
    own = find_own_scale(rubric)
    return (own.low, own.high) if own else USUAL_RANGE


def _read_range(written: Any) -> tuple[int, int] | None:
    if written is None or written == []:
        return None
    is_pair = isinstance(written, list) and len(written) == 2
    if not is_pair or not all(isinstance(end, int) and not isinstance(end, bool) for end in written):
        raise ValueError(
            "scoring.range is not a range; write the lowest and the highest score, such as [1, 5]"
        )
    return written[0], written[1]


def _read_examples(config: Mapping[str, Any], read: ExampleReader) -> Config:
    examples = config.get("examples") or []
    if not isinstance(examples, list) or not all(isinstance(one, dict) for one in examples):
        raise ValueError("examples is not a list of mappings; write input, output and score of each")
    return {"examples": [read(one) for one in examples]} if examples else {}


def _keep_shown_parts(example: Mapping[str, Any]) -> Config:
    return {key: example[key] for key in ("input", "output", "justification") if key in example}


def _read_score_example(example: Mapping[str, Any]) -> Config:
    return {**_keep_shown_parts(example), "score": example.get("score")}


def _read_criteria_example(example: Mapping[str, Any], names: list[str]) -> Config:
    """An example with a single score has that score on every criterion."""
    scores = example.get("scores", dict.fromkeys(names, example.get("score")))
    return {**_keep_shown_parts(example), "scores": scores}


def _read_category_example(example: Mapping[str, Any]) -> Config:
    return {**_keep_shown_parts(example), "category": example.get("category", example.get("score"))}


def _read_boolean_example(example: Mapping[str, Any]) -> Config:
    answer = example.get("answer", example.get("passed", example.get("score")))
    return {**_keep_shown_parts(example), "answer": bool(answer) if isinstance(answer, int) else answer}
