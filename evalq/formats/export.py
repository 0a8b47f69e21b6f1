"""Writes an imported set as files of our own: a task and an evalset."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.definition import NAME_REMEDY, is_name, validate
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, display_path, load_task
from evalq.definitions.loaded import LoadedTask
from evalq.definitions.project import definition_files
from evalq.definitions.task import TaskConfig
from evalq.definitions.writing import case_fields, to_yaml
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

MAX_YAML_CHARS = 1_000_000
"""Longer sets are written as JSONL: a million characters of YAML take a second to write."""


@dataclass(frozen=True)
class Export:
    """A task and an evalset under their new names, and the texts of their files by path."""

    task: TaskConfig
    evalset: EvalSet
    files: Mapping[str, str]


def export_imported(imported: LoadedTask, *, task: str, eval_set: str) -> Export:
    """Build both files; raise InputError for an invalid name, or for content that a file cannot hold."""
    for name, what in ((task, "task"), (eval_set, "evalset")):
        if not is_name(name):
            raise InputError(Problem(f"{name!r} cannot name a {what}", NAME_REMEDY))
    own_task = imported.task.model_copy(update={"name": task})
    evalset = imported.evalset.model_copy(update={"name": eval_set, "task": task})
    task_text = to_yaml(own_task.model_dump(exclude_unset=True))
    _check_round_trip(own_task, task_text, imported)
    name, text = _build_cases_file(evalset, imported)
    return Export(own_task, evalset, {f"tasks/{task}.yaml": task_text, f"evalsets/{task}/{name}": text})


def _build_cases_file(evalset: EvalSet, imported: LoadedTask) -> tuple[str, str]:
    """Write the cases as YAML, which people read more easily, or as JSONL if there is too much."""
    cases = [case_fields(case) for case in evalset.cases]
    lines = [json.dumps(case, ensure_ascii=False) for case in cases]
    if sum(map(len, lines)) <= MAX_YAML_CHARS:
        text = to_yaml({"name": evalset.name, "task": evalset.task, "cases": cases})
        _check_round_trip(evalset, text, imported)
        return f"{evalset.name}.yaml", text
    return f"{evalset.name}.jsonl", "".join(f"{line}\n" for line in lines)


def _check_round_trip(written: TaskConfig | EvalSet, text: str, imported: LoadedTask) -> None:
    file = imported.loaded.file
    if validate(type(written), load_yaml(text, file)) != written:
        raise InputError(Problem("holds what does not come back from a file", "run it as it is", file))


def write_files(export: Export, root: Path, *, force: bool = False) -> list[Path]:
    """Write all files or none; replace existing files only with `force`.

    A task file that already holds the same task stays as it is: several sets may belong to it.
    """
    texts: dict[Path, str] = {}
    problems: list[Problem] = []
    for name, text in export.files.items():
        path = root / name
        if not _holds_task(path, export.task):
            texts[path] = text
            problems += _find_conflicts(path, force=force)
    if problems:
        raise InputError(*problems)
    before = {path: path.read_bytes() if path.exists() else None for path in texts}
    done: list[Path] = []
    try:
        for path, text in texts.items():
            _write(path, text)
            done.append(path)
    except OSError as exc:
        for path in done:
            _restore(path, before[path])
        message = f"cannot be written: {exc.strerror}"
        raise InputError(Problem(message, "check the folder's rights, and that it is a folder")) from None
    return done


def _holds_task(path: Path, task: TaskConfig) -> bool:
    if path.parent.name != "tasks" or not path.exists():
        return False
    try:
        return load_task(path) == task
    except InputError:
        return False


def _find_conflicts(path: Path, *, force: bool) -> list[Problem]:
    existing = definition_files(path.parent, EVALSET_SUFFIXES)
    problems: list[Problem] = []
    for found in existing:
        if found.stem == path.stem and found != path:
            problems.append(
                Problem("has the same name", "remove it, or take another name", display_path(found))
            )
    if path in existing and not force:
        remedy = "take another name, or replace it with --force"
        problems.append(Problem("is already there", remedy, display_path(path)))
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
