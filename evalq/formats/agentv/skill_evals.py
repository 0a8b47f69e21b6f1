"""The files a transpilation writes: an evals.json for each skill, or the bare list that run_eval.py takes."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem

NO_SKILL = "_no-skill"
KEYS = ("id", "prompt", "expected_output", "files", "should_trigger", "assertions")

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True)
class SkillEval:
    """One entry of evals.json, and the line its test begins on; fields that are None are left out."""

    id: int | float
    prompt: str
    assertions: tuple[str, ...]
    expected_output: str | None = None
    files: tuple[str, ...] = ()
    should_trigger: bool | None = None
    file: str = ""
    line: int = 0

    def content(self, keys: Iterable[str] = KEYS) -> dict[str, Any]:
        """Return the entry with its keys in this order."""
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
class SkillEvals:
    """The evals.json of one skill."""

    skill_name: str
    evals: tuple[SkillEval, ...]
    runs_per_query: int | None = None
    trigger_threshold: float | None = None
    keys: tuple[str, ...] = KEYS

    def content(self) -> dict[str, Any]:
        """Return the document as it is written."""
        content: dict[str, Any] = {"skill_name": self.skill_name}
        if self.runs_per_query is not None:
            content["runs_per_query"] = self.runs_per_query
        if self.trigger_threshold is not None:
            content["trigger_threshold"] = self.trigger_threshold
        content["evals"] = [one.content(self.keys) for one in self.evals]
        return content


@dataclass(frozen=True)
class Transpilation:
    """The documents by file name, and warnings about them."""

    documents: dict[str, SkillEvals]
    warnings: tuple[Problem, ...] = ()


def safe_name(skill: str) -> str:
    """Replace everything but letters, digits, '_' and '-' in a skill's name, for use in a file name."""
    return _UNSAFE.sub("_", skill)


def json_document(content: Any) -> str:
    """Format JSON for a file: indented by two spaces, not escaped to ASCII, with a final newline."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def run_eval_list(document: SkillEvals) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Build the list of queries that run_eval.py takes, and warnings about left-out or overruled ones.

    Entries without should_trigger are left out. Of a repeated query only the last counts: run_eval.py would
    add up the runs of both under one of the two answers.
    """
    queries: dict[str, SkillEval] = {}
    problems: list[Problem] = []
    for one in document.evals:
        if one.should_trigger is None:
            continue
        if not one.prompt.strip():
            problems.append(Problem("an empty prompt is not a query: left out", "", one.file, one.line))
            continue
        first = queries.get(one.prompt)
        if first is not None and first.should_trigger != one.should_trigger:
            message = f"the query of line {first.line} again with another should_trigger: this one counts"
            problems.append(Problem(message, "word the two queries differently", one.file, one.line))
        queries[one.prompt] = one
    entries = [{"query": query, "should_trigger": one.should_trigger} for query, one in queries.items()]
    return entries, problems


def write_together(folder: Path, texts: Mapping[str, str], *, force: bool = False) -> list[Path]:
    """Write each text under its name in the folder, all or none; create the folder if needed.

    A file that is there already and says something else is replaced only with `force`: nothing in an
    evals.json tells whether a program or a person wrote it.
    """
    targets = [folder / name for name in texts]
    try:
        for target, text in zip(targets, texts.values(), strict=True):
            _refuse_other_text(target, text, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        drafts = [folder / f".{name}.{os.getpid()}.draft" for name in texts]
        try:
            for draft, text in zip(drafts, texts.values(), strict=True):
                draft.write_text(text, "utf-8", newline="\n")
            for draft, target in zip(drafts, targets, strict=True):
                draft.replace(target)
        finally:
            for draft in drafts:
                draft.unlink(missing_ok=True)
    except OSError as exc:
        message = f"cannot be written: {exc.strerror}"
        raise InputError(Problem(message, "choose another folder with -d", display_path(folder))) from None
    return targets


def _refuse_other_text(target: Path, text: str, *, force: bool) -> None:
    if target.is_dir():
        raise InputError(Problem("is a folder", "remove it, or choose another -d", display_path(target)))
    if force or not target.exists():
        return
    try:
        is_same = target.read_bytes() == text.encode()
    except OSError:
        is_same = False
    if not is_same:
        remedy = "write elsewhere with -d DIR, or replace it with --force"
        raise InputError(Problem("is there already and says something else", remedy, display_path(target)))
