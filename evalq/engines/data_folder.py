"""A data folder: what lies where in it, who uses it, and what it remembers of its servers."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

from evalq.engines.processes import exclusively, identify, live_leases, stale_leases
from evalq.errors import InputError, Problem

_LOCK_PATIENCE_S = 180  # longer than any start or stop that another command may be in


@dataclass(frozen=True)
class RunningServer:
    """A server that answered, and the process it was."""

    name: str
    pid: int
    born: str
    version: str
    url: str


@dataclass(frozen=True)
class Record:
    """What `engines.json` holds."""

    kept: bool = False
    servers: dict[str, RunningServer] = field(default_factory=dict)

    def no_longer_kept(self) -> "Record":
        """The same servers, to be stopped by the last command that uses them."""
        return replace(self, kept=False)


@dataclass(frozen=True)
class Folder:
    """Where one project's engines live."""

    path: Path

    @classmethod
    def of(cls, data_dir: Path) -> Self:
        """The folder by its one true name, however the command was told of it."""
        return cls(data_dir.expanduser().resolve())

    @property
    def users(self) -> Path:
        """The leases of the commands that use the engines."""
        return self.path / "users"

    @property
    def logs(self) -> Path:
        """Where the engines and the fleets log."""
        return self.path / "logs"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor, and where it writes its pid."""
        return self.path / "supervisor.lock"

    @property
    def sandbox_request(self) -> Path:
        """There when somebody has code to run: the supervisor starts a worker for it then, not before."""
        return self.path / "sandbox.wanted"

    def supervisor_pid(self) -> int:
        """The supervisor's process; 0 when what is written there is missing or an earlier one's."""
        try:
            pid = int(self.supervisor_lock.read_text())
        except (OSError, ValueError):
            return 0
        return pid if identify(pid) else 0

    def prepare(self) -> None:
        """Make the folder, for its owner only, and keep it out of version control."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in (self.users, self.logs):
            part.mkdir(mode=0o700, exist_ok=True)
        if not (ignored := self.path / ".gitignore").exists():
            ignored.write_text("*\n")

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Starting and stopping happen one command at a time."""
        return exclusively(self.path / "engines.lock", wait_s=_LOCK_PATIENCE_S)

    def read(self) -> Record:
        """The record; an empty one when there is none, or none that can be read."""
        try:
            raw = json.loads((self.path / "engines.json").read_text())
            return Record(
                raw["kept"], {name: RunningServer(**server) for name, server in raw["servers"].items()}
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Record()

    def write(self, record: Record) -> None:
        """Replace the record in one step; it holds the broker's password, so it is the owner's alone."""
        draft = self.path / "engines.json.new"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(asdict(record), indent=1) + "\n")
        draft.replace(self.path / "engines.json")

    def forget(self) -> None:
        """Remove the record: nothing runs."""
        (self.path / "engines.json").unlink(missing_ok=True)

    def attached(self) -> list[int]:
        """The pids of the commands that use the engines now."""
        return [int(lease.name.partition("-")[0]) for lease in live_leases(self.users)]

    def drop_stale_leases(self) -> None:
        """Remove the leases of commands that died; they hold nothing any more."""
        for _ in stale_leases(self.users):
            pass


@contextlib.contextmanager
def usable(data_dir: Path) -> Iterator[Folder]:
    """The folder; when the file system refuses what we need of it, an error the user can mend."""
    folder = Folder.of(data_dir)
    remedy = "run evalq in a folder you may write to, or set EVALQ_DATABASE_URL and EVALQ_BROKER_URL"
    try:
        yield folder
    except OSError as exc:
        where = f" ({exc.filename})" if exc.filename and str(exc.filename) != str(folder.path) else ""
        what = f"cannot keep the embedded engines in {folder.path}: {exc.strerror}{where}"
        raise InputError(Problem(what, remedy)) from exc
