"""The shared definitions of a folder of evals: named graders, rubrics, scales, defaults, thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.definition import did_you_mean, split_remedy, validate
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.suite.forms import GraderForm, Thresholds
from evalq.formats.suite.metrics import CONTEXTS, DEFAULT_K, canonical_name
from evalq.formats.suite.parts import mapping_or_empty, require_mapping, split_entries, with_values

_SECTIONS = ("graders", "rubrics", "scales", "defaults", "overrides")
_SCALE_TYPES = ("binary", "likert", "ranking")
_THRESHOLD_KEYS = ("k", "thresholds", "metrics", "default", "contexts")
_PROMPTS = ("model_grader_prompt", "human_grader_prompt")


@dataclass(frozen=True)
class Library:
    """The definitions of `config/graders.yaml`, by name.

    `defaults` are config values for every grader of a type. `overrides` are whole graders, one per type, for
    runs in which only graders of that type grade.
    """

    graders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rubrics: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def grader(self, name: str) -> Mapping[str, Any]:
        """A grader by its name; ValueError, suggesting similar names, for an unknown one."""
        if name not in self.graders:
            remedy = did_you_mean(name, self.graders) or "add it to config/graders.yaml"
            raise ValueError(f"no grader is called {name!r}; {remedy}")
        return self.graders[name]


def read_library(located: Located) -> Library:
    """The library in a file: in sections, or with every entry at the top."""
    require_mapping(located, "the file")
    found: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    problems: list[Problem] = []
    for key, entry in split_entries(located).items():
        entries = {key: entry}
        if key in _SECTIONS and isinstance(entry.value, dict):
            entries = split_entries(entry)
        for name, one in entries.items():
            try:
                section = str(key) if key in _SECTIONS else _section_of(str(name), one)
                found[section][str(name)] = _check_entry(section, str(name), one)
            except InputError as exc:
                problems += exc.problems
    if problems:
        raise InputError(*problems)
    return Library(**found)


def is_library(value: Any) -> bool:
    """Whether every entry of a mapping is a shared definition."""
    if not isinstance(value, dict) or not value:
        return False
    return all(key in _SECTIONS or _guess_section(key, entry) is not None for key, entry in value.items())


def is_thresholds(value: Any) -> bool:
    """Whether a mapping contains only thresholds of a gate."""
    if not isinstance(value, dict) or not value:
        return False
    return all(
        key in _THRESHOLD_KEYS or _is_metric(key) or _is_context(entry) for key, entry in value.items()
    )


def read_shared_thresholds(located: Located) -> Thresholds:
    """`config/thresholds.yaml`: metrics and contexts, each in its section or at the top."""
    value = dict(require_mapping(located, "the file"))
    k = value.pop("k", DEFAULT_K)
    metrics: dict[str, Any] = {}
    for section in ("thresholds", "metrics", "default"):
        metrics |= mapping_or_empty(value.pop(section, None))
    contexts = dict(mapping_or_empty(value.pop("contexts", None)))
    problems = []
    for key, entry in value.items():
        if isinstance(entry, dict):
            contexts[key] = entry
            continue
        try:
            metrics[canonical_name(key)] = entry
        except ValueError as exc:
            problems.append(located.problem((key,), *split_remedy(str(exc))))
    sections = {"k": k, "metrics": metrics, "contexts": contexts}
    return validate(Thresholds, Located(sections, located.lines, located.file), *problems)


def context_thresholds(name: str, own: Thresholds) -> Mapping[str, float]:
    """The thresholds of a context: the folder's own, else the usual ones; InputError for an unknown one."""
    known = {**CONTEXTS, **own.contexts}
    if name not in known:
        raise InputError(Problem(f"there is no context {name!r}", did_you_mean(name, known)))
    return known[name]


def _is_metric(name: str) -> bool:
    try:
        canonical_name(name)
    except ValueError:
        return False
    return True


def _is_context(entry: Any) -> bool:
    return isinstance(entry, dict) and bool(entry) and all(_is_metric(name) for name in entry)


def _guess_section(name: str, entry: Any) -> str | None:
    """The section an entry at the top of the file belongs to, by its name and type."""
    if isinstance(entry, str):
        return "rubrics" if name.endswith("rubric") or name in _PROMPTS else None
    entry_type = mapping_or_empty(entry).get("type")
    if entry_type in ("code", "model", "human"):
        return "graders"
    return "scales" if entry_type in _SCALE_TYPES else None


def _section_of(name: str, entry: Located) -> str:
    section = _guess_section(name, entry.value)
    if section is None:
        message = f"{name!r} is neither a grader, a rubric nor a scale"
        raise InputError(entry.problem((), message, f"write it under one of {', '.join(_SECTIONS)}"))
    return section


def _check_entry(section: str, name: str, entry: Located) -> Any:
    if section in ("graders", "overrides"):
        if section == "overrides" and isinstance(entry.value, dict):
            entry = with_values(entry, type=entry.value.get("type", name))
        return validate(GraderForm, entry).model_dump(exclude_none=True)
    expected, what = (str, "text") if section == "rubrics" else (dict, "a mapping")
    if not isinstance(entry.value, expected):
        raise InputError(entry.problem((), f"{section}.{name} should be {what}", f"write {what}"))
    return entry.value
