"""Accepting drafts: a person has looked at them, so they lose the mark and count."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalq.definitions.files import LoadedEvalSet, load_evalset, load_task, shown
from evalq.definitions.fit import check_fit
from evalq.definitions.lookup import find_evalset, find_task, task_of_set
from evalq.definitions.task import TaskConfig
from evalq.definitions.validation import near
from evalq.definitions.writing import accept_drafts
from evalq.errors import InputError, Problem
from evalq.holdout.writing import refuse_writing


@dataclass(frozen=True)
class Accepted:
    """Which cases of a set lost their mark, and how many have it still."""

    task: str
    eval_set: str
    path: str
    ids: tuple[str, ...]
    left: int


def accept(root: Path, eval_set: str, *, task: str | None, ids: Sequence[str], every: bool) -> Accepted:
    """Accept some drafts of a set, or every one; those that do not fit their task are refused."""
    owner = load_task(find_task(task or task_of_set(eval_set, root), root))
    path = find_evalset(eval_set, owner.name, root)
    refuse_writing(path, task=owner.name, root=root)
    loaded = load_evalset(path)
    chosen = _chosen(loaded, ids, every=every)
    _refuse_misfits(owner, loaded, chosen)
    after = accept_drafts(path, chosen)
    left = sum(case.draft for case in after.cases)
    return Accepted(owner.name, loaded.evalset.name, shown(path), tuple(chosen), left)


def _chosen(loaded: LoadedEvalSet, ids: Sequence[str], *, every: bool) -> list[str]:
    """The drafts meant, in the order of the set."""
    cases = loaded.evalset.cases
    if bool(ids) == every:
        raise InputError(Problem("which drafts?", "name their ids, or give --all, not both"))
    known = [case.id for case in cases]
    unknown = [Problem(f"no case {one!r}", near(one, known), loaded.file) for one in ids if one not in known]
    if unknown:
        raise InputError(*unknown)
    chosen = [case.id for case in cases if case.draft and (every or case.id in ids)]
    if not chosen:
        raise InputError(Problem("none of these cases is a draft", "nothing is to be accepted", loaded.file))
    return chosen


def _refuse_misfits(task: TaskConfig, loaded: LoadedEvalSet, chosen: Sequence[str]) -> None:
    cases = [case for case in loaded.evalset.cases if case.id in chosen]
    problems = check_fit(task, replace(loaded, evalset=loaded.evalset.model_copy(update={"cases": cases})))
    if problems:
        raise InputError(*problems)
