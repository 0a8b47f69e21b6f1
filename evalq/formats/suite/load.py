"""The evals of a suite as a task and an evalset of ours."""

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

MOST_SHOWN = 10

_SCHEMA_FILE = Path(__file__).with_name("suite_report.schema.json")


@cache
def schema_text() -> str:
    """The schema as it is shipped."""
    return _SCHEMA_FILE.read_text("utf-8")


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report, draft 2020-12."""
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def report_problems(located: Located) -> list[Problem]:
    """Where a document is no report of a suite run; empty when it is one."""
    from jsonschema import Draft202012Validator

    found = sorted(Draft202012Validator(report_schema()).iter_errors(located.value), key=str)
    return [
        located.problem(tuple(error.absolute_path), f"no report of a suite run: {error.message[:200]}")
        for error in found[:MOST_SHOWN]
    ]


_SAMPLE = "x"
_CALL = {"test_cases": [{"input": [1], "output": 1}]}


def shared_problems(located: Located) -> list[Problem]:
    """What is wrong with a file of shared definitions."""
    try:
        library = read_library(located)
    except InputError as exc:
        return list(exc.problems)
    return [*_grader_problems(located, library), *_scale_problems(located, library)]


def _grader_problems(located: Located, library: Library) -> Iterator[Problem]:
    for section in ("graders", "overrides"):
        for name, written in getattr(library, section).items():
            yield from _tried(located, name, GraderForm.model_validate(written), library)


def _scale_problems(located: Located, library: Library) -> Iterator[Problem]:
    for name in library.scales:
        form = GraderForm(type="human", config={"rating_scale": name})
        yield from _tried(located, name, form, library)


def _tried(located: Located, name: str, form: GraderForm, library: Library) -> Iterator[Problem]:
    """The grader with an expectation it would meet in an eval."""
    is_code = {"executor", "function_name"} & form.config.keys()
    expected = (
        ExpectedForm(type="functional", value=_CALL) if is_code else ExpectedForm(type="exact", value=_SAMPLE)
    )
    try:
        checked_graders(located, graders_of([form], expected, library))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        yield located.problem((name,), f"{name}: {message}", remedy)
    except InputError as exc:
        for one in exc.problems:
            yield located.problem((name,), f"{name}: {one.message}", one.remedy)


_CHECKED_ONLY = ("library", "thresholds", "phase", "trigger", "report")


def imported_of(suite: Suite, evals: Sequence[SuiteEval]) -> LoadedTask:
    """Some evals of a suite, ready to be planned; each has a baseline, if it needs one."""
    timeouts = [float(one.about.get("timeout_seconds", 0)) for one in evals]
    evalset = EvalSet(name=slug(suite.name), cases=[one.case for one in evals])
    lines = {one.id: one.place.line for one in evals}
    return LoadedTask(
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


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "description") -> LoadedTask:
    """The evals of a suite that judges can be asked, as one set."""
    del root, trigger_mode
    suite = read_suite(path)
    refuse_unfit(suite)
    ready = [one for one in suite.evals if one.case.graders]
    if not ready:
        raise InputError(
            Problem(
                "no eval here has a baseline yet", "capture them: evalq baseline capture", display_path(path)
            )
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
