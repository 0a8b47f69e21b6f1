"""The shared definitions of a folder of evals: named graders, rubrics, scales, defaults, thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalq.definitions.definition import did_you_mean, split_remedy, validate
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.suite.forms import GraderForm, Thresholds, as_mapping, completed, part
from evalq.formats.suite.metrics import CONTEXTS, canonical_name

_SECTIONS = ("graders", "rubrics", "scales", "defaults", "overrides")
_SCALE_TYPES = ("binary", "likert", "ranking")
_LIMITS = ("k", "thresholds", "metrics", "default", "contexts")
_PROMPTS = ("model_grader_prompt", "human_grader_prompt")


@dataclass(frozen=True)
class Library:
    """What `config/graders.yaml` has, by name.

    `defaults` are config values for every grader of a type; `overrides` a whole grader of a type, for when
    graders of that type alone are to mark.
    """

    graders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rubrics: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def grader(self, name: str) -> Mapping[str, Any]:
        """A grader by its name; ValueError, naming the near ones, when there is none."""
        if name not in self.graders:
            remedy = did_you_mean(name, self.graders) or "add it to config/graders.yaml"
            raise ValueError(f"no grader is called {name!r}; {remedy}")
        return self.graders[name]


def read_library(located: Located) -> Library:
    """The library in a file: by sections, or each entry known by what it is."""
    found: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    problems: list[Problem] = []
    for key in as_mapping(located, "the file"):
        entries = [(key, part(located, key))]
        if key in _SECTIONS and isinstance(located.value[key], dict):
            entries = [(name, part(located, key, name)) for name in located.value[key]]
        for name, entry in entries:
            try:
                section = key if key in _SECTIONS else _section(name, entry)
                found[section][name] = _checked(section, name, entry)
            except InputError as exc:
                problems += exc.problems
    if problems:
        raise InputError(*problems)
    return Library(**found)


def is_library(value: Any) -> bool:
    """Whether every entry of a mapping is a shared definition."""
    if not isinstance(value, dict) or not value:
        return False
    return all(key in _SECTIONS or _kind(key, entry) is not None for key, entry in value.items())


def is_thresholds(value: Any) -> bool:
    """Whether a mapping says nothing but what a gate demands."""
    if not isinstance(value, dict) or not value:
        return False
    return all(key in _LIMITS or _is_metric(key) or _demands(entry) for key, entry in value.items())


def read_shared_thresholds(located: Located) -> Thresholds:
    """`config/thresholds.yaml`: metrics and contexts, each in its section or at the top."""
    value = dict(as_mapping(located, "the file"))
    sections = {"k": value.pop("k", 3), "metrics": {}, "contexts": {}}
    sections["metrics"] |= _mapping(value.pop("thresholds", None)) | _mapping(value.pop("metrics", None))
    sections["metrics"] |= _mapping(value.pop("default", None))
    sections["contexts"] |= _mapping(value.pop("contexts", None))
    problems = []
    for key, entry in value.items():
        if isinstance(entry, dict):
            sections["contexts"][key] = entry
            continue
        try:
            sections["metrics"][canonical_name(key)] = entry
        except ValueError as exc:
            problems.append(located.problem((key,), *split_remedy(str(exc))))
    return validate(Thresholds, Located(sections, located.lines, located.file), *problems)


def context_thresholds(name: str, own: Thresholds) -> Mapping[str, float]:
    """What a context demands: as the folder says, else as is usual; InputError for an unknown one."""
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


def _demands(entry: Any) -> bool:
    return isinstance(entry, dict) and bool(entry) and all(_is_metric(name) for name in entry)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _kind(name: str, entry: Any) -> str | None:
    """The section an entry at the top of the file belongs to."""
    if isinstance(entry, str):
        return "rubrics" if name.endswith("rubric") or name in _PROMPTS else None
    of_type = entry.get("type") if isinstance(entry, dict) else None
    if of_type in ("code", "model", "human"):
        return "graders"
    return "scales" if of_type in _SCALE_TYPES else None


def _section(name: str, entry: Located) -> str:
    section = _kind(name, entry.value)
    if section is None:
        message = f"{name!r} is neither a grader, a rubric nor a scale"
        remedy = f"write it under one of {', '.join(_SECTIONS)}"
        raise InputError(entry.problem((), message, remedy))
    return section


def _checked(section: str, name: str, entry: Located) -> Any:
    if section in ("graders", "overrides"):
        typed = entry
        if section == "overrides" and isinstance(entry.value, dict):
            typed = completed(entry, type=entry.value.get("type", name))
        return validate(GraderForm, typed).model_dump(exclude_none=True)
    is_text = section == "rubrics"
    if not isinstance(entry.value, str if is_text else dict):
        what = "text" if is_text else "a mapping"
        raise InputError(entry.problem((), f"{section}.{name} should be {what}", f"write {what}"))
    return entry.value
