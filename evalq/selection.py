"""Which tasks a bake-off over several runs on, each on which evalset, and with which judges."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalq.bakeoff import Request, prepare
from evalq.definitions.files import TASK_SUFFIXES, load_task
from evalq.definitions.lookup import definition_files, find_task, is_draft_set, list_evalsets, list_tasks
from evalq.definitions.task import TaskConfig
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem
from evalq.holdout.guard import is_holdout
from evalq.plan import Plan
from evalq.settings import Settings


def all_tasks(root: Path) -> list[str]:
    """The project's own tasks; where it has none, those that come with evalq."""
    own = definition_files(root / "tasks", TASK_SUFFIXES)
    return [path.stem for path in own] if own else list(list_tasks(root))


def select(names: Sequence[str], eval_set: str | None, *, like: Request, root: Path) -> list[Request]:
    """One request per task. `eval_set` is a set of every task, or `task=set` pairs separated by commas.

    A task without a set takes its first that is no holdout. Judges not named are the tasks' own, if all
    tasks have the same ones: a comparison over tasks needs the same judges on each.
    """
    tasks = _load(names, root)
    if not like.judges:
        _require_same_judges(tasks)
    sets = _sets(eval_set, tasks)
    return [
        replace(like, task=name, eval_set=sets.get(task.name) or first_set(task.name, root))
        for name, task in zip(names, tasks, strict=True)
    ]


def prepare_all(requests: Sequence[Request], settings: Settings, root: Path) -> list[Plan]:
    """Load, check and price every task; the problems of all of them are reported together."""
    plans: list[Plan] = []
    problems: list[Problem] = []
    for request in requests:
        try:
            plans.append(prepare(request, settings, root))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return plans


def first_set(task: str, root: Path) -> str:
    """The first evalset of a task that is no holdout, nor called a draft while there is another."""
    sets = [name for name in list_evalsets(task, root) if not is_holdout(name)]
    if not sets:
        raise InputError(
            Problem(f"task {task!r} has no evalset but holdouts", "name one with --eval-set task=set")
        )
    # What was drafted last week is nobody's usual set.
    return min(sets, key=is_draft_set)


def _load(names: Sequence[str], root: Path) -> list[TaskConfig]:
    """Every task, each named once."""
    tasks: dict[str, TaskConfig] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            task = load_task(find_task(name, root))
        except InputError as exc:
            problems += exc.problems
            continue
        if task.name in tasks:
            problems.append(Problem(f"task {task.name!r} is named twice", "name it once"))
        tasks[task.name] = task
    if problems:
        raise InputError(*problems)
    return list(tasks.values())


def _require_same_judges(tasks: Sequence[TaskConfig]) -> None:
    if len({frozenset(task.default_judges) for task in tasks}) > 1:
        own = "; ".join(f"{task.name}: {', '.join(task.default_judges) or 'none'}" for task in tasks)
        raise InputError(
            Problem(
                f"the tasks have not the same default judges ({own})", "name them for all with --judges a,b"
            )
        )


def _sets(eval_set: str | None, tasks: Sequence[TaskConfig]) -> Mapping[str, str]:
    """The evalset asked for, by task; tasks not spoken of are absent."""
    names = [task.name for task in tasks]
    parts = [part.strip() for part in (eval_set or "").split(",") if part.strip()]
    if len(parts) == 1 and "=" not in parts[0]:
        return dict.fromkeys(names, parts[0])
    pairs = [part.partition("=") for part in parts]
    problems = [
        _pair_problem(task, found, names) for task, _, found in pairs if not found or task not in names
    ]
    if problems:
        raise InputError(*problems)
    return {task: found for task, _, found in pairs}


def _pair_problem(task: str, found: str, names: Sequence[str]) -> Problem:
    if not found:
        return Problem(
            f"--eval-set {task!r} names no set of a task", "give one for all, or task=set,task=set"
        )
    return Problem(f"--eval-set has a set for {task!r}, which is not among the tasks", near(task, names))
