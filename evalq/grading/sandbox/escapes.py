"""What code tries that wants out of the sandbox: one function per escape, told where the bait lies.

A script, not a module to import: its text is run inside, function by function. Each says what it got hold of;
whether that was contained is decided outside.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_GB = 2**30
_MB = 2**20
_NEW_USER_NAMESPACE = 0x1000_0000

Bait = dict[str, Any]


def work_as_usual(bait: Bait) -> list[Any]:
    """No escape: what ordinary code does and must be able to do."""
    import asyncio
    import tempfile
    import threading

    said: list[str] = []
    thread = threading.Thread(target=said.append, args=("thread",))
    thread.start()
    thread.join()
    with tempfile.TemporaryFile() as file:
        file.write(b"file")
        file.seek(0)
        said.append(file.read().decode())
    echo = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "print('process')"], capture_output=True, check=True
    )
    said.append(echo.stdout.decode().strip())
    said.append(asyncio.run(asyncio.sleep(0, "loop")))
    return [*said, len(bait)]


def read_environment(_bait: Bait) -> dict[str, str]:
    """Read the keys of the one who started this."""
    return dict(os.environ)


def read_other_environments(_bait: Bait) -> dict[str, str]:
    """Read every process's environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found[folder.name] = (folder / "environ").read_text("utf-8", "replace")
    return found


def read_home(bait: Bait) -> dict[str, str]:
    """Read a file of the user, and see what lies in the home."""
    found = {}
    with suppress(OSError):
        found["file"] = Path(bait["file"]).read_text()
    with suppress(OSError):
        found["home"] = " ".join(os.listdir(bait["home"]))  # noqa: PTH208 - the names alone
    return found


def connect_first(bait: Bait) -> str:
    """Reach the first port on loopback."""
    return _connected(socket.AF_INET, ("127.0.0.1", bait["ports"][0]))


def connect_second(bait: Bait) -> str:
    """Reach the second port on loopback."""
    return _connected(socket.AF_INET, ("127.0.0.1", bait["ports"][1]))


def connect_abstract(bait: Bait) -> str:
    """Reach a unix socket that needs no file."""
    return _connected(socket.AF_UNIX, "\0" + bait["abstract"])


def _connected(family: int, address: Any) -> str:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as link:
            link.settimeout(2)
            link.connect(address)
    except OSError as exc:
        return type(exc).__name__
    return "connected"


def fork_bomb(_bait: Bait) -> int:
    """Start three hundred processes that stay."""
    count = 0
    with suppress(OSError):
        while count < 300:
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            count += 1
    return count


def allocate(_bait: Bait) -> int:
    """Fill ten gigabytes of memory."""
    kept = [b"x" * _GB for _ in range(10)]
    return len(kept)


def hide_memory(_bait: Bait) -> int:
    """Keep memory in files that have no name and no mapping; the megabytes kept."""
    files, count = [], 0
    with suppress(OSError):
        while count < 2048:
            files.append(os.memfd_create("hidden"))
            for _ in range(8):
                os.write(files[-1], b"x" * _MB)
                count += 1
    return count


def loop(_bait: Bait) -> None:
    """Never end."""
    while True:
        pass


def loop_deaf(_bait: Bait) -> None:
    """Never end, whatever signal comes."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def write_output(_bait: Bait) -> int:
    """Write a gigabyte on stdout."""
    return sum(os.write(1, b"x" * _MB) for _ in range(1024))


def leave_daemon(bait: Bait) -> str:
    """Leave a process behind that belongs to no one."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            words = ("-I", "-S", "-c", "import time; time.sleep(60)", bait["token"])
            os.execv(sys.executable, (sys.executable, *words))  # noqa: S606 - no shell is the point
        os._exit(0)
    time.sleep(0.1)
    return "left"


def write_host(bait: Bait) -> list[str]:
    """Write where everyone may, and where the system lies."""
    written = []
    for folder in (bait["folder"], bait["home"], "/usr", "/usr/bin", "/etc", "/dev", "/"):
        with suppress(OSError):
            Path(folder, bait["token"]).write_text("was here")
            written.append(folder)
    return written


def fill_tmp(_bait: Bait) -> int:
    """Fill the folder for temporary files; the megabytes it took."""
    count = 0
    with suppress(OSError):
        while count < 128:
            with open(f"/tmp/{count}", "wb") as file:  # noqa: PTH123, S108 - the sandbox's own
                file.write(b"x" * _MB)
            count += 1
    return count


def kill_parent(bait: Bait, is_honest: bool) -> str:
    """Kill one outside, the one that started this, and everyone, by every signal there is."""
    if is_honest:
        return "alive"
    if os.getppid() != 1:  # outside, where "everyone" would be the user's whole session
        return "not in a pid namespace"
    for victim in (bait["decoy"], os.getppid(), -1):
        for number in signal.valid_signals():
            with suppress(OSError):
                os.kill(victim, number)
    return "killed"


def nest_namespace(_bait: Bait) -> list[str]:
    """Become root of a namespace of one's own, by the call and by the program."""
    made = []
    with suppress(ImportError, OSError):
        import ctypes

        if ctypes.CDLL(None).unshare(_NEW_USER_NAMESPACE) == 0:
            made.append("call")
    with suppress(OSError):
        if (
            subprocess.run(
                ["/usr/bin/unshare", "--user", "true"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            made.append("program")
    return made


def read_parent_memory(_bait: Bait) -> list[str]:
    """Look into the memory of the process that reports the results."""
    got = []
    with suppress(OSError), open(f"/proc/{os.getppid()}/mem", "rb"):  # noqa: PTH123
        got.append("file")
    with suppress(ImportError, OSError):
        import ctypes

        attach = 16  # PTRACE_ATTACH
        if ctypes.CDLL(None).ptrace(attach, os.getppid(), None, None) == 0:
            got.append("ptrace")
    return got


def forge_result(_bait: Bait, is_honest: bool) -> str:
    """Write the whole run's result oneself, on every descriptor there is, and leave."""
    if is_honest:
        return "honest"
    one = '{"stopped": null, "status": 0, "ms": 1, "said": "eyJ2YWx1ZSI6ICJmb3JnZWQifQo=", "output": ""}'
    forged = f"ready 3.99.0\n{'0' * 32}\n[{one}, {one}]".encode()
    for descriptor in range(64):
        with suppress(OSError):
            os.write(descriptor, forged)
    os._exit(0)
