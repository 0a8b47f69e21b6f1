"""The data folder of a project: where its engines keep their files, who uses them, which servers run."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

from evalq.definitions.file_trust import refuse_planted
from evalq.engines.processes import hold_lock, identify, live_leases, stale_leases
from evalq.errors import InputError, Problem

_LOCK_PATIENCE_S = 180  # longer than another command may take to start or stop


@dataclass(frozen=True)
class RunningServer:
    """A server that has answered, and its process."""

    name: str
    pid: int
    born: str
    version: str
    url: str


@dataclass(frozen=True)
class EnginesRecord:
    """The content of `engines.json`."""

    kept: bool = False
    servers: dict[str, RunningServer] = field(default_factory=dict)

    def no_longer_kept(self) -> "EnginesRecord":
        """The same servers, which the last command to use them will stop."""
        return replace(self, kept=False)


@dataclass(frozen=True)
class DataFolder:
    """Where one project's engines live."""

    path: Path

    @classmethod
    def of(cls, data_dir: Path) -> Self:
        """The folder by its absolute path without links; Refused if others may have written it.

        Its record names the servers to connect to, and its spool is stored as answers.
        """
        given = data_dir.expanduser()
        refuse_planted(given)
        return cls(given.resolve())

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
        """A file that asks the supervisor for a sandbox worker, which it starts only then."""
        return self.path / "sandbox.wanted"

    def supervisor_pid(self) -> int:
        """The supervisor's process; 0 if the file is missing or names a process that has ended."""
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
        ignore_file = self.path / ".gitignore"
        if not ignore_file.exists():
            ignore_file.write_text("*\n")

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Let one command at a time start or stop engines."""
        return hold_lock(self.path / "engines.lock", wait_s=_LOCK_PATIENCE_S)

    def read(self) -> EnginesRecord:
        """The record; an empty one if the file is missing or unreadable."""
        try:
            raw = json.loads((self.path / "engines.json").read_text())
            return EnginesRecord(
                raw["kept"], {name: RunningServer(**server) for name, server in raw["servers"].items()}
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return EnginesRecord()

    def write(self, record: EnginesRecord) -> None:
        """Replace the record in one step; it holds the broker's password, so only the owner may read it."""
        draft = self.path / "engines.json.new"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(asdict(record), indent=1) + "\n")
        draft.replace(self.path / "engines.json")

    def forget(self) -> None:
        """Remove the record, since nothing runs."""
        (self.path / "engines.json").unlink(missing_ok=True)

    def attached(self) -> list[int]:
        """The pids of the commands that use the engines now."""
        return [int(lease.name.partition("-")[0]) for lease in live_leases(self.users)]

    def drop_stale_leases(self) -> None:
        """Remove the leases of commands that died."""
        for _ in stale_leases(self.users):
            pass


@contextlib.contextmanager
def open_data_folder(data_dir: Path) -> Iterator[DataFolder]:
    """The folder; an error of the file system inside the block becomes an InputError with a remedy."""
    folder = DataFolder.of(data_dir)
    remedy = "run evalq in a folder you may write to, or set EVALQ_DATABASE_URL and EVALQ_BROKER_URL"
    try:
        yield folder
    except OSError as exc:
        what = f"cannot keep the embedded engines in {folder.path}: {exc.strerror}"
        if exc.filename and str(exc.filename) != str(folder.path):
            what += f" ({exc.filename})"
        raise InputError(Problem(what, remedy)) from exc
