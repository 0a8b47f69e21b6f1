"""The doctor of eva prompts: everything in a prompt's folder that is wrong, or that may be."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalq.definitions.definition import did_you_mean, validate
from evalq.definitions.files import display_path
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.eva.eval_file import read_eval
from evalq.formats.eva.load import EvaPrompt, case_of, case_values, triggering_set
from evalq.formats.eva.prompt import (
    EVAL,
    INPUTS,
    META,
    PROMPT,
    FullMeta,
    PromptFolder,
    PromptMeta,
    check_length,
    check_skill,
    prompt_folders,
    read_meta,
    variables,
    without_nulls,
)
from evalq.formats.problems import Finding, Notes

ALIASES = "aliases"
_ALIAS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Aliases = Mapping[str, Sequence[tuple[Path, int]]]
"""Every alias with the folders and lines that have it."""


def examine(paths: Sequence[Path], root: Path) -> tuple[int, list[Finding]]:
    """How many prompts there are at these paths, and what is found in them."""
    folders = list(dict.fromkeys(folder for path in paths for folder in prompt_folders(path, root)))
    aliases = _all_aliases(folders)
    return len(folders), [finding for folder in folders for finding in _findings(folder, aliases)]


def problems(path: Path, root: Path) -> list[Problem]:
    """What must be mended in the prompt at a path."""
    _, findings = examine([path], root)
    return [finding.problem for finding in findings if finding.severity == "problem"]


def _findings(folder: PromptFolder, aliases: Aliases) -> list[Finding]:
    notes = Notes()
    meta = _check_meta(notes, folder)
    text = notes.take(lambda: folder.text(PROMPT), file=_file(folder, PROMPT))
    if text is not None:
        check_length(notes, text, _file(folder, PROMPT))
    if text is not None and meta is not None:
        _check_variables(notes, folder, meta, text)
    if folder.has(EVAL):
        _check_eval(notes, folder, meta, text)
    _check_examples(notes, folder)
    _check_aliases(notes, folder, aliases)
    return notes.findings


def _check_meta(notes: Notes, folder: PromptFolder) -> PromptMeta | None:
    """What eva demands of it, and what a skill's must be like; None when an evaluation cannot use it."""
    file = _file(folder, META)
    located = notes.take(lambda: folder.located(META), file=file)
    if located is None:
        return None
    notes.take(lambda: validate(FullMeta, without_nulls(located)), file=file)
    if not isinstance(located.value, dict):
        return None
    name = located.value.get("id")
    if isinstance(name, str) and name != folder.id:
        remedy = f"write id: {folder.id}, or rename the folder"
        notes.problem(located.problem(("id",), f"id is {name!r}, the folder {folder.id!r}", remedy))
    _warn_of_unknown_keys(notes, located)
    check_skill(notes, located)
    return notes.take(lambda: read_meta(located), file=file)


def _warn_of_unknown_keys(notes: Notes, located: Located) -> None:
    for key in located.value:
        if key not in FullMeta.model_fields:
            notes.warning(
                located.problem((key,), f"unknown key {key!r}", did_you_mean(key, FullMeta.model_fields))
            )


def _check_variables(notes: Notes, folder: PromptFolder, meta: PromptMeta, text: str) -> None:
    """Every variable is declared, and every required one used."""
    used = variables(text)
    declared = [one.name for one in meta.inputs]
    for name, line in used.items():
        if name not in declared:
            remedy = f"add '- name: {name}' under inputs: in {META}"
            notes.problem(Problem(f"{{{{{name}}}}} is not declared", remedy, _file(folder, PROMPT), line))
    located = folder.located(META)
    for at, one in enumerate(meta.inputs):
        if one.required and one.name not in used:
            remedy = f"put {{{{{one.name}}}}} into {PROMPT}, or remove the input"
            message = f"required input {one.name!r} is not in {PROMPT}"
            notes.problem(located.problem(("inputs", at), message, remedy))


def _check_eval(notes: Notes, folder: PromptFolder, meta: PromptMeta | None, text: str | None) -> None:
    """It is as it should be, and every case in it can be asked."""
    file = _file(folder, EVAL)
    located = notes.take(lambda: folder.located(EVAL), file=file)
    exam = notes.take(lambda: read_eval(located), file=file) if located is not None else None
    if located is None or exam is None or meta is None or text is None:
        return
    prompt = EvaPrompt(folder, meta, text, exam, located)
    for at in range(len(exam.cases)):
        _check_case(notes, prompt, at)
    notes.take(lambda: triggering_set(prompt), file=file)


def _check_case(notes: Notes, prompt: EvaPrompt, at: int) -> None:
    case = prompt.exam.cases[at]
    if notes.take(lambda: case_of(prompt, at, case), file=prompt.located.file) is None:
        return
    used = variables(prompt.text)
    for name in case_values(prompt, at, case):
        if name not in used:
            message = f"case {case.name!r} gives a value for {name!r}, which {PROMPT} does not use"
            notes.warning(
                prompt.located.problem(("cases", at, "inputs", name), message, did_you_mean(name, used))
            )


def _check_examples(notes: Notes, folder: PromptFolder) -> None:
    """Every example's variables can be read."""
    for path in sorted(folder.path("examples").glob(f"*/{INPUTS}")):
        name = f"examples/{path.parent.name}"
        own = PromptFolder(folder.folder, folder.folder)
        notes.take(lambda own=own, name=name: own.inputs(name), file=display_path(path))  # type: ignore[misc]


def _check_aliases(notes: Notes, folder: PromptFolder, aliases: Aliases) -> None:
    """Names that a shell can call, each of one prompt alone."""
    file = _file(folder, ALIASES)
    if folder.has(ALIASES):
        notes.take(lambda: folder.text(ALIASES), file=file)
    for alias, line in _aliases(folder):
        if not _ALIAS.fullmatch(alias):
            remedy = "use letters, digits, _ and -, beginning with a letter or _"
            notes.problem(Problem(f"{alias!r} is no alias", remedy, file, line))
        elsewhere = [other for other in aliases[alias] if other != (folder.folder.resolve(), line)]
        if elsewhere:
            where = f"{display_path(elsewhere[0][0] / ALIASES)}:{elsewhere[0][1]}"
            notes.problem(Problem(f"alias {alias!r} is also in {where}", "keep one of them", file, line))


def _all_aliases(folders: Sequence[PromptFolder]) -> Aliases:
    """Those of these prompts and of their neighbours: an alias is one prompt's wherever one looks."""
    found: defaultdict[str, list[tuple[Path, int]]] = defaultdict(list)
    near_by = [
        PromptFolder(path.parent, folder.root)
        for folder in folders
        for path in folder.folder.resolve().parent.glob(f"*/{ALIASES}")
    ]
    for folder in dict.fromkeys(near_by):
        for alias, line in _aliases(folder):
            found[alias].append((folder.folder.resolve(), line))
    return found


def _aliases(folder: PromptFolder) -> list[tuple[str, int]]:
    """The aliases in a prompt's file, one a line; a line that begins with # is a remark."""
    if not folder.has(ALIASES):
        return []
    try:
        text = folder.text(ALIASES)
    except InputError:
        return []
    lines = [(line.strip(), number) for number, line in enumerate(text.splitlines(), start=1)]
    return [(line, number) for line, number in lines if line and not line.startswith("#")]


def _file(folder: PromptFolder, name: str) -> str:
    return display_path(folder.path(name))
