"""Whether the sandbox holds on this machine: tested by trying to escape, once per boot."""

import contextlib
import hashlib
import json
import os
import platform
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
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
    """Whether code can be graded here (None: not tried since boot), and why."""

    is_available: bool | None
    finding: str


@dataclass(frozen=True)
class EscapeTrial:
    """The results of the escapes by how many were tried at once, or in `trouble` why none could be tried."""

    rounds: Mapping[int, Sequence[EscapeResult]]
    trouble: str = ""

    @property
    def is_well(self) -> bool:
        """True when all escapes were tried and contained."""
        return not self.trouble and not self._escaped

    @property
    def finding(self) -> str:
        """The trial in one line."""
        if self.trouble:
            return self.trouble
        if not self._escaped:
            return _HELD
        return "not contained: " + ", ".join(f"{one.escape.name} ({one.evidence})" for one in self._escaped)

    @property
    def _escaped(self) -> list[EscapeResult]:
        results = chain.from_iterable(self.rounds.values())
        return [one for one in results if not one.contained]


def require_sandbox(setting: SandboxSetting, environ: Mapping[str, str]) -> Isolation:
    """The isolation to run code with; raise Refused, with the remedy, where there is none.

    `strong` never becomes weak by itself: that takes both the setting and the variable.
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
    """What is known without running anything in the sandbox."""
    version = _version(environ)
    if version is None:
        return Availability(False, "bubblewrap is not installed")
    if version < OLDEST:
        return Availability(False, _bubblewrap(version, f"too old, {'.'.join(map(str, OLDEST))} is needed"))
    if _is_trusted(_mark_file(environ)):
        return Availability(True, _bubblewrap(version, _HELD))
    return Availability(None, _bubblewrap(version, "not tried since this machine started"))


def availability(environ: Mapping[str, str]) -> Availability:
    """The result of an earlier trial since boot, or else of trying every escape now."""
    known = outlook(environ)
    if known.is_available is not None:
        return known
    trial = hold_trial(environ)
    return Availability(trial.is_well, trial.finding)


def hold_trial(environ: Mapping[str, str], *, rounds: Sequence[int] = (1,)) -> EscapeTrial:
    """Try ordinary code, then every escape `n` times at once for each n in `rounds`; remember success."""
    known = outlook(environ)
    if known.is_available is False:
        return EscapeTrial({}, known.finding)
    sandbox = partial(run, isolation="strong", environ=environ)
    trouble = check_ordinary_code(sandbox)
    if trouble:
        trial = EscapeTrial({}, trouble)
    else:
        trial = EscapeTrial({at_once: try_escapes(sandbox, at_once=at_once) for at_once in rounds})
    _remember(_mark_file(environ), trial.is_well)
    return trial


def _version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    bwrap = find_bwrap(environ.get("PATH"))
    return None if bwrap is None else bwrap_version(bwrap)


def _bubblewrap(version: tuple[int, ...], words: str) -> str:
    return f"bubblewrap {'.'.join(map(str, version)) or 'of an unknown version'}, {words}"


def _remember(mark: Path, is_well: bool) -> None:
    """Leave a mark if all is well; where none can be left, everything is tried again next time."""
    with contextlib.suppress(OSError):
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in mark.parent.glob("sandbox-*"):
            old.unlink(missing_ok=True)
        if is_well:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _mark_file(environ: Mapping[str, str]) -> Path:
    """The file that marks success; its name is a hash of this boot, these namespaces and the command line."""
    argv = sandbox_argv("strong", environ, interpreter(), filter_fd=0)
    filtered = (filter_program(platform.machine()) or b"").hex()
    facts = json.dumps([_boot_and_namespaces(), os.geteuid(), _version(environ), argv, filtered])
    cache = Path(environ.get("XDG_CACHE_HOME", ""))
    folder = cache if cache.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    return folder / "evalq" / f"sandbox-{hashlib.sha256(facts.encode()).hexdigest()[:32]}"


def _boot_and_namespaces() -> list[str]:
    """This boot, and our namespaces: a container shares the boot with its host."""
    found = []
    with contextlib.suppress(OSError):
        found.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        found += [str(Path("/proc/self/ns", name).readlink()) for name in ("user", "mnt")]
    return found


def _is_trusted(mark: Path) -> bool:
    """True for a file that only this user can have created."""
    try:
        states = [path.lstat() for path in (mark, mark.parent)]
    except OSError:
        return False
    is_ours = all(state.st_uid == os.geteuid() and not state.st_mode & 0o022 for state in states)
    return is_ours and stat.S_ISREG(states[0].st_mode)
