"""The command line of strong isolation: bubblewrap with everything unshared and next to nothing bound.

The root is an empty, read-only tmpfs with the system's programs and libraries, four devices and a small
/tmp.
There is no /proc, no /etc, no home, no network, no environment. The command is process 1 of its namespace:
nothing inside can kill it, and when it ends the kernel kills whatever it leaves behind.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

OLDEST = (0, 8)
"""The first bubblewrap with --disable-userns."""

_TMP_BYTES = 16 * 2**20
_SHM_BYTES = 2**20  # for the semaphores of multiprocessing
_DEVICES = ("null", "zero", "random", "urandom")
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64")


def find_bwrap(path: str | None) -> Path | None:
    """The program on this PATH; None if it is not there."""
    found = shutil.which("bwrap", path=path or "")
    return Path(found) if found else None


def bwrap_version(bwrap: Path) -> tuple[int, ...]:
    """The version it says it has; empty if it says none."""
    try:
        done = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout)
    return tuple(int(part) for part in found.groups(default="0")) if found else ()


def confined(
    bwrap: Path, command: Sequence[str], *, shown: Mapping[Path, Path], filter_fd: int | None = None
) -> list[str]:
    """The command in a sandbox. `shown`: folders to read, by their path inside. `filter_fd`: the filter."""
    return [
        str(bwrap),
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"),
        *("--hostname", "sandbox", "--clearenv", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--as-pid-1"),
        *_root(),
        *(word for inside, outside in shown.items() for word in ("--ro-bind", str(outside), str(inside))),
        *("--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108 - the sandbox's own
        *(("--seccomp", str(filter_fd)) if filter_fd is not None else ()),
        "--",
        *command,
    ]


def _root() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache")
    for name in _SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for device in _DEVICES:
        yield from ("--dev-bind", f"/dev/{device}", f"/dev/{device}")
    yield from ("--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--perms", "1777", "--size", str(_TMP_BYTES), "--tmpfs", "/tmp")  # noqa: S108
