"""Suites among the formats evalq reads: recognised, loaded as a task and an evalset, and checked."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evalq.definitions.definition import split_remedy
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import LoadedEvalSet, display_path
from evalq.definitions.fit import check_fit
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.located import Located
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.formats.suite.evals import SuiteEval, checked_graders
from evalq.formats.suite.forms import ExpectedForm, GraderForm
from evalq.formats.suite.gates import read_gates
from evalq.formats.suite.graders import graders_of
from evalq.formats.suite.library import Library, read_library, read_shared_thresholds
from evalq.formats.suite.read import RUNNABLE, SUFFIXES, SUITE_FILES, Suite, load_file, read_suite
from evalq.formats.suite.shapes import shape_of

MAX_SCHEMA_PROBLEMS = 10

_SCHEMA_FILE = Path(__file__).with_name("suite_report.schema.json")
_CHECKED_ONLY = ("library", "thresholds", "phase", "trigger", "report")


def recognises(path: Path) -> bool:
    """Whether a path is a suite, a file of evals, or a file that belongs to a suite."""
    if path.is_dir():
        return any((path / name).is_file() for name in SUITE_FILES)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    try:
        shape = shape_of(load_file(path).value)
    except InputError:
        return False
    return shape in RUNNABLE or shape in _CHECKED_ONLY


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "description") -> LoadedTask:
    """The evals of a suite that can be graded, as one evalset."""
    del root, trigger_mode
    suite = read_suite(path)
    refuse_unfit(suite)
    ready = [one for one in suite.evals if one.case.graders]
    if not ready:
        remedy = "capture them: evalq baseline capture"
        raise InputError(Problem("no eval here has a baseline yet", remedy, display_path(path)))
    return loaded_task_of(suite, ready)


def problems(path: Path, root: Path) -> Sequence[Problem]:
    """All problems of a suite, or of a file that belongs to one."""
    del root
    try:
        if path.is_dir():
            refuse_unfit(read_suite(path))
            return ()
        located = load_file(path)
        match shape_of(located.value):
            case "library":
                return tuple(shared_problems(located))
            case "report":
                return tuple(report_problems(located))
            case "thresholds":
                read_shared_thresholds(located)
            case shape if shape in RUNNABLE:
                refuse_unfit(read_suite(path))
            case _:
                read_gates(path)
    except InputError as exc:
        return exc.problems
    return ()


def loaded_task_of(suite: Suite, evals: Sequence[SuiteEval]) -> LoadedTask:
    """Some evals of a suite as an evalset; regressions among them must have a baseline."""
    timeouts = [float(one.about.get("timeout_seconds", 0)) for one in evals]
    evalset = EvalSet(name=slug(suite.name), cases=[one.case for one in evals])
    lines = {one.id: one.place.line for one in evals}
    return LoadedTask(
        task_of(suite),
        LoadedEvalSet(evalset, suite.file, lines),
        suite.config.named_judges,
        suite.warnings,
        suite.config.samples or 1,
        # A call may take as long as the most patient eval allows; a grader holds each to its own limit.
        max(timeouts) if all(timeouts) else None,
    )


def task_of(suite: Suite) -> TaskConfig:
    """A task that sends each eval's own prompt, nothing around it."""
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
    """The name of a suite as that of a task: `Feature X Evaluation` is `feature-x-evaluation`."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-._")[:100] or "suite"


def refuse_unfit(suite: Suite) -> None:
    """Raise InputError, with file and line, for evals whose graders lack something."""
    task = task_of(suite)
    found: list[Problem] = []
    for one in suite.evals:
        if one.case.graders:
            evalset = EvalSet(name=task.name, cases=[one.case])
            found += check_fit(task, LoadedEvalSet(evalset, one.place.file, {one.id: one.place.line}))
    if found:
        raise InputError(*found)


def shared_problems(located: Located) -> list[Problem]:
    """The problems of a file of shared definitions."""
    try:
        library = read_library(located)
    except InputError as exc:
        return list(exc.problems)
    found: list[Problem] = []
    for name, written in (*library.graders.items(), *library.overrides.items()):
        found += _try_grader(located, name, GraderForm.model_validate(written), library)
    for name in library.scales:
        form = GraderForm(type="human", config={"rating_scale": name})
        found += _try_grader(located, name, form, library)
    return found


def _try_grader(located: Located, name: str, form: GraderForm, library: Library) -> Iterator[Problem]:
    """Build a shared grader with an expectation that an eval could have."""
    expected = ExpectedForm(type="exact", value="x")
    if {"executor", "function_name"} & form.config.keys():
        test_cases = [{"input": [1], "output": 1}]
        expected = ExpectedForm(type="functional", value={"test_cases": test_cases})
    try:
        checked_graders(located, graders_of([form], expected, library))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        yield located.problem((name,), f"{name}: {message}", remedy)
    except InputError as exc:
        for one in exc.problems:
            yield located.problem((name,), f"{name}: {one.message}", one.remedy)


@cache
def schema_text() -> str:
    """The JSON Schema of a report, as shipped."""
    return _SCHEMA_FILE.read_text("utf-8")


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report, draft 2020-12."""
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def report_problems(located: Located) -> list[Problem]:
    """Where a document does not match the schema of a report; empty if it does."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(report_schema()).iter_errors(located.value), key=str)
    found = []
    for error in errors[:MAX_SCHEMA_PROBLEMS]:
        message = f"not a report of a suite run: {error.message[:200]}"
        found.append(located.problem(tuple(error.absolute_path), message))
    return found
