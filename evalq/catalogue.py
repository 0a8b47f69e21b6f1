"""The judges one can name: those that come with evalq, and those of evalq.yaml over them."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from evalq.definitions.judge import JudgeConfig
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

Catalogue = Mapping[str, JudgeConfig]

_JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)
_BUILT_IN = Path(__file__).parent / "judges.yaml"


def catalogue(own: Catalogue) -> dict[str, JudgeConfig]:
    """Every judge by name; `own` judges override those that come with evalq."""
    shipped = load_yaml(_BUILT_IN.read_text("utf-8"), _BUILT_IN.name).value
    return {
        name: _JUDGE.validate_python({"name": name, **fields}) for name, fields in shipped.items()
    } | dict(own)


def pick(names: Sequence[str], known: Catalogue) -> list[JudgeConfig]:
    """The judges named, each once; an unknown name is answered with the near ones."""
    problems = [_unknown(name, known) for name in names if name not in known]
    if problems:
        raise InputError(*problems)
    if not names:
        raise InputError(Problem("no judge is named", "give --judges a,b or default_judges in the task"))
    return [known[name] for name in dict.fromkeys(names)]


def _unknown(name: str, known: Catalogue) -> Problem:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return Problem(f"there is no judge {name!r}", f"{hint}`evalq judges` lists them, evalq.yaml adds to them")
