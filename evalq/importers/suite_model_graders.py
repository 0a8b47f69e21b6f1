"""Model graders of eval files: a rubric with criteria, or one score, category or yes for the whole answer."""

from collections.abc import Mapping
from typing import Any

from evalq.definitions.rubric_library import CRITERIA, RUBRICS
from evalq.importers.suite_library import Library
from evalq.importers.suite_rubrics import USUAL_RANGE, parse_rubric

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
            return made | _numeric(config, scoring, rubric)
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


def _numeric(config: Mapping[str, Any], scoring: Mapping[str, Any], rubric: str) -> dict[str, Any]:
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
