"""The strata cases are drafted for: from a file or from an evalset, each with its share of the cases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import TASK_SUFFIXES, load_located
from evalq.definitions.located import Located
from evalq.errors import InputError

ExpectedType = Literal["positive", "negative"]

_REMEDY = "write a list of strata, - {bucket: clear, lang: EN}, or the values of each key, lang: [EN, DE]"


@dataclass(frozen=True)
class Stratum:
    """One stratum, and the type all its cases have, where that is known."""

    values: dict[str, str] = field(default_factory=dict)
    expected_type: ExpectedType | None = None

    @property
    def name(self) -> str:
        """As reports name it; "" for the only one of a set without strata."""
        return "_".join(self.values.values())


def load_strata(path: Path) -> list[Stratum]:
    """The strata of a YAML or JSON file: a list of them, or the values of each key to be combined."""
    located = load_located(path, TASK_SUFFIXES)
    value = located.value
    if isinstance(value, dict) and value and all(isinstance(values, list) for values in value.values()):
        combined = product(*value.values())
        return [_stratum(dict(zip(value, one, strict=True)), located) for one in combined]
    if not isinstance(value, list) or not value:
        raise InputError(located.problem((), "no strata", _REMEDY))
    return [_stratum(one, located, place) for place, one in enumerate(value)]


def strata_of(cases: Sequence[EvalCase]) -> list[Stratum]:
    """The strata of an evalset in order of appearance; one without values where it has none."""
    types: dict[tuple[tuple[str, str], ...], set[ExpectedType]] = {}
    for case in cases:
        types.setdefault(tuple(case.stratum.items()), set()).add(case.expected_type)
    found = [
        Stratum(dict(values), next(iter(kinds)) if len(kinds) == 1 else None)
        for values, kinds in types.items()
    ]
    return found or [Stratum()]


def allot(n: int, strata: Sequence[Stratum], *, seed: int) -> list[int]:
    """How many cases each stratum gets: as evenly as can be, who gets one more drawn by the seed."""
    each, rest = divmod(n, len(strata))
    more = set(Random(seed).sample(range(len(strata)), rest))  # noqa: S311 - a draw, not a secret
    return [each + (place in more) for place in range(len(strata))]


def _stratum(value: Any, located: Located, *loc: int) -> Stratum:
    is_plain = isinstance(value, dict) and value and all(isinstance(one, str) for one in value.values())
    if not is_plain:
        raise InputError(located.problem(loc, "a stratum that is not a mapping of texts", _REMEDY))
    return Stratum(value)
