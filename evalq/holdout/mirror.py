"""The holdout log as a file of the project: the lines of Postgres, to be kept under version control."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from evalq.definitions.files import shown
from evalq.errors import Refused
from evalq.holdout import chain
from evalq.holdout.chain import Link

FILE_NAME = "holdout-runs.log"


def mirror_path(root: Path, task: str) -> Path:
    """Where the log of a task lies: beside the project's evalsets, also for a set that came with evalq."""
    return root / "evalsets" / task / FILE_NAME


def read_mirror(root: Path, task: str) -> list[bytes] | None:
    """The lines of the file; None when there is none."""
    try:
        return chain.split_lines(mirror_path(root, task).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Refused(_unusable(mirror_path(root, task), exc)) from exc


class Mirror:
    """The open file, this process's alone."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._data = file.read()

    def lines_ahead(self, kept: Sequence[bytes]) -> list[Link]:
        """Lines that continue what the database holds: it is younger than the file.

        Refuses a file that says something else than the database.
        """
        data, known = self._data, b"".join(kept)
        if known.startswith(data):
            return []
        lines = chain.split_lines(data)
        if data.startswith(known) and not chain.find_breaks(lines):
            return chain.sound_links(lines)[len(kept) :]
        raise Refused(self._contradiction(lines, kept))

    def complete(self, kept: Sequence[bytes]) -> None:
        """Append what is missing, to the disk; or leave the file as it was."""
        missing = b"".join(kept)[len(self._data) :]
        if not missing:
            return
        try:
            _write_all(self._file, missing)
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), len(self._data))
            raise
        self._data += missing

    def _contradiction(self, lines: Sequence[bytes], kept: Sequence[bytes]) -> str:
        differing = chain.find_difference(lines, kept)
        found = next(iter(chain.find_breaks(lines)), differing) or differing
        assert found is not None
        return (
            f"{shown(self._path)}:{found.line}: {found.found}; a log that contradicts the database is not "
            f"continued: see `evalq holdout verify-log`, and restore the file from version control"
        )


@contextmanager
def open_mirror(root: Path, task: str) -> Iterator[Mirror]:
    """The file, made if there is none, locked against other processes; Refused when it cannot be written."""
    path = mirror_path(root, task)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: nothing is left to be written when a failed append is taken back.
        with path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield Mirror(file, path)
    except OSError as exc:
        raise Refused(_unusable(path, exc)) from exc


def _write_all(file: FileIO, data: bytes) -> None:
    """An almost full disk takes a part of it and says nothing; the next write says why."""
    while data:
        data = data[file.write(data) :]


def _unusable(path: Path, exc: OSError) -> str:
    reason = exc.strerror or type(exc).__name__
    return f"{shown(path)} cannot be written ({reason}), and no look goes unrecorded; mend that first"
