"""The evals of a suite as a task and an evalset of ours."""

import re
from collections.abc import Sequence
from pathlib import Path

from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import LoadedEvalSet, shown
from evalq.definitions.fit import check_fit
from evalq.definitions.located import Located
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.importers.imported import Imported, TriggerMode
from evalq.importers.suite import RUNNABLE, SUFFIXES, SUITE_FILES, Suite, load_file, read_suite
from evalq.importers.suite_checking import shared_problems
from evalq.importers.suite_evals import SuiteEval
from evalq.importers.suite_library import read_shared_thresholds
from evalq.importers.suite_phase import read_gates
from evalq.importers.suite_reports import report_problems
from evalq.importers.suite_shapes import shape_of

_CHECKED_ONLY = ("library", "thresholds", "phase", "trigger", "report")


def imported_of(suite: Suite, evals: Sequence[SuiteEval]) -> Imported:
    """Some evals of a suite, ready to be planned; each has a baseline, if it needs one."""
    timeouts = [float(one.about.get("timeout_seconds", 0)) for one in evals]
    evalset = EvalSet(name=slug(suite.name), cases=[one.case for one in evals])
    lines = {one.id: one.place.line for one in evals}
    return Imported(
        task_of(suite),
        LoadedEvalSet(evalset, suite.file, lines),
        suite.config.named_judges,
        suite.warnings,
        suite.config.samples or 1,
        # A call may take as long as the most patient eval allows; each is held to its own limit afterwards.
        max(timeouts) if all(timeouts) else None,
    )


def task_of(suite: Suite) -> TaskConfig:
    """What is asked of every judge: each eval's own prompt, nothing around it."""
    config = suite.config
    return TaskConfig(
        name=slug(suite.name),
        description=suite.description,
        system_prompt=config.system_prompt,
        user_template="{prompt}",
        max_tokens=config.max_tokens,
        temperature=config.temperature,
    )


def slug(name: str) -> str:
    """A suite's name as a task's: `Feature X Evaluation` is `feature-x-evaluation`."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._")[:100] or "suite"


def recognises(path: Path) -> bool:
    """Whether a path is a suite, a file of evals, or something that belongs to one."""
    if path.is_dir():
        return any((path / name).is_file() for name in SUITE_FILES)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    try:
        shape = shape_of(load_file(path).value)
    except InputError:
        return False
    return shape in RUNNABLE or shape in _CHECKED_ONLY


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "description") -> Imported:
    """The evals of a suite that judges can be asked, as one set."""
    del root, trigger_mode
    suite = read_suite(path)
    refuse_unfit(suite)
    ready = [one for one in suite.evals if one.case.graders]
    if not ready:
        raise InputError(
            Problem("no eval here has a baseline yet", "capture them: evalq baseline capture", shown(path))
        )
    return imported_of(suite, ready)


def problems(path: Path, root: Path) -> Sequence[Problem]:
    """Everything that is wrong with a suite, or with what belongs to one."""
    del root
    try:
        if path.is_dir() or shape_of(load_file(path).value) in RUNNABLE:
            refuse_unfit(read_suite(path))
        else:
            _check_beside(load_file(path), path)
    except InputError as exc:
        return exc.problems
    return ()


def refuse_unfit(suite: Suite) -> None:
    """InputError, each problem in its own file, for evals whose graders lack something."""
    task = task_of(suite)
    found = [
        problem
        for one in suite.evals
        if one.case.graders
        for problem in check_fit(
            task,
            LoadedEvalSet(
                EvalSet(name=task.name, cases=[one.case]), one.place.file, {one.id: one.place.line}
            ),
        )
    ]
    if found:
        raise InputError(*found)


def _check_beside(located: Located, path: Path) -> None:
    wrong: Sequence[Problem] = ()
    match shape_of(located.value):
        case "library":
            wrong = shared_problems(located)
        case "report":
            wrong = report_problems(located)
        case "thresholds":
            read_shared_thresholds(located)
        case _:
            read_gates(path)
    if wrong:
        raise InputError(*wrong)
