"""Surveys a project's tasks and evalsets: how many there are, and every problem in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.files import (
    EVALSET_SUFFIXES,
    TASK_SUFFIXES,
    LoadedEvalSet,
    load_evalset,
    load_located,
    load_task,
    shown,
)
from evalq.definitions.fit import check_fit
from evalq.definitions.lookup import definition_files, find_task
from evalq.errors import InputError, Problem


@dataclass(frozen=True)
class Survey:
    """What was looked at, and what is wrong with it."""

    tasks: int
    evalsets: int
    cases: int
    problems: tuple[Problem, ...]


def survey(paths: Iterable[Path], root: Path) -> Survey:
    """Check files, and folders by their `tasks` and `evalsets`; tasks are looked up under `root` too."""
    tasks, evalsets, problems = _sorted_out(paths)
    for path in tasks:
        problems += _task_problems(path)
    cases = 0
    for path in evalsets:
        found, wrong = _evalset_problems(path, root)
        cases, problems = cases + found, problems + wrong
    return Survey(len(tasks), len(evalsets), cases, tuple(dict.fromkeys(problems)))


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


def _task_problems(path: Path) -> list[Problem]:
    try:
        task = load_task(path)
    except InputError as exc:
        return list(exc.problems)
    if task.name == path.stem or path.resolve().parent.name != "tasks":
        return []
    remedy = f"rename the file, or write name: {path.stem}"
    return [Problem(f"the task is called {task.name!r}, its file {path.stem!r}", remedy, shown(path), 1)]


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
