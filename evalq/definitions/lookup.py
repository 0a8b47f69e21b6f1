"""Finds tasks and evalsets by name or path: the project's first, then those that come with evalq."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from evalq.definitions.files import EVALSET_SUFFIXES, TASK_SUFFIXES, shown
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem
from evalq.shipped import shipped_path

DRAFT_PREFIX = "draft-"


def find_task(name_or_path: str, root: Path) -> Path:
    """The task's file: a path as it is, a name under `root/tasks` or among the shipped."""
    return _find("task", name_or_path, [root / "tasks", shipped_path("tasks")], TASK_SUFFIXES)


def find_evalset(name_or_path: str, task_name: str, root: Path) -> Path:
    """The evalset's file: a path as it is, a name under `root/evalsets/TASK` or among the shipped."""
    return _find("evalset", name_or_path, _evalset_folders(task_name, root), EVALSET_SUFFIXES)


def list_tasks(root: Path) -> dict[str, Path]:
    """Every task by name, the project's before the shipped; a project's hides a shipped one of its name."""
    return _listed([root / "tasks", shipped_path("tasks")], TASK_SUFFIXES)


def list_evalsets(task_name: str, root: Path) -> dict[str, Path]:
    """Every evalset of a task by name, in the same order."""
    return _listed(_evalset_folders(task_name, root), EVALSET_SUFFIXES)


def task_of_set(name: str, root: Path) -> str:
    """The task whose set is meant: by its folder, or as the only one with a set of that name."""
    path = Path(name)
    if path.exists():
        return path.resolve().parent.name
    tasks = [task for task in list_tasks(root) if name in list_evalsets(task, root)]
    if len(tasks) == 1:
        return tasks[0]
    remedy = f"name one of {', '.join(tasks)} with --task" if tasks else "name its task with --task"
    raise InputError(Problem(f"{len(tasks) or 'no'} tasks have a set {name!r}", remedy))


def is_draft_set(name: str) -> bool:
    """True for sets named `draft-…`, as `evalq generate` writes them."""
    return name.lower().startswith(DRAFT_PREFIX)


def definition_files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The files of a folder that are definitions by their suffix, sorted; none when there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in suffixes and not path.is_dir())


def _evalset_folders(task_name: str, root: Path) -> list[Path]:
    return [root / "evalsets" / task_name, shipped_path("evalsets") / task_name]


def _listed(folders: list[Path], suffixes: Iterable[str]) -> dict[str, Path]:
    listed: dict[str, Path] = {}
    for folder in folders:
        for path in definition_files(folder, suffixes):
            listed.setdefault(path.stem, path)
    return listed


def _find(kind: str, wanted: str, folders: list[Path], suffixes: tuple[str, ...]) -> Path:
    if os.sep in wanted or "/" in wanted or Path(wanted).suffix.lower() in suffixes:
        return _existing(kind, wanted, _listed(folders, suffixes))
    for folder in folders:
        found = [path for path in definition_files(folder, suffixes) if path.stem == wanted]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise InputError(Problem(f"{wanted!r} may mean {names}", "name one by its path", shown(folder)))
        if found:
            return found[0]
    raise InputError(_unknown(kind, wanted, folders, _listed(folders, suffixes)))


def _existing(kind: str, wanted: str, listed: Mapping[str, Path]) -> Path:
    path = Path(wanted)
    if path.exists():
        return path
    raise InputError(Problem(f"no such {kind} file", _hint(path.stem, listed) or "check the path", wanted))


def _unknown(kind: str, wanted: str, folders: list[Path], listed: Mapping[str, Path]) -> Problem:
    looked = " and ".join(dict.fromkeys(shown(folder) for folder in folders))
    remedy = _hint(wanted, listed) or "`evalq init NAME` writes a task and its first evalset"
    return Problem(f"no {kind} {wanted!r}; looked in {looked}", remedy)


def _hint(wanted: str, listed: Mapping[str, Path]) -> str:
    return near(wanted, sorted(listed))
