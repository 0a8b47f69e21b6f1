"""Names for what comes from files that have none: of the task, of the set, of each case."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from evalq.definitions.evalset import EvalCase
from evalq.errors import Problem
from evalq.importers.grader_entries import as_name
from evalq.importers.losses import Losses
from evalq.importers.triggering import short_id

_SAYING_NOTHING = frozenset({"eval", "evals", "dataset", "tests", "test", "promptfooconfig", "baseline"})


def set_name(path: Path) -> str:
    """The file's name without what says its format."""
    stem = path.name.partition(".")[0] or path.stem
    return as_name(stem) or "imported"


def task_name(path: Path, own: str | None = None) -> str:
    """The name a file gives itself, or its file's, or its folder's where that says more."""
    if named := as_name(own):
        return named
    folders = [path.resolve().parent, path.resolve().parent.parent]
    names = [path.name.partition(".")[0], *(folder.name for folder in folders)]
    telling = (name for name in names if name.lower() not in _SAYING_NOTHING and as_name(name))
    return as_name(next(telling, "imported")) or "imported"


def with_own_ids(
    cases: Iterable[tuple[EvalCase, Problem]], losses: Losses
) -> tuple[list[EvalCase], dict[str, int]]:
    """The cases, each with an id of its own, and the line of each; `Problem` says where a case is written."""
    seen: Counter[str] = Counter()
    kept: list[EvalCase] = []
    lines: dict[str, int] = {}
    for case, place in cases:
        seen[case.id] += 1
        if seen[case.id] > 1:
            new_id = _free(case.id, seen)
            message = f"id {case.id!r} is used twice: this one is called {new_id!r}"
            losses.note(Problem(message, "give every test an id of its own", place.file, place.line))
            case = case.model_copy(update={"id": new_id})
            seen[new_id] += 1
        kept.append(case)
        lines[case.id] = place.line
    return kept, lines


def _free(case_id: str, taken: Counter[str]) -> str:
    numbers = (short_id(f"{case_id}#{number}") for number in range(2, len(taken) + 3))
    return next(one for one in numbers if one not in taken)
