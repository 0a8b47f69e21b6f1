"""The judges one can name: those that come with evalq, and those of evalq.yaml over them."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evalq.definitions.definition import NAME_PATTERN
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

Catalogue = Mapping[str, JudgeConfig]

_JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)
_PROVIDERS = {
    r"claude-\w": "anthropic",
    r"(chat)?gpt-\w|o[1-9]\b": "openai",
    r"grok-\w": "xai",
    r"gemini-\w": "google",
}
"""How the names of a provider's models begin."""

_BUILT_IN = Path(__file__).parent / "judges.yaml"


def all_judges(own: Catalogue) -> dict[str, JudgeConfig]:
    """Every judge by name; `own` judges override those that come with evalq."""
    return {**_shipped(), **own}


def with_models(known: Catalogue, names: Iterable[str]) -> dict[str, JudgeConfig]:
    """The catalogue with a judge for each name that is no judge's but a provider's own name of a model.

    Other formats call models as their providers do, `claude-haiku-4-5-20251001`: that is the judge who has
    this model, or else a new one, priced by the table.
    """
    models = {judge.model: judge for judge in reversed(list(known.values()))}
    unknown = [name for name in names if resolve_judge(name, known) is None]
    judges = {name: models.get(name) or _of_provider(name) for name in unknown}
    return {**known, **{name: judge for name, judge in judges.items() if judge is not None}}


def pick_judges(names: Sequence[str], known: Catalogue) -> list[JudgeConfig]:
    """The judges named, each once, under the names the catalogue has for them."""
    found = {name: resolve_judge(name, known) for name in names}
    problems = [_unknown(name, known) for name, judge in found.items() if judge is None]
    if problems:
        raise InputError(*problems)
    if not names:
        raise InputError(Problem("no judge is named", "give --judges a,b or default_judges in the task"))
    return [known[name] for name in dict.fromkeys(name for name in found.values() if name is not None)]


def resolve_judge(name: str, known: Catalogue) -> str | None:
    """The catalogue's name for a judge: as written, else spelt a little differently, else an alias."""
    if name in known:
        return name
    alike = [other for other in known if _folded(other) == _folded(name)]
    if alike:
        return alike[0] if len(alike) == 1 else None
    canonical = next((to for alias, to in _aliases().items() if _folded(alias) == _folded(name)), None)
    return canonical if canonical in known else None


def aliases_of(name: str) -> list[str]:
    """The other names a judge that comes with evalq goes by."""
    return [alias for alias, canonical in _aliases().items() if canonical == name]


def _of_provider(name: str) -> JudgeConfig | None:
    provider = next((known for sign, known in _PROVIDERS.items() if re.match(sign, name)), None)
    if provider is None or not re.fullmatch(NAME_PATTERN, name):
        return None
    return _JUDGE.validate_python({"name": name, "provider": provider, "model": name})


def _unknown(name: str, known: Catalogue) -> Problem:
    near = difflib.get_close_matches(name.lower(), [*known, *_aliases()], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return Problem(f"there is no judge {name!r}", f"{hint}`evalq judges` lists them, evalq.yaml adds to them")


def _folded(name: str) -> str:
    return re.sub(r"[ ._]", "-", name.strip().lower())


@cache
def _file() -> Any:
    return load_yaml(_BUILT_IN.read_text("utf-8"), _BUILT_IN.name).value


@cache
def _shipped() -> dict[str, JudgeConfig]:
    return {
        name: _JUDGE.validate_python({"name": name, **fields}) for name, fields in _file()["judges"].items()
    }


@cache
def _aliases() -> dict[str, str]:
    """Each alias with the name it stands for."""
    return {alias: name for name, aliases in _file()["aliases"].items() for alias in aliases}
