"""Tasks and cases given as Python values instead of files, checked as files are."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalq.bakeoff.holdout import is_holdout
from evalq.bakeoff.plan import apply_scorer
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import LoadedEvalSet, load_evalset, load_task, read_evalset, read_task
from evalq.definitions.loaded import LoadedTask
from evalq.definitions.located import Located, load_json
from evalq.definitions.project import find_evalset, find_task
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.errors import InputError, Problem

Task = str | Path | Mapping[str, Any] | TaskConfig
"""A name, a path, a prompt with {names} in braces, or the definition itself."""

Case = Mapping[str, Any] | EvalCase

NAME = "inline"
"""The name of a task or evalset that was given without one."""

_CASE_KEYS = frozenset(EvalCase.model_fields) - {"inputs"}


def is_inline(task: Task, eval_set: str | Path | Iterable[Case]) -> bool:
    """Whether one of the two is a value rather than the name or path of a file."""
    is_named = isinstance(task, str | Path) and not _is_prompt(task)
    return not (is_named and isinstance(eval_set, str | Path))


def load_inline(
    task: Task,
    eval_set: str | Path | Iterable[Case],
    root: Path,
    *,
    scorer: ScorerMode | None = None,
    grader_model: str | None = None,
) -> LoadedTask:
    """The task and the cases, each from its value or its file; InputError names what is wrong with them."""
    if isinstance(eval_set, str | Path):
        found = _read_task(task, (), root)
        loaded = _load_named(str(eval_set), found.name, root)
    else:
        cases = _write_cases(eval_set)
        found = _read_task(task, cases, root)
        loaded = read_evalset(_as_written({"name": NAME, "cases": cases}, "eval_set"))
    return LoadedTask(apply_scorer(found, scorer, grader_model), loaded.without_drafts())


def _is_prompt(task: object) -> bool:
    return isinstance(task, str) and "{" in task


def _load_named(eval_set: str, task: str, root: Path) -> LoadedEvalSet:
    """An evalset's file; a holdout is refused, since its looks are recorded for a task's file."""
    path = find_evalset(eval_set, task, root)
    loaded = load_evalset(path)
    if is_holdout(path.stem) or is_holdout(loaded.evalset.name):
        message = f"{path.stem!r} is a holdout: only a task in a file may look at it"
        raise InputError(Problem(message, "write the task to tasks/ and name it"))
    return loaded


def _read_task(task: Task, cases: Sequence[Mapping[str, Any]], root: Path) -> TaskConfig:
    if isinstance(task, TaskConfig):
        return task
    if isinstance(task, Mapping):
        return read_task(_as_written({"name": NAME, "system_prompt": "", **task}, "task"))
    if not _is_prompt(task):
        if not str(task):
            raise InputError(Problem("no task is given", 'give a name, or a prompt such as "{question}"'))
        return load_task(find_task(str(task), root))
    written: dict[str, Any] = {"name": NAME, "system_prompt": "", "user_template": task}
    if any(case.get("expected") for case in cases):
        written["scoring"] = {"mode": "strict_substring", "pass_rule": _choose_rule(cases)}
    return read_task(_as_written(written, "task"))


def _choose_rule(cases: Sequence[Mapping[str, Any]]) -> str:
    """Equality with the one answer; one of several texts anywhere in the answer where cases list several."""
    for case in cases:
        expected = case.get("expected")
        if isinstance(expected, Mapping) and "any_of" in expected:
            return "any_substring"
    return "exact_match"


def _write_cases(cases: Iterable[Case]) -> list[dict[str, Any]]:
    """The cases as a file has them: with ids, and with the inputs of flat ones gathered."""
    listed = list(cases)
    width = max(3, len(str(len(listed))))
    return [_write_case(case, f"case-{number:0{width}}") for number, case in enumerate(listed, start=1)]


def _write_case(case: Case, number: str) -> dict[str, Any]:
    if isinstance(case, EvalCase):
        return case.model_dump(mode="json", exclude_unset=True)
    if not isinstance(case, Mapping):
        message = f"{number} of eval_set is not a dictionary"
        raise InputError(Problem(message, 'write {"question": …, "expected": …}'))
    written = dict(case)
    if "inputs" not in written and "messages" not in written:
        inputs = {key: value for key, value in written.items() if key not in _CASE_KEYS}
        written = {key: value for key, value in written.items() if key in _CASE_KEYS} | {"inputs": inputs}
    written.setdefault("inputs", {})
    written["id"] = str(written.get("id", number))
    if isinstance(written.get("stratum"), str):
        written["stratum"] = {"stratum": written["stratum"]}
    if "expected" in written:
        written["expected"] = _write_expected(written["expected"])
    return written


def _write_expected(expected: Any) -> Any:
    """One answer, or several that would do, as the keys that checks read; a mapping as it is."""
    if isinstance(expected, list | tuple | set):
        return {"any_of": [str(one) for one in expected]}
    if expected is None or isinstance(expected, Mapping):
        return expected
    return {"answer": expected if isinstance(expected, str) else json.dumps(expected)}


def _as_written(value: Any, name: str) -> Located:
    """The value as JSON has it, with the bounds of a file; problems name the argument."""
    try:
        text = json.dumps(value)  # half a character stays visible as its escape, which is refused
    except (TypeError, ValueError, RecursionError) as exc:
        raise InputError(Problem(f"{name} cannot be written as JSON: {exc}", "use plain values")) from None
    return Located(load_json(text, name).value, {}, name)
