"""Graders made of what other formats say: validated as if a task had listed them."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.definition import NAME_PATTERN, NAME_REMEDY, is_name, validate
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, display_path, load_task
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask
from evalq.definitions.project import definition_files
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import names_builtin_rubric
from evalq.definitions.writing import case_fields, to_yaml
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.problems import Losses
from evalq.formats.skills.trigger_cases import short_id

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)
_LONGEST_NAME = 100


def made_grader(fields: Mapping[str, Any]) -> GraderConfig:
    """The grader with these parameters, those that are None left out; ValueError when there is none such."""
    written = {key: value for key, value in fields.items() if value is not None}
    try:
        return _GRADER.validate_python(written)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{place}: {message}" if place else message) from None


def as_name(text: str | None) -> str | None:
    """A name made of a text: what may not stand in one becomes a dash; None when nothing is left."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", text or "").strip("-._")[:_LONGEST_NAME]
    return cleaned if re.fullmatch(NAME_PATTERN, cleaned) else None


def plain_rubric(text: str) -> str:
    """A rubric that means itself: ours may have names in braces, or be the name of a built-in one."""
    escaped = text.strip().replace("{", "{{").replace("}", "}}")
    return f"{escaped}." if names_builtin_rubric(escaped) else escaped


_SAYING_NOTHING = frozenset({"eval", "evals", "dataset", "tests", "test", "promptfooconfig", "baseline"})


def set_name(path: Path) -> str:
    """The file's name without what says its format."""
    stem = path.name.partition(".")[0] or path.stem
    return as_name(stem) or "imported"


def task_name(path: Path, own: str | None = None) -> str:
    """The name a file gives itself, or its file's, or its folder's where that says more."""
    if named := as_name(own):
        return named
    folders = [path.resolve().parent, path.resolve().parent.parent]
    names = [path.name.partition(".")[0], *(folder.name for folder in folders)]
    telling = (name for name in names if name.lower() not in _SAYING_NOTHING and as_name(name))
    return as_name(next(telling, "imported")) or "imported"


def with_own_ids(
    cases: Iterable[tuple[EvalCase, Problem]], losses: Losses
) -> tuple[list[EvalCase], dict[str, int]]:
    """The cases, each with an id of its own, and the line of each; `Problem` says where a case is written."""
    seen: Counter[str] = Counter()
    kept: list[EvalCase] = []
    lines: dict[str, int] = {}
    for case, place in cases:
        seen[case.id] += 1
        if seen[case.id] > 1:
            new_id = _free(case.id, seen)
            message = f"id {case.id!r} is used twice: this one is called {new_id!r}"
            losses.note(Problem(message, "give every test an id of its own", place.file, place.line))
            case = case.model_copy(update={"id": new_id})
            seen[new_id] += 1
        kept.append(case)
        lines[case.id] = place.line
    return kept, lines


def _free(case_id: str, taken: Counter[str]) -> str:
    numbers = (short_id(f"{case_id}#{number}") for number in range(2, len(taken) + 3))
    return next(one for one in numbers if one not in taken)


LARGEST_YAML = 1_000_000
"""Beyond so many characters cases are written as JSONL: YAML takes a second for each million."""


@dataclass(frozen=True)
class OwnForm:
    """The task and the evalset under their new names, and the files they go into, by their paths."""

    task: TaskConfig
    evalset: EvalSet
    files: Mapping[str, str]


def own_form(imported: LoadedTask, *, task: str, eval_set: str) -> OwnForm:
    """Both as files; InputError for a name that cannot be, or for what no file of ours can hold."""
    for name, what in ((task, "task"), (eval_set, "evalset")):
        if not is_name(name):
            raise InputError(Problem(f"{name!r} cannot name a {what}", NAME_REMEDY))
    own_task = imported.task.model_copy(update={"name": task})
    evalset = imported.evalset.model_copy(update={"name": eval_set, "task": task})
    task_text = to_yaml(own_task.model_dump(exclude_unset=True))
    _read_back(own_task, task_text, imported)
    name, text = _cases_file(evalset, imported)
    return OwnForm(own_task, evalset, {f"tasks/{task}.yaml": task_text, f"evalsets/{task}/{name}": text})


def write_files(form: OwnForm, root: Path, *, force: bool = False) -> list[Path]:
    """Write all files or none; what is there already is left unless it is to be replaced.

    A task that says the same already stays as it is: several sets may belong to it.
    """
    wanted = {root / name: text for name, text in form.files.items() if not _is_there(root / name, form.task)}
    problems = [problem for path in wanted for problem in _taken(path, force=force)]
    if problems:
        raise InputError(*problems)
    before = {path: path.read_bytes() if path.exists() else None for path in wanted}
    done: list[Path] = []
    try:
        for path, text in wanted.items():
            _write(path, text)
            done.append(path)
    except OSError as exc:
        for path in done:
            _restore(path, before[path])
        message = f"cannot be written: {exc.strerror}"
        raise InputError(Problem(message, "check the folder's rights, and that it is a folder")) from None
    return list(wanted)


def _cases_file(evalset: EvalSet, imported: LoadedTask) -> tuple[str, str]:
    """YAML for people where that is feasible, JSONL else."""
    cases = [case_fields(case) for case in evalset.cases]
    lines = [json.dumps(case, ensure_ascii=False) for case in cases]
    if sum(map(len, lines)) <= LARGEST_YAML:
        text = to_yaml({"name": evalset.name, "task": evalset.task, "cases": cases})
        _read_back(evalset, text, imported)
        return f"{evalset.name}.yaml", text
    return f"{evalset.name}.jsonl", "".join(f"{line}\n" for line in lines)


def _read_back(written: TaskConfig | EvalSet, text: str, imported: LoadedTask) -> None:
    """Refuse what a file would give back as something else."""
    file = imported.loaded.file
    if validate(type(written), load_yaml(text, file)) != written:
        raise InputError(Problem("holds what does not come back from a file", "run it as it is", file))


def _is_there(path: Path, task: TaskConfig) -> bool:
    if path.parent.name != "tasks" or not path.exists():
        return False
    try:
        return load_task(path) == task
    except InputError:
        return False


def _taken(path: Path, *, force: bool) -> list[Problem]:
    same = [one for one in definition_files(path.parent, EVALSET_SUFFIXES) if one.stem == path.stem]
    others = [one for one in same if one != path]
    problems = [
        Problem("has the same name", "remove it, or take another name", display_path(one)) for one in others
    ]
    if path in same and not force:
        problems.append(
            Problem("is already there", "take another name, or replace it with --force", display_path(path))
        )
    return problems


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_text(text, "utf-8", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _restore(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
