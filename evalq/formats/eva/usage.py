"""One use of an eva prompt: its variables, its guard and its verifier in the sandbox, and its row."""

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.definition import NAME_REMEDY, is_name
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, display_path, read_text
from evalq.definitions.loaded import LoadedTask
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem, Refused
from evalq.formats.build import MAX_TOKENS, build_grader
from evalq.formats.eva.prompt import (
    META,
    PROMPT,
    PromptFolder,
    as_texts,
    fill,
    find_prompt,
    find_unfilled,
    read_meta,
)
from evalq.grading.sandbox.program import CallResult, FunctionCall, Program, ProgramRun
from evalq.settings import Settings

GUARD, VERIFY = "guard.sh", "verify.sh"
USE = "use"
"""The name of the evalset of one use."""

RunScript = Callable[[Program], ProgramRun]
"""The sandbox."""

_TIMEOUT_S = 60.0
_OUTPUT_FILE = "/tmp/eva-output"  # noqa: S108 - the sandbox's own
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,199})=(.*)", re.DOTALL)


@dataclass(frozen=True)
class PreparedUse:
    """A prompt with its variables filled in: what is sent, and what the row says of it."""

    folder: PromptFolder
    case: str | None
    values: Mapping[str, str]
    prompt: str
    model: str | None

    @property
    def vars_hash(self) -> str:
        """The first twelve digits of the hash of the variables, as eva writes it; `none` without any."""
        if not self.values:
            return "none"
        lines = "\n".join(sorted(f"{name}={value}" for name, value in self.values.items()))
        return hashlib.sha256(lines.encode()).hexdigest()[:12]

    def task(self) -> LoadedTask:
        """The use as a bake-off of one case; any answer at all passes, the verifier decides on it."""
        case = EvalCase(
            id=self.case or USE,
            inputs={"prompt": self.prompt},
            graders=[build_grader({"type": "min_tokens", "value": 1})],
        )
        task = TaskConfig(
            name=self.folder.id,
            system_prompt="",
            user_template="{prompt}",
            max_tokens=MAX_TOKENS,
            description="",
        )
        file = display_path(self.folder.path(PROMPT))
        return LoadedTask(
            task,
            LoadedEvalSet(EvalSet(name=USE, cases=[case]), file, {}),
            judges=(self.model,) if self.model else (),
        )


def prepare_use(
    path: Path, root: Path, *, case: str | None, given: Mapping[str, str], run: RunScript
) -> PreparedUse:
    """Fill in the variables: those of the case, then those given, then what guard.sh prints.

    Raises Refused when guard.sh does not end with 0, InputError for a variable without a value.
    """
    folder = find_prompt(path, root)
    if not is_name(folder.id):
        raise InputError(Problem(f"the folder's name {folder.id!r} names no task", NAME_REMEDY))
    meta = read_meta(folder.load_yaml(META))
    text = folder.read_text(PROMPT)
    values: dict[str, Any] = {}
    if case is not None:
        values.update(folder.load_inputs(f"examples/{case}").value)
    values.update(given)
    texts = as_texts(values)
    if folder.has(GUARD):
        texts.update(_run_guard(folder, case, texts, run))
    optional = [one.name for one in meta.inputs if not one.required]
    missing = [f"{{{{{name}}}}} (line {line})" for name, line in find_unfilled(text, texts, optional)]
    if missing:
        remedy = "give --var NAME=VALUE, or --case with a value for it in its inputs.yml"
        message = f"no value for {', '.join(missing)}"
        raise InputError(Problem(message, remedy, display_path(folder.path(PROMPT))))
    filled = fill(text, {**dict.fromkeys(optional, ""), **texts})
    return PreparedUse(folder, case, texts, filled, meta.model)


def plan_use(use: PreparedUse, judge: str | None, settings: Settings, *, allow_unpriced: bool) -> Plan:
    """Plan to send a prompt to the judge named, or else to the prompt's own model."""
    name = judge or use.model
    file = display_path(use.folder.path(META))
    if not name:
        raise InputError(Problem("no model is named", "write model: … there, or give --judge NAME", file))
    return prepare_imported(use.task(), Request("", file, (name,), allow_unpriced=allow_unpriced), settings)


def verify_output(use: PreparedUse, output: str, run: RunScript) -> bool | None:
    """Whether verify.sh accepts the output; None without an executable verify.sh, as in eva."""
    path = use.folder.path(VERIFY)
    if not path.exists() or not os.access(path, os.X_OK):
        return None
    result = _run_script(use.folder, VERIFY, use.case, use.values, run, output=output)
    return result.end == "returned"


def usage_row(
    use: PreparedUse,
    *,
    now: datetime,
    output: str | None = None,
    verified: bool | None = None,
    exit_code: int = 0,
    duration_ms: int = 0,
) -> dict[str, Any]:
    """The row for `.usage.jsonl`; without an output the prompt was only rendered."""
    return {
        "ts": now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "case": use.case,
        "vars_hash": use.vars_hash,
        "sent": output is not None,
        "exit_code": exit_code,
        "verified": verified,
        "duration_ms": duration_ms,
        "prompt_words": len(use.prompt.split()),
        "output_words": len((output or "").split()),
    }


def read_given(pairs: Sequence[str], files: Sequence[Path]) -> dict[str, str]:
    """The variables of the command line: the last file as `file_contents`, then the NAME=VALUE pairs."""
    values: dict[str, str] = {}
    for path in files:
        values["file_contents"] = read_text(path)
    for text in pairs:
        found = _PAIR.fullmatch(text)
        if found is None:
            message, remedy = "--var is not of the form NAME=VALUE", "write --var language=English"
            raise InputError(Problem(message, remedy))
        values[found[1]] = found[2]
    return values


def _run_guard(
    folder: PromptFolder, case: str | None, values: Mapping[str, str], run: RunScript
) -> dict[str, str]:
    """The variables that guard.sh prints, one NAME=VALUE a line."""
    result = _run_script(folder, GUARD, case, values, run)
    if result.end != "returned":
        file = display_path(folder.path(GUARD))
        raise Refused(f"{file}: the guard refuses this use: {result.message or result.end}")
    found = {}
    for line in str(result.value).splitlines():
        pair = _PAIR.fullmatch(line)
        if pair:
            found[pair[1]] = pair[2]
    return found


def _run_script(
    folder: PromptFolder,
    name: str,
    case: str | None,
    values: Mapping[str, str],
    run: RunScript,
    *,
    output: str | None = None,
) -> CallResult:
    script = folder.read_text(name)
    first = script.partition("\n")[0]
    if first.startswith("#!") and not _names_shell(first.removeprefix("#!")):
        remedy = "write it for bash, with #!/bin/bash on its first line"
        raise InputError(Problem(f"{first!r} is not a shell", remedy, display_path(folder.path(name)), 1))
    source = "\n".join([*_environment(folder, case, values, output), script])
    (result,) = run(Program(source, "", (FunctionCall(),), _TIMEOUT_S, executor="shell")).results
    return result


def _names_shell(interpreter: str) -> bool:
    """Whether the first line of a script names a shell, perhaps by `env`."""
    words = [PurePath(word).name for word in interpreter.split()]
    if words[:1] == ["env"]:
        words.pop(0)
    return bool(words) and words[0] in _SHELLS


def _environment(
    folder: PromptFolder, case: str | None, values: Mapping[str, str], output: str | None
) -> list[str]:
    """Shell lines that set what eva's scripts find in their environment."""
    variables = {"EVA_PROMPT_ID": folder.id, "EVA_CASE": case or ""}
    for name, value in values.items():
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        variables |= {f"EVA_VAR_{plain}": value, f"EVA_VAR_{plain.upper()}": value}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if output is not None:
        lines.append(f"export EVA_OUTPUT_FILE={_OUTPUT_FILE}")
        lines.append(f"printf '%s' {shlex.quote(output)} > {_OUTPUT_FILE}")
    return lines
