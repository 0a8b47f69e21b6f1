"""New suites and new evals: files that run as they are, for the user to change."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem
from evalq.formats.suite.read import EVAL_FOLDERS, load_file, read_suite

GraderChoice = Literal["code", "function", "model", "human"]
GRADER_CHOICES: tuple[str, ...] = get_args(GraderChoice)

_SUITE_FILE = "eval-suite.yaml"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_SUITE = """\
# Every eval in capability/ and regression/ belongs to the suite; config/ is shared by all of them.
eval_suite:
  name: NAME
  version: "1.0.0"
  description: "What must work, and what must not change"

  config:
    parallel_execution: true
    max_workers: 4
    timeout_global: 3600
    retry_failed: true
    retry_count: 2

  reporting:
    format: ["json", "markdown", "html"]
    output_dir: "./results"
    include_details: true
    notify_on_failure: false
"""
_SHARED_GRADERS = """\
# Graders and rubrics by name: an eval takes one as `grader: plain_text` or `rubric: helpfulness`.
graders:
  plain_text:
    type: "code"
    config: {method: "exact_match", case_sensitive: false}

rubrics:
  helpfulness: |
    1. **Correctness** (weight: 0.6)
       - 5: right in every part
       - 3: right in the main part
       - 1: wrong
    2. **Clarity** (weight: 0.4)
       - 5: plain and to the point
       - 3: understandable with effort
       - 1: unclear
"""
_SHARED_THRESHOLDS = """\
# What `evalq gate` demands; contexts such as staging and production are built in.
thresholds:
  pass_at_1: 0.85
  pass_hat_3: 0.70
"""
_CAPABILITY = """\
# One capability: what the system is asked, and when its answer passes.
capability_eval:
  id: ID
  name: ID
  description: "What this eval tests"
  category: "general"

  input:
    type: "prompt"
    content: PROMPT

EXPECTED
  metadata: {difficulty: "easy", tags: ["new"], timeout_seconds: 60, weight: 1.0}
"""
_REGRESSION = """\
# One behaviour that must not change: capture a baseline with `evalq baseline capture`, or write it here.
regression_eval:
  id: ID
  name: ID
  description: "What behaviour this eval protects"
  baseline_version: "v1.0.0"

  baseline:
    output: {answer: "olleh"}

  current:
    input: "Reverse the string hello. Reply with JSON: the reversed string as `answer`."
    execution: {type: "prompt"}

  comparison:
    type: "structural"
    tolerance: {allow_additional_fields: true}

  metadata: {criticality: "medium"}
"""
_PROMPTS: dict[GraderChoice, str] = {
    "code": "Reverse the string hello. Reply with the result only.",
    "function": "Write a Python function factorial(n) that computes the factorial of n recursively.",
    "model": "Explain in two sentences what a database index is.",
    "human": "Write a friendly reply to a customer whose parcel is late.",
}
_EXPECTED: dict[GraderChoice, str] = {
    "code": """\
  expected: {type: "exact", value: "olleh"}
  grader: "plain_text"
""",
    "function": """\
  expected:
    type: "functional"
    value:
      test_cases:
        - {input: [5], output: 120}
        - {input: [0], output: 1}
  grader:
    type: "code"
    config: {executor: "python", function_name: "factorial", timeout_per_case: 5}
""",
    "model": """\
  expected: {type: "semantic", value: "An index lets a database find rows without reading the whole table."}
  grader:
    type: "model"
    config: {rubric: "helpfulness"}
""",
    "human": """\
  grader:
    type: "human"
    config:
      evaluators: {min_required: 2, max_allowed: 5}
      rating_scale: {type: "likert", range: [1, 5]}
      rubric: "Would you send this reply to a customer?"
""",
}


def create_suite(
    folder: Path, *, name: str, capability: Sequence[str], regression: Sequence[str], grader: GraderChoice
) -> list[Path]:
    """Write the evals named, and the suite's own files where they are missing; return what was written.

    A new suite without named evals begins with one of each type. Nothing is overwritten: InputError names
    every file that is there already, and nothing is written then.
    """
    is_new = not (folder / _SUITE_FILE).exists()
    if is_new and not capability and not regression:
        capability, regression = ("cap-001",), ("reg-001",)
    evals: dict[Path, str] = {}
    for one in capability:
        evals[_eval_file(folder, "capability", one)] = _capability_text(one, grader)
    for one in regression:
        evals[_eval_file(folder, "regression", one)] = _fill(_REGRESSION, {"ID": json.dumps(one)})
    if not evals:
        remedy = "name the evals to add: --capability ID or --regression ID"
        raise InputError(Problem("the suite is there already", remedy, display_path(folder / _SUITE_FILE)))
    _refuse_existing(evals)
    _refuse_known_ids(folder, [*capability, *regression], is_new=is_new)
    return _write({**_missing_shared_files(folder, name), **evals})


def list_missing_references(folder: Path, written: Sequence[Path]) -> list[str]:
    """The lines to add to a suite that lists its evals, so that it includes the new files."""
    block = load_file(folder / _SUITE_FILE).value.get("eval_suite", {})
    if block.get("evals") is None:
        return []
    lines = []
    for path in written:
        relative = path.relative_to(folder)
        if relative.parts[0] in EVAL_FOLDERS:
            lines.append(f'- $ref: "./{relative.as_posix()}"')
    return lines


def _eval_file(folder: Path, kind: str, one: str) -> Path:
    if not _ID.fullmatch(one):
        remedy = "use letters, digits, '.', '_' and '-', such as cap-login-001"
        raise InputError(Problem(f"{one!r} cannot be the id of an eval", remedy))
    return folder / kind / f"{one}.yaml"


def _capability_text(one: str, grader: GraderChoice) -> str:
    parts = {"ID": json.dumps(one), "PROMPT": json.dumps(_PROMPTS[grader]), "EXPECTED": _EXPECTED[grader]}
    return _fill(_CAPABILITY, parts)


def _fill(template: str, parts: dict[str, str]) -> str:
    """The template with its words in capitals replaced in one pass, so no value is filled again."""
    return re.sub(rf"\b(?:{'|'.join(parts)})\b", lambda found: parts[found.group()], template)


def _missing_shared_files(folder: Path, name: str) -> dict[Path, str]:
    shared = {
        folder / _SUITE_FILE: _fill(_SUITE, {"NAME": json.dumps(name)}),
        folder / "config" / "graders.yaml": _SHARED_GRADERS,
        folder / "config" / "thresholds.yaml": _SHARED_THRESHOLDS,
    }
    return {path: text for path, text in shared.items() if not path.exists()}


def _refuse_existing(evals: dict[Path, str]) -> None:
    problems = []
    for path in evals:
        if path.exists():
            problems.append(Problem("is already there", "take another id", display_path(path)))
    if problems:
        raise InputError(*problems)


def _refuse_known_ids(folder: Path, ids: Sequence[str], *, is_new: bool) -> None:
    """Refuse an id that is given twice, or that an eval of the suite has in another file."""
    known = set() if is_new else {one.id for one in read_suite(folder).evals}
    problems = []
    for one in ids:
        if one in known:
            remedy = "take another id; every id is used once"
            problems.append(Problem(f"the id {one!r} is taken", remedy, display_path(folder / _SUITE_FILE)))
        known.add(one)
    if problems:
        raise InputError(*problems)


def _write(files: dict[Path, str]) -> list[Path]:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return list(files)
