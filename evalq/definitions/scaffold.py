"""Writes a first task and evalset that run as they are, from an example or from a file of cases."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.definition import NAME_REMEDY, is_name, validate
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, LoadedEvalSet, display_path, load_evalset
from evalq.definitions.fit import check_fit
from evalq.definitions.project import definition_files
from evalq.definitions.task import TaskConfig
from evalq.definitions.writing import evalset_yaml
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem

_TASK = """\
# What every judge is asked, and how its answers are marked.
name: "NAME"
description: ""

# The instructions every judge gets.
system_prompt: |
  SYSTEM_PROMPT

# The question, once per case: {a_name} stands for the case's input of that name, {{ and }} for braces.
user_template: |
  USER_TEMPLATE

SCORING
max_tokens: 256

# The judges of a bake-off that names none: simulated ones to begin with. `evalq judges` lists all.
default_judges: [sim-grok-4.3, sim-sonnet-4.6]
"""

_EXAMPLE_PROMPT = "You sort messages. Answer with one word: question, complaint or praise."
_GENERAL_PROMPT = "Answer as briefly as you can, with the answer only."

_EXACT = """\
# An answer passes when it equals expected.answer. The other pass rules: any_substring, and
# positive_at_least_one_valid_or_empty_on_negative for answers that are JSON lists of findings.
scoring:
  mode: strict_substring
  pass_rule: exact_match
"""
_SUBSTRING = """\
# An answer passes when one of expected.any_of occurs in it.
scoring:
  mode: strict_substring
  pass_rule: any_substring
"""
_FINDINGS = """\
# The answer is a JSON list of findings: a positive case needs one with a text of expected.any_of in it,
# a negative case an empty list.
scoring:
  mode: strict_substring
  pass_rule: positive_at_least_one_valid_or_empty_on_negative
"""
_RANKING = """\
# The answer is a ranking of ids; it passes when one of expected.relevant comes first.
graders:
  - {type: hit_at_k, k: 1}
"""
_SCORINGS = (_EXACT, _SUBSTRING, _FINDINGS, _RANKING)

_EXAMPLE_EVALSET = """\
# The cases the task is asked on. Every id is used once; strata split the report; expected is never sent.
task: "NAME"
cases:
  - id: q1
    inputs: {text: "Where can I find my invoice?"}
    expected: {answer: question}
    stratum: {length: short}
  - id: c1
    inputs: {text: "This is the third parcel that arrives broken, and nobody answers my letters."}
    expected: {answer: complaint}
    stratum: {length: long}
  - id: p1
    inputs: {text: "Great service, thank you!"}
    expected: {answer: praise}
    stratum: {length: short}
"""


@dataclass(frozen=True)
class Scaffold:
    """The files to write by their path in the project, and the inputs that a template cannot name."""

    files: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def scaffold_task(name: str, source: Path | None = None) -> Scaffold:
    """A task and its evalset `dev`; with a source, an evalset's file, its cases and their inputs."""
    if not is_name(name):
        raise InputError(Problem(f"{name!r} cannot name a task", NAME_REMEDY))
    if source is None:
        task = render_task(name, prompt=_EXAMPLE_PROMPT, template="{text}", scoring=_EXACT)
        return Scaffold(_files(name, task, _EXAMPLE_EVALSET.replace("NAME", name)))
    return _scaffold_from(name, load_evalset(source))


def write_new(files: Mapping[str, str], root: Path) -> list[Path]:
    """Write new files; write none of them when one exists already."""
    paths = {root / relative: text for relative, text in files.items()}
    problems = []
    for path in paths:
        for other in definition_files(path.parent, EVALSET_SUFFIXES):
            if other.stem == path.stem:
                remedy = "take another name, or remove it first"
                problems.append(Problem("is already there", remedy, display_path(other)))
    if problems:
        raise InputError(*problems)
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return list(paths)


def _files(name: str, task: str, evalset: str) -> dict[str, str]:
    return {f"tasks/{name}.yaml": task, f"evalsets/{name}/dev.yaml": evalset}


def _scaffold_from(name: str, loaded: LoadedEvalSet) -> Scaffold:
    first, *others = [case.inputs for case in loaded.evalset.cases]
    shared = [one for one in first if all(one in inputs for inputs in others)]
    usable = [one for one in shared if one.isidentifier()]
    if not usable:
        remedy = "name an input with letters, digits and '_' only, and have it in every case"
        raise InputError(Problem("no input that a template could name", remedy, loaded.file, 1))
    task = _fitting_task(name, usable, loaded)
    left_out = tuple(one for one in shared if one not in usable)
    return Scaffold(_files(name, task, _evalset_text(name, loaded)), left_out)


def _fitting_task(name: str, inputs: list[str], loaded: LoadedEvalSet) -> str:
    """The task with the first kind of scoring that finds all it needs in the cases."""
    template = f"{{{inputs[0]}}}"
    if len(inputs) > 1:
        template = "\n  ".join(f"{one}: {{{one}}}" for one in inputs)
    problems: list[Problem] = []
    for scoring in _SCORINGS:
        text = render_task(name, prompt=_GENERAL_PROMPT, template=template, scoring=scoring)
        misfits = check_fit(validate(TaskConfig, load_yaml(text, f"tasks/{name}.yaml")), loaded)
        if not misfits:
            return text
        problems = problems or misfits
    raise InputError(*problems)


def render_task(name: str, *, prompt: str, template: str, scoring: str) -> str:
    """A task's file with these parts; every line of `prompt` and `template` after its first is indented."""
    parts = {"NAME": name, "SYSTEM_PROMPT": prompt, "USER_TEMPLATE": template, "SCORING": scoring}
    # One pass: a name that holds one of these words is not replaced again.
    return re.sub("|".join(sorted(parts, key=len, reverse=True)), lambda match: parts[match.group()], _TASK)


def _evalset_text(name: str, loaded: LoadedEvalSet) -> str:
    try:
        return evalset_yaml(
            EvalSet(name="dev", task=name, cases=loaded.evalset.cases), loaded.file, named=False
        )
    except InputError:
        remedy = f"init without --from, and copy the file to evalsets/{name} as it is"
        raise InputError(Problem("too large for an evalset in YAML", remedy, loaded.file)) from None
