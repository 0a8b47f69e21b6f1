"""Checks eva prompts: finds everything in a prompt's folder that is wrong, or may be."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalq.definitions.definition import did_you_mean, validate
from evalq.definitions.files import display_path
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.eva.exam import read_exam
from evalq.formats.eva.load import EvaPrompt, build_case, load_requests, read_values
from evalq.formats.eva.prompt import (
    EVAL,
    INPUTS,
    META,
    PROMPT,
    FullMeta,
    PromptFolder,
    PromptMeta,
    find_prompts,
    find_variables,
    read_meta,
    without_nulls,
)
from evalq.formats.problems import FileFinding, FileFindings

ALIASES = "aliases"
MAX_DESCRIPTION_CHARS = 1024
MANY_WORDS, TOO_MANY_WORDS = 3500, 5000
MANY_LINES = 200

_RESERVED = ("claude", "anthropic")
_USE_WHEN = re.compile(r"\buse when\b", re.IGNORECASE)
_ALIAS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Aliases = Mapping[str, Sequence[tuple[Path, int]]]
"""Every alias with the folders and lines that have it."""


def examine(paths: Sequence[Path], root: Path) -> tuple[int, list[FileFinding]]:
    """Count the prompts at these paths, and find what is wrong with them."""
    found: dict[PromptFolder, None] = {}
    for path in paths:
        found.update(dict.fromkeys(find_prompts(path, root)))
    folders = list(found)
    aliases = _find_all_aliases(folders)
    findings: list[FileFinding] = []
    for folder in folders:
        findings += _examine_folder(folder, aliases)
    return len(folders), findings


def find_problems(path: Path, root: Path) -> list[Problem]:
    """Return what must be fixed in the prompt at a path."""
    _, findings = examine([path], root)
    return [finding.problem for finding in findings if finding.severity == "problem"]


def _examine_folder(folder: PromptFolder, aliases: Aliases) -> list[FileFinding]:
    findings = FileFindings()
    meta = _check_meta(findings, folder)
    text = findings.attempt(lambda: folder.read_text(PROMPT), file=_display_file(folder, PROMPT))
    if text is not None:
        _check_length(findings, text, _display_file(folder, PROMPT))
    if text is not None and meta is not None:
        _check_variables(findings, folder, meta, text)
    if folder.has(EVAL):
        _check_eval(findings, folder, meta, text)
    _check_examples(findings, folder)
    _check_aliases(findings, folder, aliases)
    return findings.found


def _check_meta(findings: FileFindings, folder: PromptFolder) -> PromptMeta | None:
    """Check meta.yml against what eva and skills require; return None if an evaluation cannot use it."""
    file = _display_file(folder, META)
    located = findings.attempt(lambda: folder.load_yaml(META), file=file)
    if located is None:
        return None
    findings.attempt(lambda: validate(FullMeta, without_nulls(located)), file=file)
    if not isinstance(located.value, dict):
        return None
    name = located.value.get("id")
    if isinstance(name, str) and name != folder.id:
        remedy = f"write id: {folder.id}, or rename the folder"
        findings.add_problem(located.problem(("id",), f"id is {name!r}, the folder {folder.id!r}", remedy))
    _warn_of_unknown_keys(findings, located)
    _check_skill(findings, located)
    return findings.attempt(lambda: read_meta(located), file=file)


def _warn_of_unknown_keys(findings: FileFindings, located: Located) -> None:
    for key in located.value:
        if key not in FullMeta.model_fields:
            remedy = did_you_mean(key, FullMeta.model_fields)
            findings.add_warning(located.problem((key,), f"unknown key {key!r}", remedy))


def _check_skill(findings: FileFindings, meta: Located) -> None:
    """Check what a skill's meta.yml must fulfil beyond a prompt's."""
    value: Mapping[str, Any] = meta.value
    name = str(value.get("id", ""))
    for word in _RESERVED:
        if word in name.lower():
            remedy = "skills may not be named so; rename the folder and id"
            findings.add_problem(meta.problem(("id",), f"the id holds {word!r}", remedy))
    description = value.get("description")
    if isinstance(description, str) and description.strip():
        _check_description(findings, meta, description)


def _check_description(findings: FileFindings, meta: Located, description: str) -> None:
    loc = ("description",)
    if len(description) > MAX_DESCRIPTION_CHARS:
        message = (
            f"the description has {len(description)} characters, {MAX_DESCRIPTION_CHARS} at most are read"
        )
        findings.add_problem(meta.problem(loc, message, "shorten it"))
    if "<" in description or ">" in description:
        findings.add_problem(
            meta.problem(loc, "the description holds < or >", "write it without angle brackets")
        )
    if not _USE_WHEN.search(description):
        remedy = "add a sentence that begins 'Use when'"
        findings.add_warning(meta.problem(loc, "the description does not say when to use it", remedy))


def _check_length(findings: FileFindings, text: str, file: str) -> None:
    """Check that a prompt is not empty, and not too long for a model to follow."""
    words = len(text.split())
    lines = sum(bool(line.strip()) for line in text.splitlines())
    if not words:
        findings.add_problem(Problem("the prompt is empty", "write what the model should do", file))
    if words >= TOO_MANY_WORDS:
        remedy = f"keep it under {TOO_MANY_WORDS}; move details into files of their own"
        findings.add_problem(Problem(f"{words} words are too many", remedy, file))
    elif words >= MANY_WORDS:
        findings.add_warning(Problem(f"{words} words are many", f"keep it under {MANY_WORDS}", file))
    if lines >= MANY_LINES:
        findings.add_warning(
            Problem(f"{lines} lines that are not blank are many", f"keep it under {MANY_LINES}", file)
        )


def _check_variables(findings: FileFindings, folder: PromptFolder, meta: PromptMeta, text: str) -> None:
    """Check that every variable is declared, and every required input used."""
    used = find_variables(text)
    declared = [one.name for one in meta.inputs]
    for name, line in used.items():
        if name not in declared:
            remedy = f"add '- name: {name}' under inputs: in {META}"
            message = f"{{{{{name}}}}} is not declared"
            findings.add_problem(Problem(message, remedy, _display_file(folder, PROMPT), line))
    located = folder.load_yaml(META)
    for at, one in enumerate(meta.inputs):
        if one.required and one.name not in used:
            remedy = f"put {{{{{one.name}}}}} into {PROMPT}, or remove the input"
            message = f"required input {one.name!r} is not in {PROMPT}"
            findings.add_problem(located.problem(("inputs", at), message, remedy))


def _check_eval(
    findings: FileFindings, folder: PromptFolder, meta: PromptMeta | None, text: str | None
) -> None:
    """Check eval.yml, and that every case in it can be asked."""
    file = _display_file(folder, EVAL)
    located = findings.attempt(lambda: folder.load_yaml(EVAL), file=file)
    exam = findings.attempt(lambda: read_exam(located), file=file) if located is not None else None
    if located is None or exam is None or meta is None or text is None:
        return
    prompt = EvaPrompt(folder, meta, text, exam, located)
    for at in range(len(exam.cases)):
        _check_case(findings, prompt, at)
    findings.attempt(lambda: load_requests(prompt), file=file)


def _check_case(findings: FileFindings, prompt: EvaPrompt, at: int) -> None:
    case = prompt.exam.cases[at]
    if findings.attempt(lambda: build_case(prompt, at, case), file=prompt.located.file) is None:
        return
    used = find_variables(prompt.text)
    for name in read_values(prompt, at, case):
        if name not in used:
            message = f"case {case.name!r} gives a value for {name!r}, which {PROMPT} does not use"
            findings.add_warning(
                prompt.located.problem(("cases", at, "inputs", name), message, did_you_mean(name, used))
            )


def _check_examples(findings: FileFindings, folder: PromptFolder) -> None:
    """Check that the variables of every example can be read."""
    for path in sorted(folder.path("examples").glob(f"*/{INPUTS}")):
        name = f"examples/{path.parent.name}"
        own = PromptFolder(folder.folder, folder.folder)
        findings.attempt(lambda own=own, name=name: own.load_inputs(name), file=display_path(path))  # type: ignore[misc]


def _check_aliases(findings: FileFindings, folder: PromptFolder, aliases: Aliases) -> None:
    """Check that every alias can be called from a shell and belongs to one prompt only."""
    file = _display_file(folder, ALIASES)
    if folder.has(ALIASES):
        findings.attempt(lambda: folder.read_text(ALIASES), file=file)
    for alias, line in _read_aliases(folder):
        if not _ALIAS.fullmatch(alias):
            remedy = "use letters, digits, _ and -, beginning with a letter or _"
            findings.add_problem(Problem(f"{alias!r} is not an alias", remedy, file, line))
        elsewhere = [other for other in aliases[alias] if other != (folder.folder.resolve(), line)]
        if elsewhere:
            where = f"{display_path(elsewhere[0][0] / ALIASES)}:{elsewhere[0][1]}"
            findings.add_problem(
                Problem(f"alias {alias!r} is also in {where}", "keep one of them", file, line)
            )


def _find_all_aliases(folders: Sequence[PromptFolder]) -> Aliases:
    """Find the aliases of these prompts and of their neighbours, which share one namespace."""
    found: defaultdict[str, list[tuple[Path, int]]] = defaultdict(list)
    neighbours: dict[PromptFolder, None] = {}
    for folder in folders:
        for path in folder.folder.resolve().parent.glob(f"*/{ALIASES}"):
            neighbours[PromptFolder(path.parent, folder.root)] = None
    for folder in neighbours:
        for alias, line in _read_aliases(folder):
            found[alias].append((folder.folder.resolve(), line))
    return found


def _read_aliases(folder: PromptFolder) -> list[tuple[str, int]]:
    """Read a prompt's aliases with their lines, one on each line; # begins a comment."""
    if not folder.has(ALIASES):
        return []
    try:
        text = folder.read_text(ALIASES)
    except InputError:
        return []
    aliases: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        alias = line.strip()
        if alias and not alias.startswith("#"):
            aliases.append((alias, number))
    return aliases


def _display_file(folder: PromptFolder, name: str) -> str:
    return display_path(folder.path(name))
