"""Promoting an eva prompt from draft to tested to ready: what each step asks for, and the step itself."""

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
from evalq.formats.eva.eval_file import read_eval
from evalq.formats.eva.prompt import EVAL, META, PromptFolder, Standing, Status, without_nulls

_REMEDY = "write each key on a line of its own, 'key: value', or change it by hand"
_LINE = re.compile(
    rb"""(?P<key>['"]?[A-Za-z_]+['"]?[ \t]*:[ \t]*)"""
    rb"""(?:(?P<quote>['"])[^'"]*(?P=quote)|[^\s#'"][^#\r\n]*?|)"""
    rb"""(?P<rest>[ \t]*|[ \t]+\#[^\r\n]*)(?P<end>\r\n|\r|\n|)"""
)


def change(path: Path, values: Mapping[str, str]) -> None:
    """Give some of a file's top keys other values, at once or not at all."""
    try:
        before = path.read_bytes()
        after = changed(before, values, file=display_path(path))
        _replace(path, after)
    except OSError as exc:
        raise InputError(
            Problem(f"it cannot be changed: {exc.strerror}", "check the file", display_path(path))
        ) from None


def changed(content: bytes, values: Mapping[str, str], *, file: str) -> bytes:
    """The content with these values for its top keys; InputError where another byte would have to change."""
    located = load_yaml(content.decode("utf-8-sig"), file)
    lines = content.splitlines(keepends=True)
    for key, value in values.items():
        if key in located.value:
            at = located.lines[(key,)] - 1
            lines[at] = _with_value(lines[at], value, file)
        else:
            lines = _with_line(lines, f"{key}: {value}".encode())
    after = b"".join(lines)
    # Read again: YAML has more ways to write a value than this knows.
    if _value_of(after) != {**located.value, **values}:
        raise InputError(Problem("its values cannot be changed in place", _REMEDY, file))
    return after


def _value_of(content: bytes) -> Any:
    try:
        return load_yaml(content.decode("utf-8-sig"), "").value
    except InputError:
        return None


def _with_value(line: bytes, value: str, file: str) -> bytes:
    found = _LINE.fullmatch(line.removeprefix(b"\xef\xbb\xbf"))
    if not found:
        raise InputError(Problem("its values cannot be changed in place", _REMEDY, file))
    quote, key = found["quote"] or b"", found["key"]
    mark = line[: len(line) - len(found[0])]
    return (
        mark
        + key
        + (b" " if key.endswith(b":") else b"")
        + quote
        + value.encode()
        + quote
        + found["rest"]
        + found["end"]
    )


def _with_line(lines: list[bytes], line: bytes) -> list[bytes]:
    """One more line at the end, with the line ends that the others have."""
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    if lines and not lines[-1].endswith((b"\n", b"\r")):
        lines = [*lines[:-1], lines[-1] + end]
    return [*lines, line + end]


def _replace(path: Path, content: bytes) -> None:
    """Put the new content in the place of the old in one step, with its permissions."""
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


Row = Mapping[str, Any]

EVALS, USES = ".eval.jsonl", ".usage.jsonl"


def refuse_unwritable(path: Path) -> None:
    """Refuse before anything is spent what could not be recorded afterwards."""
    is_odd = path.is_symlink() or (path.exists() and not path.is_file())
    if is_odd or not os.access(path if path.exists() else path.parent, os.W_OK):
        remedy = "make it a plain file, in a folder you may write to"
        raise InputError(Problem("the result could not be recorded there", remedy, display_path(path)))


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one line, whole or not at all as others see it, and on the disk when this returns."""
    line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # a line on its way looks like a torn one
            # A line somebody was killed in the middle of must not swallow this one.
            os.write(handle, (b"\n" if _ends_torn(handle) else b"") + line)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as exc:
        message = f"the result was not recorded: {exc.strerror}"
        raise InputError(
            Problem(message, "make room or mend the file, and run it again", display_path(path))
        ) from None


def _ends_torn(handle: int) -> bool:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode) or not state.st_size:
        return False
    return os.pread(handle, 1, state.st_size - 1) != b"\n"


def read_rows(path: Path) -> list[Row | Problem]:
    """The rows of a record in order, with what is wrong with those that are none; empty without a record."""
    lines = read_text(path).split("\n") if path.exists() else []
    return [
        _row(line, display_path(path), number) for number, line in enumerate(lines, start=1) if line.strip()
    ]


def _row(line: str, file: str, number: int) -> Row | Problem:
    try:
        value = load_json(line, file, first_line=number).value
    except InputError as exc:
        return exc.problems[0]
    return value if isinstance(value, dict) else Problem("not a JSON object", "remove it", file, number)


@dataclass(frozen=True)
class Step:
    """What it takes to leave a status: so many uses, of which kind, and perhaps an evaluation passed."""

    to: Status
    min_uses: int
    needs_verified: bool
    needs_eval: bool

    def counts(self, row: Row) -> bool:
        """Whether a use counts: it was sent, and verified; for the first step, at least not found wrong."""
        verified = row.get("verified")
        is_good = verified is True if self.needs_verified else verified is not False
        return row.get("sent") is True and is_good


STEPS: Mapping[Status, Step] = {
    "draft": Step("tested", min_uses=3, needs_verified=False, needs_eval=False),
    "tested": Step("ready", min_uses=10, needs_verified=True, needs_eval=True),
}


@dataclass(frozen=True)
class Review:
    """A prompt before its step: where it stands, where it goes, the gates it does not meet, what is odd."""

    folder: PromptFolder
    status: Status
    to: Status
    unmet: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def review(folder: PromptFolder) -> Review:
    """Hold a prompt against the gates of its next step; one that is ready has none and is refused."""
    standing = validate(Standing, without_nulls(folder.located(META)))
    if standing.status not in STEPS:
        raise Refused(f"{folder.id} is {standing.status}: cannot promote it any further")
    step = _step(standing)
    uses, evals = read_rows(folder.path(USES)), read_rows(folder.path(EVALS))
    unmet = (*_unmet_uses(step, uses), *(_unmet_eval(folder, evals) if step.needs_eval else ()))
    odd = [f"passed over: {row}" for row in (*uses, *evals[:-1]) if isinstance(row, Problem)]
    return Review(folder, standing.status, step.to, unmet, (*odd, *_doubts(folder, step, evals)))


def promote(reviewed: Review, today: date) -> None:
    """Write the new status and the day into meta.yml; every other byte of it stays."""
    change(reviewed.folder.path(META), {"status": reviewed.to, "updated": today.isoformat()})


def _step(standing: Standing) -> Step:
    """The usual step, with what the prompt itself asks for over it."""
    step, own = STEPS[standing.status], standing.promotion
    return replace(
        step,
        min_uses=step.min_uses if own.min_uses is None else own.min_uses,
        needs_eval=step.needs_eval if own.require_eval is None else own.require_eval,
    )


def _unmet_uses(step: Step, rows: Sequence[Row | Problem]) -> Iterator[str]:
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


def _doubts(folder: PromptFolder, step: Step, rows: Sequence[Row | Problem]) -> Iterator[str]:
    """A row of a single case passes the gate as a whole evaluation does; that is worth a word."""
    last = rows[-1] if rows and step.needs_eval and folder.has(EVAL) else None
    if last is None or isinstance(last, Problem):
        return
    try:
        total = read_eval(folder.located(EVAL)).total
    except InputError:
        return
    if last.get("total") != total:
        yield f"the last evaluation was of {last.get('total')}, {EVAL} has {total} cases and requests"
