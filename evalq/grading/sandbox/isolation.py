"""The command line of strong isolation: bubblewrap with everything unshared, and a seccomp filter.

The root is an empty, read-only tmpfs with the system's programs and libraries, four devices and a small
/tmp. There is no /proc, no /etc, no home, no network, no environment. The command is process 1 of its
namespace: nothing inside can kill it, and when it ends the kernel kills whatever it leaves behind.
"""

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import ENOSYS, EPERM
from pathlib import Path

OLDEST = (0, 8)
"""The first bubblewrap with --disable-userns."""

_TMP_BYTES = 16 * 2**20
_SHM_BYTES = 2**20  # for the semaphores of multiprocessing
_DEVICES = ("null", "zero", "random", "urandom")
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64")


def find_bwrap(path: str | None) -> Path | None:
    """bubblewrap on this PATH; None if it is not installed."""
    found = shutil.which("bwrap", path=path or "")
    return Path(found) if found else None


def bwrap_version(bwrap: Path) -> tuple[int, ...]:
    """The version it reports; empty if it reports none."""
    try:
        done = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"(\d{1,6}+)\.(\d{1,6}+)(?:\.(\d{1,6}+))?", done.stdout)
    return tuple(int(part) for part in found.groups(default="0")) if found else ()


def confine(
    bwrap: Path, command: Sequence[str], *, shown: Mapping[Path, Path], filter_fd: int | None = None
) -> list[str]:
    """The command line that runs a command in the sandbox.

    `shown` are the folders it may read, by their path inside; the seccomp filter comes from `filter_fd`.
    """
    binds: list[str] = []
    for inside, outside in shown.items():
        binds += ["--ro-bind", str(outside), str(inside)]
    seccomp = [] if filter_fd is None else ["--seccomp", str(filter_fd)]
    return [
        str(bwrap),
        *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"),
        *("--hostname", "sandbox", "--clearenv", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--as-pid-1"),
        *_root_options(),
        *binds,
        *("--remount-ro", "/", "--chdir", "/tmp"),  # noqa: S108 - the sandbox's own
        *seccomp,
        "--",
        *command,
    ]


def _root_options() -> Iterator[str]:
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


# Numbers per architecture: x86_64, aarch64.
DENIED_CALLS: dict[str, tuple[int, int]] = {
    # The network namespace is empty anyway; socketpair stays allowed, asyncio needs it.
    "socket": (41, 198),
    # Another process's memory or files: those of the supervisor, above all.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # The supervisor's share of the processor: it must get its turn to end a call.
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    # Memory that RLIMIT_AS does not count once it is not mapped.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # Keys of the user outlive the process.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Namespaces and mounts.
    "unshare": (272, 97),
    "setns": (308, 268),
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # Large attack surface, and seldom needed by a function under test.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "syslog": (103, 116),
}
_PRLIMIT = (302, 261)
_CLONE = (56, 220)
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E02_0000  # CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET
_X32_CALLS = 0x4000_0000  # the x32 calls share x86_64's architecture and have numbers of their own

# linux/audit.h, linux/bpf_common.h, linux/seccomp.h
_ARCHITECTURES: dict[str, tuple[int, int]] = {"x86_64": (0, 0xC000_003E), "aarch64": (1, 0xC000_00B7)}
_LOAD, _RETURN = 0x20, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000


@dataclass(frozen=True)
class _Step:
    """One instruction; a jump goes on with the next one unless it names a label."""

    code: int
    operand: int
    if_true: str = ""
    if_false: str = ""
    label: str = ""


def filter_program(machine: str) -> bytes | None:
    """The filter for `bwrap --seccomp`; None for a machine whose call numbers are unknown here."""
    if machine not in _ARCHITECTURES:
        return None
    column, architecture = _ARCHITECTURES[machine]
    return _assemble(list(_steps(column, architecture)))


def _steps(column: int, architecture: int) -> Iterator[_Step]:
    yield _Step(_LOAD, _ARCHITECTURE)
    yield _Step(_IF_EQUAL, architecture, if_false="kill")  # 32-bit calls on a 64-bit kernel
    yield _Step(_LOAD, _NUMBER)
    yield _Step(_IF_AT_LEAST, _X32_CALLS, if_true="missing")
    # Its flags lie in memory, where no filter can look; libc falls back to clone.
    yield _Step(_IF_EQUAL, _CLONE3, if_true="missing")
    yield _Step(_IF_EQUAL, _CLONE[column], if_true="clone")
    yield _Step(_IF_EQUAL, _PRLIMIT[column], if_true="prlimit")
    for numbers in DENIED_CALLS.values():
        yield _Step(_IF_EQUAL, numbers[column], if_true="refuse")
    yield _Step(_RETURN, _ALLOW)
    yield _Step(_LOAD, _FIRST_ARGUMENT, label="clone")
    yield _Step(_IF_ANY_BIT, _NEW_NAMESPACES, if_true="refuse")
    yield _Step(_RETURN, _ALLOW)
    # Only the caller's own limits, as process 0: the supervisor must keep its descriptors.
    yield _Step(_LOAD, _FIRST_ARGUMENT, label="prlimit")
    yield _Step(_IF_EQUAL, 0, if_false="refuse")
    yield _Step(_RETURN, _ALLOW)
    yield _Step(_RETURN, _ERRNO | EPERM, label="refuse")
    yield _Step(_RETURN, _ERRNO | ENOSYS, label="missing")
    yield _Step(_RETURN, _KILL, label="kill")


def _assemble(steps: list[_Step]) -> bytes:
    places = {step.label: place for place, step in enumerate(steps) if step.label}
    program = b""
    for place, step in enumerate(steps):
        if_true = places[step.if_true] - place - 1 if step.if_true else 0
        if_false = places[step.if_false] - place - 1 if step.if_false else 0
        program += struct.pack("=HBBI", step.code, if_true, if_false, step.operand)
    return program
