"""Finds tasks and evalsets by name or path: the project's first, then those that come with evalq."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.definition import did_you_mean
from evalq.definitions.files import (
    EVALSET_SUFFIXES,
    TASK_SUFFIXES,
    LoadedEvalSet,
    display_path,
    load_evalset,
    load_located,
    load_task,
)
from evalq.definitions.fit import NOTHING_MARKS, check_fit
from evalq.definitions.shipped import shipped_path
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem

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
            raise InputError(
                Problem(f"{wanted!r} may mean {names}", "name one by its path", display_path(folder))
            )
        if found:
            return found[0]
    raise InputError(_unknown(kind, wanted, folders, _listed(folders, suffixes)))


def _existing(kind: str, wanted: str, listed: Mapping[str, Path]) -> Path:
    path = Path(wanted)
    if path.exists():
        return path
    raise InputError(Problem(f"no such {kind} file", _hint(path.stem, listed) or "check the path", wanted))


def _unknown(kind: str, wanted: str, folders: list[Path], listed: Mapping[str, Path]) -> Problem:
    looked = " and ".join(dict.fromkeys(display_path(folder) for folder in folders))
    remedy = _hint(wanted, listed) or "`evalq init NAME` writes a task and its first evalset"
    return Problem(f"no {kind} {wanted!r}; looked in {looked}", remedy)


def _hint(wanted: str, listed: Mapping[str, Path]) -> str:
    return did_you_mean(wanted, sorted(listed))


@dataclass(frozen=True)
class ProjectCheck:
    """What was looked at, and what is wrong with it."""

    tasks: int
    evalsets: int
    cases: int
    problems: tuple[Problem, ...]


def check_project(paths: Iterable[Path], root: Path) -> ProjectCheck:
    """Check files, and folders by their `tasks` and `evalsets`; tasks are looked up under `root` too."""
    tasks, evalsets, problems = _sorted_out(paths)
    for path in tasks:
        problems += _task_problems(path, evalsets)
    cases = 0
    for path in evalsets:
        found, wrong = _evalset_problems(path, root)
        cases, problems = cases + found, problems + wrong
    return ProjectCheck(len(tasks), len(evalsets), cases, tuple(dict.fromkeys(problems)))


def _sorted_out(paths: Iterable[Path]) -> tuple[list[Path], list[Path], list[Problem]]:
    tasks: dict[Path, None] = {}
    evalsets: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            found_tasks, found_evalsets = _in_folder(path) if path.is_dir() else _by_kind(path)
        except InputError as exc:
            problems += exc.problems
            continue
        tasks |= dict.fromkeys(found_tasks)
        evalsets |= dict.fromkeys(found_evalsets)
    return list(tasks), list(evalsets), problems


def _in_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Tasks and evalsets of a project, or of one of its folders named directly."""
    here = folder.resolve()
    if here.name == "tasks":
        return definition_files(folder, TASK_SUFFIXES), []
    if here.name == "evalsets":
        return [], _evalset_files(folder)
    if here.parent.name == "evalsets":
        return [], definition_files(folder, EVALSET_SUFFIXES)
    return definition_files(folder / "tasks", TASK_SUFFIXES), _evalset_files(folder / "evalsets")


def _evalset_files(folder: Path) -> list[Path]:
    """Files right inside each task's folder; deeper ones are corpora and other material."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [path for one in folders for path in definition_files(one, EVALSET_SUFFIXES)]


def _by_kind(path: Path) -> tuple[list[Path], list[Path]]:
    return ([], [path]) if _is_evalset(path) else ([path], [])


def _is_evalset(path: Path) -> bool:
    """By its place if that says it, else by what is in it."""
    if path.resolve().parent.name == "tasks":
        return False
    if _is_under_evalsets(path) or path.suffix.lower() not in TASK_SUFFIXES:
        return True
    value = load_located(path).value
    return isinstance(value, list) or (isinstance(value, dict) and "cases" in value)


def _is_under_evalsets(path: Path) -> bool:
    return path.resolve().parent.parent.name == "evalsets"


def _task_problems(path: Path, evalsets: Iterable[Path]) -> list[Problem]:
    try:
        task = load_task(path)
    except InputError as exc:
        return list(exc.problems)
    return [*_name_problems(path, task), *_marking_problems(path, task, evalsets)]


def _name_problems(path: Path, task: TaskConfig) -> list[Problem]:
    if task.name == path.stem or path.resolve().parent.name != "tasks":
        return []
    remedy = f"rename the file, or write name: {path.stem}"
    return [
        Problem(f"the task is called {task.name!r}, its file {path.stem!r}", remedy, display_path(path), 1)
    ]


def _marking_problems(path: Path, task: TaskConfig, evalsets: Iterable[Path]) -> list[Problem]:
    """A task that leaves marking to its cases needs some that do it."""
    own_folder = path.resolve().parent.parent / "evalsets" / task.name
    known = dict.fromkeys([*evalsets, *definition_files(own_folder, EVALSET_SUFFIXES)])
    if task.marks_every_answer or any(_marks_itself(evalset, task.name) for evalset in known):
        return []
    remedy = "add scoring: or graders: to the task, or graders: to its cases"
    return [Problem(NOTHING_MARKS, remedy, display_path(path), 1)]


def _marks_itself(path: Path, task_name: str) -> bool:
    """True for an evalset of the task with a case that lists graders; a broken one is told of elsewhere."""
    try:
        evalset = load_evalset(path).evalset
    except InputError:
        return False
    is_its = (evalset.task or path.resolve().parent.name) == task_name
    return is_its and any(case.graders for case in evalset.cases)


def _evalset_problems(path: Path, root: Path) -> tuple[int, list[Problem]]:
    try:
        loaded = load_evalset(path)
    except InputError as exc:
        return 0, list(exc.problems)
    return len(loaded.evalset.cases), _fit_problems(path, loaded, root)


def _fit_problems(path: Path, loaded: LoadedEvalSet, root: Path) -> list[Problem]:
    name = loaded.evalset.task or path.resolve().parent.name
    try:
        task_file = _task_file(path, name, root)
    except InputError as exc:
        # A lone file need not belong to a task: only its own statement or its place makes one.
        is_owned = loaded.evalset.task is not None or _is_under_evalsets(path)
        return [Problem(p.message, p.remedy, loaded.file, 1) for p in exc.problems] if is_owned else []
    try:
        return check_fit(load_task(task_file), loaded.without_drafts())
    except InputError as exc:
        return list(exc.problems)


def _task_file(path: Path, name: str, root: Path) -> Path:
    """The task's file in the project the evalset lies in, else in the one we are in."""
    own_root = path.resolve().parent.parent.parent
    if _is_under_evalsets(path) and own_root != root.resolve():
        try:
            return find_task(name, own_root)
        except InputError:
            pass
    return find_task(name, root)
