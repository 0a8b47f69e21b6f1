"""Whether the sandbox holds on this machine: found out by trying to get out, once per boot."""

import contextlib
import hashlib
import json
import os
import platform
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from evalq.errors import Refused
from evalq.grading.sandbox.escape_test import EscapeResult, check_ordinary_code, try_escapes
from evalq.grading.sandbox.isolation import OLDEST, bwrap_version, filter_program, find_bwrap
from evalq.grading.sandbox.program import UNSAFE_VARIABLE, Isolation, unavailable
from evalq.grading.sandbox.running import interpreter, run, sandbox_argv

_HELD = "every escape contained"

SandboxSetting = Literal["strong", "unsafe"]


@dataclass(frozen=True)
class Availability:
    """Whether code can be graded here, and what that rests on. None: not tried since the machine started."""

    is_available: bool | None
    finding: str


@dataclass(frozen=True)
class EscapeTrial:
    """What became of the escapes, by how many were tried at once; `trouble`: why none could be tried."""

    rounds: Mapping[int, Sequence[EscapeResult]]
    trouble: str = ""

    @property
    def is_well(self) -> bool:
        """All of them were tried, and all contained."""
        return not self.trouble and not self._escaped

    @property
    def finding(self) -> str:
        """The trial in one line."""
        escaped = ", ".join(f"{one.escape.name} ({one.evidence})" for one in self._escaped)
        return self.trouble or (f"not contained: {escaped}" if escaped else _HELD)

    @property
    def _escaped(self) -> list[EscapeResult]:
        return [one for findings in self.rounds.values() for one in findings if not one.contained]


def require_sandbox(setting: SandboxSetting, environ: Mapping[str, str]) -> Isolation:
    """The isolation to run code with; Refused, with the remedy, where there is none.

    `strong` never becomes weak by itself: that takes the setting and the variable, both.
    """
    if setting == "unsafe":
        if environ.get(UNSAFE_VARIABLE) == "1":
            return "weak"
        raise Refused(
            "SANDBOX_UNAVAILABLE: `sandbox: unsafe` lets model-written code run as an ordinary process of "
            f"this machine; set {UNSAFE_VARIABLE}=1 too if that is what you want, or remove the setting"
        )
    found = availability(environ)
    if not found.is_available:
        raise unavailable(found.finding)
    return "strong"


def outlook(environ: Mapping[str, str]) -> Availability:
    """What is known without running anything inside."""
    version = _version(environ)
    if version is None:
        return Availability(False, "bubblewrap is not installed")
    if version < OLDEST:
        return Availability(False, _of(version, f"too old, {'.'.join(map(str, OLDEST))} is needed"))
    if _is_trusted(_mark(environ)):
        return Availability(True, _of(version, _HELD))
    return Availability(None, _of(version, "not tried since this machine started"))


def availability(environ: Mapping[str, str]) -> Availability:
    """As known from an earlier trial since boot, else by trying every escape now."""
    known = outlook(environ)
    if known.is_available is not None:
        return known
    trial = hold_trial(environ)
    return Availability(trial.is_well, trial.finding)


def hold_trial(environ: Mapping[str, str], *, rounds: Sequence[int] = (1,)) -> EscapeTrial:
    """Try ordinary code and every escape, in each round so many at once; remembered until the next boot."""
    known = outlook(environ)
    if known.is_available is False:
        return EscapeTrial({}, known.finding)
    sandbox = partial(run, isolation="strong", environ=environ)
    trouble = check_ordinary_code(sandbox)
    trial = EscapeTrial(
        {} if trouble else {at_once: try_escapes(sandbox, at_once=at_once) for at_once in rounds}, trouble
    )
    _remember(_mark(environ), trial.is_well)
    return trial


def _version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    bwrap = find_bwrap(environ.get("PATH"))
    return None if bwrap is None else bwrap_version(bwrap)


def _of(version: tuple[int, ...], words: str) -> str:
    return f"bubblewrap {'.'.join(map(str, version)) or 'of an unknown version'}, {words}"


def _remember(mark: Path, is_well: bool) -> None:
    """Leave a mark where all is well, and none elsewhere; where none can be left, all is tried again."""
    with contextlib.suppress(OSError):
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in mark.parent.glob("sandbox-*"):
            old.unlink(missing_ok=True)
        if is_well:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _mark(environ: Mapping[str, str]) -> Path:
    """The file that says it all held: its name stands for this boot, this place and this command line."""
    argv = sandbox_argv("strong", environ, interpreter(), filter_fd=0)
    filtered = (filter_program(platform.machine()) or b"").hex()
    facts = json.dumps([_place(), os.geteuid(), _version(environ), argv, filtered])
    cache = Path(environ.get("XDG_CACHE_HOME", ""))
    folder = cache if cache.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    return folder / "evalq" / f"sandbox-{hashlib.sha256(facts.encode()).hexdigest()[:32]}"


def _place() -> list[str]:
    """This boot, and the namespaces we live in: a container shares the boot with its host."""
    found = []
    with contextlib.suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        found += [str(Path("/proc/self/ns", name).readlink()) for name in ("user", "mnt")]
    return found


def _is_trusted(mark: Path) -> bool:
    """True for a file that no one but us can have put there."""
    try:
        states = [path.lstat() for path in (mark, mark.parent)]
    except OSError:
        return False
    is_ours = all(state.st_uid == os.geteuid() and not state.st_mode & 0o022 for state in states)
    return is_ours and stat.S_ISREG(states[0].st_mode)
