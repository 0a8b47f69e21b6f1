"""What runs code inside the sandbox that is not Python: Node.js and bash, as this machine has them."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

from evalq.errors import Refused
from evalq.records import Executor

_NAMES: Mapping[Executor, str] = MappingProxyType({"javascript": "node", "shell": "bash"})
_REMEDIES: Mapping[Executor, str] = MappingProxyType(
    {
        "javascript": "install Node.js 18 or newer for all users (`apt-get install nodejs`)",
        "shell": "install bash (`apt-get install bash`)",
    }
)
_SCRIPTS: Mapping[Executor, str] = MappingProxyType({"javascript": "inside.js", "shell": "inside.sh"})
# Without the compiler, Node.js starts within the memory that every program has; it needs few threads, too.
_OPTIONS: Mapping[Executor, tuple[str, ...]] = MappingProxyType(
    {
        "javascript": ("--jitless", "--no-expose-wasm", "--single-threaded", "-e"),
        "shell": ("--noprofile", "--norc", "-c"),
    }
)


@dataclass(frozen=True)
class ExecutorProgram:
    """The command that runs code inside, and the files it needs that are not the system's, by path inside."""

    command: tuple[str, ...] = ()
    shown: Mapping[Path, Path] = field(default_factory=dict)


NO_EXECUTOR = ExecutorProgram()
"""For Python: the runner inside is one."""


def find_executor(executor: Executor, environ: Mapping[str, str]) -> ExecutorProgram:
    """The program for code of this kind; Refused, with what to install, where there is none."""
    if executor == "python":
        return NO_EXECUTOR
    name = _NAMES[executor]
    found = shutil.which(name, path=environ.get("PATH") or os.defpath)
    if found is None:
        raise _unavailable(executor, f"{name} is not on the PATH")
    path = Path(found).resolve()
    last = ("bash",) if executor == "shell" else ()
    command = (str(path), *_OPTIONS[executor], _script_text(_SCRIPTS[executor]), *last)
    if path.is_relative_to("/usr") or path.is_relative_to("/bin"):
        return ExecutorProgram(command)
    if not _is_open(path):
        raise _unavailable(executor, f"{path} can be read by its owner alone")
    return ExecutorProgram(command, {path: path})


def require_executors(executors: frozenset[Executor], environ: Mapping[str, str]) -> None:
    """Raise Refused for the first kind of code that cannot be run here."""
    for executor in sorted(executors):
        find_executor(executor, environ)


def _unavailable(executor: Executor, reason: str) -> Refused:
    remedy = f"{_REMEDIES[executor]} on the machine that runs the sandbox"
    return Refused(f"EXECUTOR_UNAVAILABLE: {executor} code cannot be run: {reason}; {remedy}")


def _is_open(path: Path) -> bool:
    """True for a file that every user can walk to and run."""
    return all(one.stat().st_mode & 0o005 == 0o005 for one in (path, *path.parents))


@cache
def _script_text(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")
