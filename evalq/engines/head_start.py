"""Starts the supervisor's process before a command has imported much, so that both import at the same time.

The process waits for an order on its standard input: one line of JSON that names the data folder. It ends
when the input ends without one, which happens however the command ends.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalq.engines.processes import is_locked

_early: list["subprocess.Popen[bytes]"] = []


def start_early(environ: Mapping[str, str] = os.environ) -> None:
    """Start a process that will supervise, unless one seems to run; the command has to need a fleet."""
    if not environ.get("EVALQ_DATABASE_URL") and not _has_supervisor(environ):
        _early.append(_start(environ, subprocess.DEVNULL))


def give_order(order: Mapping[str, object], *, environ: Mapping[str, str], log: Path) -> None:
    """Have a process supervise: the one started early, or a new one."""
    line = json.dumps(order).encode() + b"\n"
    while _early:
        if _deliver(_early.pop(), line):
            return
    with log.open("ab") as output:
        _deliver(_start(environ, output.fileno()), line)


def dismiss() -> None:
    """Let the process that was started early end: another one supervises."""
    while _early:
        _deliver(_early.pop(), b"")


def python_path(env: Mapping[str, str]) -> str:
    """The path with the folder this evalq was imported from, in case it is not installed.

    Empty entries are left out: Python reads them as the working folder.
    """
    given = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return os.pathsep.join([*given, str(Path(__file__).resolve().parents[2])])


def _start(environ: Mapping[str, str], output: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "evalq.engines.supervisor"],
        env={**environ, "PYTHONPATH": python_path(environ)},
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def _deliver(process: "subprocess.Popen[bytes]", line: bytes) -> bool:
    """Write the line and close the pipe; False if the process has ended."""
    assert process.stdin
    try:
        with process.stdin as pipe:
            pipe.write(line)
    except BrokenPipeError:
        return False
    # Left to itself from here on: Popen would warn that nobody has waited for it.
    process.returncode = 0
    return True


def _has_supervisor(environ: Mapping[str, str]) -> bool:
    """Whether a fleet runs where this command will look for one; a wrong guess costs time, nothing else."""
    return any(is_locked(folder / "supervisor.lock") for folder in _likely_folders(environ))


def _likely_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    if given := environ.get("EVALQ_DATA_DIR"):
        yield Path(given)
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield folder / ".evalq"
    yield Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "evalq"
