"""The documents a transpilation ends in: evals.json for each skill, or the bare list run_eval.py takes."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem

NO_SKILL = "_no-skill"
KEYS = ("id", "prompt", "expected_output", "files", "should_trigger", "assertions")

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True)
class EvalCase:
    """One entry of evals.json, and the line its test begins on; what is None is left out."""

    id: int | float
    prompt: str
    assertions: tuple[str, ...]
    expected_output: str | None = None
    files: tuple[str, ...] = ()
    should_trigger: bool | None = None
    file: str = ""
    line: int = 0

    def content(self, keys: Iterable[str] = KEYS) -> dict[str, Any]:
        """The entry with its keys in this order."""
        written = {
            "id": self.id,
            "prompt": self.prompt,
            "expected_output": self.expected_output,
            "files": list(self.files) or None,
            "should_trigger": self.should_trigger,
            "assertions": list(self.assertions),
        }
        return {key: written[key] for key in keys if written[key] is not None}


@dataclass(frozen=True)
class Document:
    """The evals.json of one skill."""

    skill_name: str
    evals: tuple[EvalCase, ...]
    runs_per_query: int | None = None
    trigger_threshold: float | None = None
    keys: tuple[str, ...] = KEYS

    def content(self) -> dict[str, Any]:
        """The document as it is written."""
        settings = {"runs_per_query": self.runs_per_query, "trigger_threshold": self.trigger_threshold}
        return {
            "skill_name": self.skill_name,
            **{name: value for name, value in settings.items() if value is not None},
            "evals": [case.content(self.keys) for case in self.evals],
        }


@dataclass(frozen=True)
class Transpilation:
    """The documents by the names of their files, and what the reader should know about them."""

    documents: dict[str, Document]
    warnings: tuple[Problem, ...] = ()


def safe_name(skill: str) -> str:
    """The skill's name as part of a file's: letters, digits, '_' and '-' stay."""
    return _UNSAFE.sub("_", skill)


def json_document(content: Any) -> str:
    """JSON as it is written to a file: two spaces, letters of every language, a final newline."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def run_eval_list(document: Document) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The queries of one skill for run_eval.py, each once, and what was left out or overruled.

    Entries without should_trigger have no place in it. Where the same query is written twice the later
    one counts: run_eval.py would add their runs together under one of the two answers.
    """
    queries: dict[str, EvalCase] = {}
    problems = []
    for case in document.evals:
        if case.should_trigger is None:
            continue
        if not case.prompt.strip():
            problems.append(Problem("an empty prompt is no query: left out", "", case.file, case.line))
            continue
        first = queries.get(case.prompt)
        if first is not None and first.should_trigger != case.should_trigger:
            problems.append(_overruled(first, case))
        queries[case.prompt] = case
    return [
        {"query": query, "should_trigger": case.should_trigger} for query, case in queries.items()
    ], problems


def _overruled(first: EvalCase, case: EvalCase) -> Problem:
    message = f"the query of line {first.line} again with another should_trigger: this one counts"
    return Problem(message, "word the two queries differently", case.file, case.line)


def write_together(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write each text under its name in the folder, replacing what is there; make the folder if need be."""
    with _problems_told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        targets = [folder / name for name in texts]
        for target in targets:
            if target.is_dir():
                raise InputError(
                    Problem("is a folder", "remove it, or choose another -d", display_path(target))
                )
        drafts = [folder / f".{name}.{os.getpid()}.draft" for name in texts]
        try:
            for draft, text in zip(drafts, texts.values(), strict=True):
                draft.write_text(text, "utf-8", newline="\n")
            for draft, target in zip(drafts, targets, strict=True):
                draft.replace(target)
        finally:
            for draft in drafts:
                draft.unlink(missing_ok=True)
    return targets


@contextmanager
def _problems_told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot be written: {exc.strerror}"
        raise InputError(Problem(message, "choose another folder with -d", display_path(folder))) from None
