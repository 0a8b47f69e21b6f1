"""The judges by name: those shipped with evalq, overridden by those of evalq.yaml."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evalq.definitions.definition import is_name
from evalq.definitions.judge import JudgeConfig, judge_reader
from evalq.definitions.judge_specs import FORMS, is_spec, read_spec
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

Catalogue = Mapping[str, JudgeConfig]

_PROVIDERS = {
    r"claude-\w": "anthropic",
    r"(chat)?gpt-\w|o[1-9]\b": "openai",
    r"grok-\w": "xai",
    r"gemini-\w": "google",
}
"""A pattern for the beginning of a provider's model names, and the provider."""

_BUILT_IN = Path(__file__).parent / "judges.yaml"


def all_judges(own: Catalogue) -> dict[str, JudgeConfig]:
    """Every judge by name; `own` judges override the shipped ones."""
    return {**_shipped_judges(), **own}


def with_models(known: Catalogue, names: Iterable[str]) -> dict[str, JudgeConfig]:
    """The catalogue, extended by a judge for each name that is a provider's own name of a model, or a spec.

    Other formats name models as their providers do, `claude-haiku-4-5-20251001`: that is the judge with this
    model, or else a new one, priced by the table.
    """
    models = {judge.model: judge for judge in reversed(list(known.values()))}
    extended = dict(known)
    for name in names:
        if resolve_judge(name, known) is None:
            judge = models.get(name) or _judge_for_model(name)
            if is_spec(name):
                judge = read_spec(name)
            if judge is not None:
                extended[name] = judge
    return extended


def pick_judges(names: Sequence[str], known: Catalogue) -> list[JudgeConfig]:
    """The judges named or written out, each once; InputError lists every unknown name."""
    if not names:
        raise InputError(Problem("no judge is named", "give --judges a,b or default_judges in the task"))
    found: dict[str, JudgeConfig] = {}
    problems: dict[str, Problem] = {}
    for name in names:
        canonical = resolve_judge(name, known)
        if canonical is not None:
            found[canonical] = known[canonical]
        elif is_spec(name):
            found[name] = read_spec(name)
        else:
            problems[name] = _unknown_judge(name, known)
    if problems:
        raise InputError(*problems.values())
    _refuse_namesakes(found)
    return list(found.values())


def _refuse_namesakes(found: Catalogue) -> None:
    """Refuse two judges written out whose names come out the same: no table could tell them apart."""
    written: dict[str, str] = {}
    for text, judge in found.items():
        if judge.name in written and found[written[judge.name]] != judge:
            message = f"{written[judge.name]!r} and {text!r} would both be called {judge.name!r}"
            raise InputError(Problem(message, f"give one a name: mine={text}"))
        written[judge.name] = text


def resolve_judge(name: str, known: Catalogue) -> str | None:
    """The catalogue's name for a judge: as written, else spelt a little differently, else by an alias."""
    if name in known:
        return name
    folded = _fold(name)
    alike = [other for other in known if _fold(other) == folded]
    if len(alike) > 1:
        return None
    if alike:
        return alike[0]
    for alias, canonical in _aliases().items():
        if _fold(alias) == folded:
            return canonical if canonical in known else None
    return None


def aliases_of(name: str) -> list[str]:
    """The other names of a shipped judge."""
    return [alias for alias, canonical in _aliases().items() if canonical == name]


def _judge_for_model(model: str) -> JudgeConfig | None:
    for sign, provider in _PROVIDERS.items():
        if re.match(sign, model) and is_name(model):
            return judge_reader().validate_python({"name": model, "provider": provider, "model": model})
    return None


def _unknown_judge(name: str, known: Catalogue) -> Problem:
    remedy = f"`evalq judges` lists them, evalq.yaml adds to them; your own system: {FORMS}"
    close = difflib.get_close_matches(name.lower(), [*known, *_aliases()], n=3, cutoff=0.5)
    if close:
        remedy = f"did you mean {' or '.join(close)}? {remedy}"
    return Problem(f"there is no judge {name!r}", remedy)


def _fold(name: str) -> str:
    return re.sub(r"[ ._]", "-", name.strip().lower())


@cache
def _shipped_file() -> Any:
    return load_yaml(_BUILT_IN.read_text("utf-8"), _BUILT_IN.name).value


@cache
def _shipped_judges() -> dict[str, JudgeConfig]:
    judges = _shipped_file()["judges"]
    return {name: judge_reader().validate_python({"name": name, **fields}) for name, fields in judges.items()}


@cache
def _aliases() -> dict[str, str]:
    """Each alias with the judge's name."""
    names: dict[str, str] = {}
    for name, aliases in _shipped_file()["aliases"].items():
        names |= dict.fromkeys(aliases, name)
    return names
