"""Promotes an eva prompt from draft to tested to ready: the gates, the records they count, the edit."""

import fcntl
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from evalq.definitions.definition import validate
from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import load_json
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem, Refused
from evalq.formats.eva.exam import read_exam
from evalq.formats.eva.prompt import (
    EVAL,
    META,
    PromotionState,
    PromptFolder,
    Status,
    refuse_misspelt_meta,
    without_nulls,
)

_EDIT_REMEDY = "write each key on a line of its own, 'key: value', or change it by hand"
_LINE = re.compile(
    rb"""(?P<key>['"]?[A-Za-z_]+['"]?[ \t]*:[ \t]*)"""
    rb"""(?:(?P<quote>['"])[^'"]*(?P=quote)|[^\s#'"](?:[^#\r\n]*[^\s#])?|)"""
    rb"""(?P<rest>[ \t]*|[ \t]+\#[^\r\n]*)(?P<end>\r\n|\r|\n|)"""
)

Row = Mapping[str, Any]

EVALS, USES = ".eval.jsonl", ".usage.jsonl"
"""The records in a prompt's folder: its evaluations, and its uses."""


@dataclass(frozen=True)
class PromotionStep:
    """What it takes to leave a status: a number of uses, and perhaps a passed evaluation."""

    to: Status
    min_uses: int
    needs_verified: bool
    needs_eval: bool

    def counts(self, row: Row) -> bool:
        """Whether a use counts: it was sent and verified, or at least not found wrong."""
        verified = row.get("verified")
        is_good = verified is True if self.needs_verified else verified is not False
        return row.get("sent") is True and is_good


STEPS: Mapping[Status, PromotionStep] = {
    "draft": PromotionStep("tested", min_uses=3, needs_verified=False, needs_eval=False),
    "tested": PromotionStep("ready", min_uses=10, needs_verified=True, needs_eval=True),
}


@dataclass(frozen=True)
class PromotionReview:
    """A prompt before its step: its status, the next one, the unmet gates, and warnings."""

    folder: PromptFolder
    status: Status
    to: Status
    unmet: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def review(folder: PromptFolder) -> PromotionReview:
    """Check a prompt against the gates of its next step; refuse one that is ready, the last status."""
    located = folder.load_yaml(META)
    refuse_misspelt_meta(located)
    state = validate(PromotionState, without_nulls(located))
    if state.status not in STEPS:
        raise Refused(f"{folder.id} is {state.status}: cannot promote it any further")
    step = _next_step(state)
    uses, evals = read_rows(folder.path(USES)), read_rows(folder.path(EVALS))
    unmet = list(_unmet_uses(step, uses))
    if step.needs_eval:
        unmet += _unmet_eval(folder, evals)
    warnings = [f"passed over: {row}" for row in (*uses, *evals[:-1]) if isinstance(row, Problem)]
    if step.needs_eval and folder.has(EVAL) and evals:
        warnings += _eval_warnings(folder, evals[-1])
    return PromotionReview(folder, state.status, step.to, tuple(unmet), tuple(warnings))


def promote(reviewed: PromotionReview, today: date) -> None:
    """Write the new status and the date into meta.yml; every other byte stays."""
    edit_file(reviewed.folder.path(META), {"status": reviewed.to, "updated": today.isoformat()})


def _next_step(state: PromotionState) -> PromotionStep:
    """Return the usual step, with the prompt's own gates in place of the usual ones."""
    step, own = STEPS[state.status], state.promotion
    return replace(
        step,
        min_uses=step.min_uses if own.min_uses is None else own.min_uses,
        needs_eval=step.needs_eval if own.require_eval is None else own.require_eval,
    )


def _unmet_uses(step: PromotionStep, rows: Sequence[Row | Problem]) -> Iterator[str]:
    n_uses = sum(step.counts(row) for row in rows if not isinstance(row, Problem))
    if n_uses < step.min_uses:
        kind = "sent and verified" if step.needs_verified else "sent and not found wrong"
        yield f"uses: {n_uses} of {step.min_uses} that are {kind}, in {USES}"


def _unmet_eval(folder: PromptFolder, rows: Sequence[Row | Problem]) -> Iterator[str]:
    if not folder.has(EVAL):
        yield f"eval: there is no {EVAL}"
        return
    last = rows[-1] if rows else None
    if last is None:
        yield f"eval: {EVALS} has no row; run `evalq eva eval`"
    elif isinstance(last, Problem):
        yield f"eval: the last row of {EVALS} cannot be read: {last.message}"
    elif last.get("all_passed") is not True:
        yield f"eval: the last one passed {last.get('passed')} of {last.get('total')}"


def _eval_warnings(folder: PromptFolder, last: Row | Problem) -> Iterator[str]:
    """Warn if the last evaluation was not of the whole exam: its row passes the gate all the same."""
    if isinstance(last, Problem):
        return
    try:
        total = read_exam(folder.load_yaml(EVAL)).total
    except InputError:
        return
    if last.get("total") != total:
        yield f"the last evaluation was of {last.get('total')}, {EVAL} has {total} cases and requests"


def refuse_unwritable(path: Path) -> None:
    """Refuse, before any money is spent, a path where the result could not be recorded."""
    is_irregular = path.is_symlink() or (path.exists() and not path.is_file())
    if is_irregular or not os.access(path if path.exists() else path.parent, os.W_OK):
        remedy = "make it a plain file, in a folder you may write to"
        raise InputError(Problem("the result could not be recorded there", remedy, display_path(path)))


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append one line; other processes see all of it or nothing, and it is on disk on return."""
    line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # a line being written looks like a torn one
            # A process killed while writing leaves a torn line, which must not swallow this one.
            os.write(handle, (b"\n" if _ends_torn(handle) else b"") + line)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as exc:
        message = f"the result was not recorded: {exc.strerror}"
        raise InputError(
            Problem(message, "make room or fix the file, and run it again", display_path(path))
        ) from None


def _ends_torn(handle: int) -> bool:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode) or not state.st_size:
        return False
    return os.pread(handle, 1, state.st_size - 1) != b"\n"


def read_rows(path: Path) -> list[Row | Problem]:
    """Read the rows of a record in order, with a Problem for each invalid one; none without a record."""
    lines = read_text(path).split("\n") if path.exists() else []
    return [
        _parse_row(line, display_path(path), number)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _parse_row(line: str, file: str, number: int) -> Row | Problem:
    try:
        value = load_json(line, file, first_line=number).value
    except InputError as exc:
        return exc.problems[0]
    return value if isinstance(value, dict) else Problem("not a JSON object", "remove it", file, number)


def edit_file(path: Path, values: Mapping[str, str]) -> None:
    """Set some of a file's top keys to new values, all at once or not at all."""
    try:
        before = path.read_bytes()
        after = edit_values(before, values, file=display_path(path))
        _replace(path, after)
    except OSError as exc:
        raise InputError(
            Problem(f"it cannot be changed: {exc.strerror}", "check the file", display_path(path))
        ) from None


def edit_values(content: bytes, values: Mapping[str, str], *, file: str) -> bytes:
    """Set top keys to new values; raise InputError if any other byte would have to change."""
    located = load_yaml(content.decode("utf-8-sig"), file)
    lines = content.splitlines(keepends=True)
    for key, value in values.items():
        if key in located.value:
            at = located.lines[(key,)] - 1
            lines[at] = _replace_value(lines[at], value, file)
        else:
            lines = _append_line(lines, f"{key}: {value}".encode())
    after = b"".join(lines)
    # Parsed again: YAML has more ways to write a value than this handles.
    if _parse(after) != {**located.value, **values}:
        raise InputError(Problem("its values cannot be changed in place", _EDIT_REMEDY, file))
    return after


def _parse(content: bytes) -> Any:
    try:
        return load_yaml(content.decode("utf-8-sig"), "").value
    except InputError:
        return None


def _replace_value(line: bytes, value: str, file: str) -> bytes:
    found = _LINE.fullmatch(line.removeprefix(b"\xef\xbb\xbf"))
    if not found:
        raise InputError(Problem("its values cannot be changed in place", _EDIT_REMEDY, file))
    quote, key = found["quote"] or b"", found["key"]
    mark = line[: len(line) - len(found[0])]
    space = b" " if key.endswith(b":") else b""
    return b"".join((mark, key, space, quote, value.encode(), quote, found["rest"], found["end"]))


def _append_line(lines: list[bytes], line: bytes) -> list[bytes]:
    """Add a line at the end, with the same line ending as the others."""
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    if lines and not lines[-1].endswith((b"\n", b"\r")):
        lines = [*lines[:-1], lines[-1] + end]
    return [*lines, line + end]


def _replace(path: Path, content: bytes) -> None:
    """Replace a file's content in one step, keeping its permissions."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
