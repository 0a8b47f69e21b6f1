"""The Python that runs inside the sandbox: the system's, or the one that runs evalq."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from evalq.sandbox.refusal import unavailable

OLDEST = (3, 11)
"""As old as evalq's own may be: what models write today does not run on much older ones."""

_SYSTEM = Path("/usr/bin/python3")
_SYSTEM_COPIES = Path("/var/lib/evalq")


@dataclass(frozen=True)
class Interpreter:
    """An executable, and its folder if the system's own do not hold it: where it appears → where it is.

    The two differ for a copy: an interpreter may look for its libraries by the path it was built for.
    """

    executable: Path
    shown: Mapping[Path, Path] = field(default_factory=dict)


@cache
def interpreter() -> Interpreter:
    """The system's Python if it is complete and new enough, else the one that runs this."""
    return system_interpreter(_SYSTEM) or running_interpreter()


def system_interpreter(python: Path) -> Interpreter | None:
    """The Python that /usr/bin/python3 leads to; None for an old one, or one without its library."""
    executable = python.resolve()
    version = re.fullmatch(r"python(\d+)\.(\d+)", executable.name)
    if version is None or (int(version[1]), int(version[2])) < OLDEST or not executable.is_file():
        return None
    libraries = (executable.parents[1] / folder / executable.name / "json" for folder in ("lib", "lib64"))
    return Interpreter(executable) if any(library.is_dir() for library in libraries) else None


def running_interpreter() -> Interpreter:
    """The Python that runs this, not its virtual environment; root's own as a copy that all can read."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    executable = prefix / "bin" / name
    if prefix.is_relative_to("/usr"):
        return Interpreter(executable)
    is_hidden = os.geteuid() == 0 and not _is_open(prefix)
    return Interpreter(executable, {prefix: _copied(prefix, name) if is_hidden else prefix})


def _is_open(folder: Path) -> bool:
    """True for a folder that every user can walk to and read."""
    return all(path.stat().st_mode & 0o005 == 0o005 for path in (folder, *folder.parents))


def _copied(prefix: Path, name: str) -> Path:
    """The interpreter and its library where all can read and only root can write, made once."""
    source = (prefix / "bin" / name).stat()
    target = _SYSTEM_COPIES / f"{name}-{source.st_ino}-{int(source.st_mtime)}"
    if target.exists():
        return target
    try:
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            draft = Path(folder) / "draft"
            _copy(prefix, name, draft)
            draft.rename(target)
    except OSError as exc:
        if target.exists():  # another process was faster
            return target
        raise unavailable(f"{prefix} is for root alone and cannot be copied to {target}: {exc}") from exc
    return target


def _copy(prefix: Path, name: str, draft: Path) -> None:
    left_out = shutil.ignore_patterns("site-packages", "test", "idlelib", "ensurepip", "config-*", "*.a")
    shutil.copytree(prefix / "lib" / name, draft / "lib" / name, ignore=left_out)
    for library in (prefix / "lib").glob("libpython*"):
        shutil.copy2(library, draft / "lib" / library.name)
    (draft / "bin").mkdir()
    shutil.copy2(prefix / "bin" / name, draft / "bin" / name)
    for path in (draft, *draft.rglob("*")):
        is_runnable = path.is_dir() or path.parent.name == "bin"
        path.chmod(0o755 if is_runnable else 0o644)
