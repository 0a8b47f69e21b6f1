"""File locks that the kernel releases when their holder dies: exclusive sections, proofs of life, leases."""

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalq.errors import Unreachable

_POLL_S = 0.02


def take(path: Path, *, wait_s: float) -> int | None:
    """A descriptor that holds `path` exclusively, or None if others still hold it after `wait_s`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + wait_s
    try:
        while not _locked(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_POLL_S)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def exclusively(path: Path, *, wait_s: float) -> Iterator[None]:
    """One process at a time inside the block; gives up with Unreachable."""
    descriptor = take(path, wait_s=wait_s)
    if descriptor is None:
        raise Unreachable(
            f"another evalq command has been starting or stopping engines for {wait_s:.0f} s: {path}"
        )
    try:
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether any process holds `path` exclusively.

    Asked with a shared lock, so that two who ask do not mistake each other for the holder.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@dataclass
class Lease:
    """A file that is locked for as long as the process that took it lives, SIGKILL included."""

    path: Path
    descriptor: int | None

    @classmethod
    def take(cls, folder: Path) -> "Lease":
        """A new lease in `folder`; its name starts with this process's id."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        hidden = folder / f".{name}"
        descriptor = take(hidden, wait_s=0)
        assert descriptor is not None
        # Visible only once it is locked: a scan must never see a live lease that looks stale.
        hidden.rename(folder / name)
        return cls(folder / name, descriptor)

    def note(self, text: str) -> None:
        """Replace what the lease says; whoever finds it stale reads it."""
        assert self.descriptor is not None
        data = text.encode()
        os.pwrite(self.descriptor, data, 0)
        os.ftruncate(self.descriptor, len(data))

    def release(self) -> None:
        """Give the lease back; a second time does nothing."""
        if self.descriptor is not None:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            os.close(self.descriptor)
            self.descriptor = None


def live_leases(folder: Path) -> list[Path]:
    """The leases whose takers still live."""
    return [path for path in _lease_files(folder) if is_held(path)]


def stale_leases(folder: Path) -> Iterator[str]:
    """What each dead process's lease said; a lease is removed once the caller has dealt with it."""
    for path in _lease_files(folder):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _locked(descriptor, fcntl.LOCK_EX):
                    yield path.read_text()
                    path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _lease_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_file())
