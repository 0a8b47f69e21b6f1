"""Graders of eval files as graders of ours: code by its method, model by its scoring, human by its scale."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from evalq.definitions.rubrics import CRITERIA, RUBRICS
from evalq.formats.suite.forms import ExpectedForm, GraderForm
from evalq.formats.suite.library import Library
from evalq.formats.suite.rubrics import USUAL_RANGE, parse_rubric

_PASSED_ON = ("model", "models", "panel", "temperature", "max_tokens")
_KNOWN = {*_PASSED_ON, "rubric", "criteria", "scoring", "examples", "pass_threshold", "pass_categories"}
_USUAL_SHARE = 0.75
"""Four of one to five: where a scale of another range passes unless it says so."""

_DEFAULT_RUBRIC = "Does the output do what was asked, and does it agree with what was expected?"


def model_grader(config: Mapping[str, Any], library: Library) -> dict[str, Any]:
    """A model grader's config as a grader of ours; ValueError for what has no meaning."""
    unknown = sorted(set(config) - _KNOWN)
    if unknown:
        raise ValueError(
            f"unknown key {unknown[0]!r} in a model grader's config; known are {', '.join(sorted(_KNOWN))}"
        )
    scoring = _scoring(config)
    rubric = _rubric_text(config.get("rubric"), library)
    made = {key: config[key] for key in _PASSED_ON if config.get(key) is not None}
    match scoring.get("type", "numeric"):
        case "categorical":
            return made | _categorical(config, scoring, rubric)
        case "boolean":
            return made | {"type": "boolean", "rubric": rubric} | _examples(config, _boolean_example)
        case "numeric":
            return made | _numeric_model_grader(config, scoring, rubric)
        case other:
            raise ValueError(f"scoring.type cannot be {other!r}; write numeric, categorical or boolean")


def _scoring(config: Mapping[str, Any]) -> Mapping[str, Any]:
    scoring = config.get("scoring") or {}
    if not isinstance(scoring, dict):
        raise ValueError("scoring is not a mapping; write type, and range or categories")
    return scoring


def _rubric_text(written: Any, library: Library) -> str:
    """The rubric: text, or the name of a shared or a built-in one."""
    if written is None:
        return _DEFAULT_RUBRIC
    if not isinstance(written, str) or not written.strip():
        raise ValueError("rubric is no text; write what a good answer is, or the name of a shared rubric")
    name = written.strip()
    built_in = name.removesuffix("_rubric")
    if name in library.rubrics:
        return library.rubrics[name]
    return built_in if built_in in CRITERIA or built_in in RUBRICS else written


def _numeric_model_grader(
    config: Mapping[str, Any], scoring: Mapping[str, Any], rubric: str
) -> dict[str, Any]:
    listed = config.get("criteria")
    if listed is not None or rubric in CRITERIA:
        scale = _scale(config, scoring, USUAL_RANGE)
        about = {"rubric": _plain(rubric)} if listed is not None and config.get("rubric") else {}
        made = {"type": "criteria", "criteria": listed if listed is not None else rubric, **about, **scale}
        names = [one.get("name") for one in listed] if isinstance(listed, list) else []
        return made | _examples(config, lambda one: _criteria_example(one, [str(name) for name in names]))
    parsed = parse_rubric(rubric)
    if parsed is None:
        scale = _scale(config, scoring, USUAL_RANGE)
        return {"type": "rubric", "rubric": _plain(rubric), **scale} | _examples(config, _score_example)
    names = [one["name"] for one in parsed.criteria]
    about = {"rubric": _plain(parsed.opening)} if parsed.opening else {}
    made = {"type": "criteria", "criteria": list(parsed.criteria), **about}
    scale = _scale(config, scoring, parsed.range)
    return made | scale | _examples(config, lambda one: _criteria_example(one, names))


def _plain(rubric: str) -> str:
    """Text, not a template: braces of a foreign rubric mean nothing to us, and a name stays a name."""
    return rubric if rubric in RUBRICS else rubric.replace("{", "{{").replace("}", "}}")


def _scale(config: Mapping[str, Any], scoring: Mapping[str, Any], found: tuple[int, int]) -> dict[str, Any]:
    low, high = _ends(scoring.get("range")) or found
    threshold = config.get("pass_threshold", scoring.get("pass_threshold"))
    return {"range": [low, high], "pass_threshold": _threshold(threshold, low, high)}


def _ends(written: Any) -> tuple[int, int] | None:
    """The ends of a range as it is written; None for none."""
    if written is None or written == []:
        return None
    is_pair = isinstance(written, list) and len(written) == 2
    if not is_pair or not all(isinstance(end, int) and not isinstance(end, bool) for end in written):
        raise ValueError("scoring.range is no range; write the lowest and the highest score, such as [1, 5]")
    return written[0], written[1]


def _threshold(written: Any, low: int, high: int) -> float:
    if written is None:
        return low + _USUAL_SHARE * (high - low)
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise ValueError("pass_threshold is no number; write the score that passes")
    return float(written)


def _categorical(config: Mapping[str, Any], scoring: Mapping[str, Any], rubric: str) -> dict[str, Any]:
    passing = config.get("pass_categories", scoring.get("pass_categories"))
    if not passing:
        raise ValueError("which categories pass? add pass_categories beside them")
    categories = {"categories": scoring.get("categories", []), "pass_categories": passing}
    made = {"type": "categorical", "rubric": _plain(rubric), **categories}
    return made | _examples(config, _category_example)


def _examples(config: Mapping[str, Any], read: Any) -> dict[str, Any]:
    examples = config.get("examples") or []
    if not isinstance(examples, list) or not all(isinstance(one, dict) for one in examples):
        raise ValueError("examples is no list of mappings; write input, output and score of each")
    return {"examples": [read(one) for one in examples]} if examples else {}


def _shown(example: Mapping[str, Any]) -> dict[str, Any]:
    return {key: example[key] for key in ("input", "output", "justification") if key in example}


def _score_example(example: Mapping[str, Any]) -> dict[str, Any]:
    return {**_shown(example), "score": example.get("score")}


def _criteria_example(example: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """One score for all stands for the same score on each criterion."""
    scores = example.get("scores", dict.fromkeys(names, example.get("score")))
    return {**_shown(example), "scores": scores}


def _category_example(example: Mapping[str, Any]) -> dict[str, Any]:
    return {**_shown(example), "category": example.get("category", example.get("score"))}


def _boolean_example(example: Mapping[str, Any]) -> dict[str, Any]:
    said = example.get("answer", example.get("passed", example.get("score")))
    return {**_shown(example), "answer": bool(said) if isinstance(said, int) else said}


NOTHING = ExpectedForm(type="none")

_METHOD_OF = {
    "exact": "exact_match",
    "contains": "contains",
    "pattern": "regex",
    "semantic": "semantic",
    "functional": "function_output",
    "numeric": "numeric",
    "structural": "structural_match",
}
_SPELLINGS = {
    "exact": "exact_match",
    "regex_match": "regex",
    "pattern": "regex",
    "function": "function_output",
    "functional": "function_output",
    "structural": "structural_match",
}
_SCALES = ("binary", "likert", "ranking")
_DECLARES_CODE = ("executor", "function_name", "test_cases")

Parts = Mapping[str, Any]


def graders_of(
    forms: list[GraderForm], expected: ExpectedForm | None, library: Library
) -> list[dict[str, Any]]:
    """The graders of an eval, ready to be validated; by what is expected when it names none.

    ValueError for what has no meaning, as `what is wrong; what to do`.
    """
    wanted = expected or NOTHING
    if forms:
        return [made for form in forms for made in _made(form, wanted, library)]
    if wanted.type == "none":
        raise ValueError("nothing marks the answer; add a grader, or what is expected")
    if wanted.type == "semantic" and not isinstance(wanted.value, dict):
        return [{"type": "verdict", "rubric": "answer_matches"}]
    return _code(GraderForm(type="code"), wanted)


def types_of(forms: list[GraderForm], graders: list[dict[str, Any]]) -> list[str]:
    """The types of an eval's graders as its author calls them; a grader model nobody named is one too."""
    if forms:
        return list(dict.fromkeys(form.type for form in forms))
    return ["model" if graders[0]["type"] == "verdict" else "code"]


def _made(form: GraderForm, expected: ExpectedForm, library: Library) -> list[dict[str, Any]]:
    config = {**library.defaults.get(form.type, {}), **form.config}
    filled = form.model_copy(update={"config": config})
    match form.type:
        case "code":
            graders = _code(filled, expected)
        case "model":
            graders = [model_grader(config, library)]
        case "human":
            graders = [_human(config, library)]
    own = {"name": form.name, "weight": form.weight, "required": form.required}
    return [{**one, **{key: value for key, value in own.items() if value is not None}} for one in graders]


def _code(form: GraderForm, expected: ExpectedForm) -> list[dict[str, Any]]:
    config = dict(form.config)
    method = str(config.pop("method", "") or _guessed(config, expected)).replace("-", "_")
    method = _SPELLINGS.get(method, method)
    return [_CODE.get(method, _own_check)(method, config, expected)]


def _guessed(config: Parts, expected: ExpectedForm) -> str:
    if any(key in config for key in _DECLARES_CODE):
        return "function_output"
    if "pattern" in config:
        return "regex"
    if expected.type == "none":
        raise ValueError("which check is meant? add method to the grader's config, or what is expected")
    return _METHOD_OF[expected.type]


def _exact(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    value = config.pop("value", config.pop("expected", expected.value))
    return {
        "type": method,
        "value": as_text(value),
        **_others([as_text(other) for other in expected.alternatives]),
        **config,
    }


def _contains(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    value = config.pop("value", config.pop("expected", expected.value))
    prefix = "" if config.pop("case_sensitive", True) else "i"
    if isinstance(value, list):
        return {"type": f"{prefix}contains_all", "values": [as_text(one) for one in value], **config}
    others = _others([as_text(other) for other in expected.alternatives])
    return {"type": f"{prefix}{method}", "value": as_text(value), **others, **config}


def _regex(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    pattern = config.pop("pattern", expected.value)
    if not isinstance(pattern, str):
        raise ValueError("a regex grader has no pattern; add pattern to its config")
    others = _others(expected.alternatives if expected.type == "pattern" else [])
    return {"type": method, "pattern": pattern, **others, **config}


def _semantic(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    value = expected.value
    demands = value if isinstance(value, dict) else {"must_include": value}
    return {"type": method, **demands, **config}


def _structural(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    own = {} if expected.type == "none" else {"value": expected.value, **_others(expected.alternatives)}
    return {"type": method, **own, **config}


def _numeric(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    own = {} if expected.type == "none" else {"value": _number(expected.value)}
    return {"type": method, **own, **_others([_number(one) for one in expected.alternatives]), **config}


def _function(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    cases = config.pop("test_cases", None)
    if cases is None and isinstance(expected.value, dict):
        cases = expected.value.get("test_cases")
    if not isinstance(cases, list) or not cases:
        raise ValueError("a function_output grader has no test_cases; list input and output of each")
    return {"type": method, "test_cases": [_test_case(case) for case in cases], **config}


def _test_case(case: Any) -> Any:
    """`input` and `output` are `args` and `expected`; one argument need not be a list."""
    if not isinstance(case, dict) or "input" not in case:
        return case
    given = case["input"]
    kept = {key: value for key, value in case.items() if key not in ("input", "output")}
    call = {"kwargs": given, "args": []} if isinstance(given, dict) else {"args": _as_list(given)}
    return {**call, **({"expected": case["output"]} if "output" in case else {}), **kept}


def _own_check(method: str, config: dict[str, Any], expected: ExpectedForm) -> dict[str, Any]:
    """Any other check of ours by its own name; what is expected is its value unless it has one."""
    own = {} if expected.value is None or {"value", "values", "expected"} & config.keys() else expected.value
    return {"type": method, **({} if own == {} else {"value": own}), **config}


_CODE: Mapping[str, Callable[[str, dict[str, Any], ExpectedForm], dict[str, Any]]] = {
    "exact_match": _exact,
    "equals": _exact,
    "contains": _contains,
    "regex": _regex,
    "semantic": _semantic,
    "structural_match": _structural,
    "numeric": _numeric,
    "function_output": _function,
}


def _human(config: dict[str, Any], library: Library) -> dict[str, Any]:
    """People's scale and rubric may be shared ones, by name."""
    scale, rubric = config.get("rating_scale"), config.get("rubric")
    if isinstance(scale, str) and scale not in _SCALES:
        if scale not in library.scales:
            raise ValueError(f"no scale is called {scale!r}; add it to config/graders.yaml, or write it out")
        config = {**config, "rating_scale": dict(library.scales[scale])}
    if isinstance(rubric, str) and rubric in library.rubrics:
        config = {**config, "rubric": library.rubrics[rubric]}
    return {"type": "human", **config}


def as_text(value: Any) -> str:
    """A value as an answer would say it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: Any) -> Any:
    """A number of a file is a float to a strict model; what is none is left to it."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _others(alternatives: list[Any]) -> dict[str, Any]:
    return {"alternatives": alternatives} if alternatives else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
