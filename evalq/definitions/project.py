"""Finds the tasks and evalsets of a project by name or path, and checks all of them together."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
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
    """Find the task's file: a path as it is, a name under `root/tasks` or among the shipped tasks."""
    return _find("task", name_or_path, [root / "tasks", shipped_path("tasks")], TASK_SUFFIXES)


def find_evalset(name_or_path: str, task_name: str, root: Path) -> Path:
    """Find the evalset's file: a path as it is, a name under `root/evalsets/TASK` or among the shipped."""
    return _find("evalset", name_or_path, _evalset_folders(task_name, root), EVALSET_SUFFIXES)


def list_tasks(root: Path) -> dict[str, Path]:
    """Every task by name, the project's before the shipped; a project's task hides a shipped namesake."""
    return _list_files([root / "tasks", shipped_path("tasks")], TASK_SUFFIXES)


def list_evalsets(task_name: str, root: Path) -> dict[str, Path]:
    """Every evalset of a task by name, in the same order."""
    return _list_files(_evalset_folders(task_name, root), EVALSET_SUFFIXES)


def task_of_set(name: str, root: Path) -> str:
    """The task an evalset belongs to: by its folder, or as the only task with a set of that name."""
    path = Path(name)
    if path.exists():
        return path.resolve().parent.name
    tasks = [task for task in list_tasks(root) if name in list_evalsets(task, root)]
    if len(tasks) == 1:
        return tasks[0]
    if not tasks:
        raise InputError(Problem(f"no tasks have a set {name!r}", "name its task with --task"))
    remedy = f"name one of {', '.join(tasks)} with --task"
    raise InputError(Problem(f"{len(tasks)} tasks have a set {name!r}", remedy))


def is_draft_set(name: str) -> bool:
    """True for sets named `draft-…`, as `evalq generate` writes them."""
    return name.lower().startswith(DRAFT_PREFIX)


def definition_files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The files of a folder with one of these suffixes, sorted; none when there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in suffixes and not path.is_dir())


def _evalset_folders(task_name: str, root: Path) -> list[Path]:
    return [root / "evalsets" / task_name, shipped_path("evalsets") / task_name]


def _list_files(folders: list[Path], suffixes: Iterable[str]) -> dict[str, Path]:
    by_name: dict[str, Path] = {}
    for folder in folders:
        for path in definition_files(folder, suffixes):
            by_name.setdefault(path.stem, path)
    return by_name


def _find(kind: str, wanted: str, folders: list[Path], suffixes: tuple[str, ...]) -> Path:
    if os.sep in wanted or "/" in wanted or Path(wanted).suffix.lower() in suffixes:
        path = Path(wanted)
        if path.exists():
            return path
        hint = did_you_mean(path.stem, sorted(_list_files(folders, suffixes)))
        raise InputError(Problem(f"no such {kind} file", hint or "check the path", wanted))
    for folder in folders:
        found = [path for path in definition_files(folder, suffixes) if path.stem == wanted]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise InputError(
                Problem(f"{wanted!r} may mean {names}", "name one by its path", display_path(folder))
            )
        if found:
            return found[0]
    looked = " and ".join(dict.fromkeys(display_path(folder) for folder in folders))
    hint = did_you_mean(wanted, sorted(_list_files(folders, suffixes)))
    remedy = hint or "`evalq init NAME` writes a task and its first evalset"
    raise InputError(Problem(f"no {kind} {wanted!r}; looked in {looked}", remedy))


@dataclass(frozen=True)
class ProjectCheck:
    """What was checked, and what is wrong with it."""

    tasks: int
    evalsets: int
    cases: int
    problems: tuple[Problem, ...]


def check_project(paths: Iterable[Path], root: Path) -> ProjectCheck:
    """Check files, and folders by their `tasks` and `evalsets`; tasks are looked up under `root` too."""
    tasks: dict[Path, None] = {}
    evalsets: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            found_tasks, found_evalsets = _find_definitions(path)
        except InputError as exc:
            problems += exc.problems
            continue
        tasks |= dict.fromkeys(found_tasks)
        evalsets |= dict.fromkeys(found_evalsets)
    for path in tasks:
        problems += _task_problems(path, evalsets)
    n_cases = 0
    for path in evalsets:
        try:
            loaded = load_evalset(path)
        except InputError as exc:
            problems += exc.problems
            continue
        n_cases += len(loaded.evalset.cases)
        problems += _fit_problems(path, loaded, root)
    return ProjectCheck(len(tasks), len(evalsets), n_cases, tuple(dict.fromkeys(problems)))


def _find_definitions(path: Path) -> tuple[list[Path], list[Path]]:
    """The tasks and evalsets at a path."""
    if path.is_dir():
        return _find_in_folder(path)
    if _is_evalset(path):
        return [], [path]
    return [path], []


def _find_in_folder(folder: Path) -> tuple[list[Path], list[Path]]:
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
    """The files directly in each task's folder; deeper ones are corpora and other material."""
    if not folder.is_dir():
        return []
    files = []
    for task_folder in sorted(folder.iterdir()):
        files += definition_files(task_folder, EVALSET_SUFFIXES)
    return files


def _is_evalset(path: Path) -> bool:
    """By its folder if that decides it, else by its content."""
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
    problems = []
    if task.name != path.stem and path.resolve().parent.name == "tasks":
        message = f"the task is called {task.name!r}, its file {path.stem!r}"
        remedy = f"rename the file, or write name: {path.stem}"
        problems.append(Problem(message, remedy, display_path(path), 1))
    if not task.marks_every_answer and not _is_marked_by_cases(path, task, evalsets):
        remedy = "add scoring: or graders: to the task, or graders: to its cases"
        problems.append(Problem(NOTHING_MARKS, remedy, display_path(path), 1))
    return problems


def _is_marked_by_cases(path: Path, task: TaskConfig, evalsets: Iterable[Path]) -> bool:
    own_folder = path.resolve().parent.parent / "evalsets" / task.name
    known = dict.fromkeys([*evalsets, *definition_files(own_folder, EVALSET_SUFFIXES)])
    return any(_has_graders(evalset, task.name) for evalset in known)


def _has_graders(path: Path, task_name: str) -> bool:
    """True for an evalset of the task with a case that lists graders; a broken one is reported elsewhere."""
    try:
        evalset = load_evalset(path).evalset
    except InputError:
        return False
    is_of_task = (evalset.task or path.resolve().parent.name) == task_name
    return is_of_task and any(case.graders for case in evalset.cases)


def _fit_problems(path: Path, loaded: LoadedEvalSet, root: Path) -> list[Problem]:
    name = loaded.evalset.task or path.resolve().parent.name
    try:
        task_file = _find_task_of(path, name, root)
    except InputError as exc:
        # A file alone need not belong to a task, unless it names one or is under evalsets/.
        if loaded.evalset.task is None and not _is_under_evalsets(path):
            return []
        return [replace(problem, file=loaded.file, line=1) for problem in exc.problems]
    try:
        return check_fit(load_task(task_file), loaded.without_drafts())
    except InputError as exc:
        return list(exc.problems)


def _find_task_of(path: Path, name: str, root: Path) -> Path:
    """The task's file in the evalset's own project, else in the one at `root`."""
    own_root = path.resolve().parent.parent.parent
    if _is_under_evalsets(path) and own_root != root.resolve():
        try:
            return find_task(name, own_root)
        except InputError:
            pass
    return find_task(name, root)
