"""The account Postgres runs as when evalq is root, since Postgres refuses to run as root itself.

The wheel's own server class makes every parent folder of the data and of the binaries readable for all
(`ensure_prefix_permissions`: a 0700 /root becomes 0755). Here no permission is loosened:
- Root opens the data folder and passes the descriptor to the process: `-D /proc/self/fd/N` and a socket
  folder relative to it name the data without looking up any parent.
- Binaries that the account cannot reach (a virtual environment under /root) are copied once to a folder
  of the system.
"""

import contextlib
import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalq.errors import Unreachable

_NAME = "pgserver"  # the account that the wheel itself would create
_SYSTEM_COPIES = Path("/var/lib/evalq")
_REMEDY = "run evalq as an ordinary user, or set EVALQ_DATABASE_URL"


@dataclass(frozen=True)
class Account:
    """A user of this machine, by number."""

    uid: int
    gid: int


def choose_account(pgdata: Path) -> Account | None:
    """The account for Postgres: None for our own; for root the owner of the data, else a server account."""
    if os.geteuid() != 0:
        return None
    if pgdata.exists():
        owner = pgdata.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    entry = _find_account() or _create_account_once()
    return Account(entry.pw_uid, entry.pw_gid)


def _find_account() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(_NAME)
    except KeyError:
        return None


def _create_account_once() -> pwd.struct_passwd:
    """Create the account unless another command does.

    Commands that start together on a new machine take turns: of two useradd at once the later one can
    overwrite the entry of the first, and leave that command with a number no account has.
    """
    _SYSTEM_COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (_SYSTEM_COPIES / "account.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _find_account() or _create_account()


def _create_account() -> pwd.struct_passwd:
    useradd = shutil.which("useradd") or shutil.which("useradd", path="/usr/sbin:/sbin")
    if useradd is None:
        raise Unreachable(
            f"Postgres refuses to run as root, and no useradd is here to make an account; {_REMEDY}"
        )
    options = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    done = subprocess.run([useradd, *options, _NAME], capture_output=True, text=True, check=False)
    entry = _find_account()
    if entry is None:
        reason = done.stderr.strip()
        raise Unreachable(
            f"Postgres refuses to run as root, and making an account failed ({reason}); {_REMEDY}"
        )
    return entry


def give_folder_to(folder: Path, account: Account) -> None:
    """Make the account own a folder; root owns it after a copy or a restore."""
    if folder.stat().st_uid != account.uid:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


@dataclass(frozen=True)
class OpenedFolder:
    """A folder as a program can reach it: the name to use, and the descriptors it must inherit."""

    name: str
    pass_fds: tuple[int, ...] = ()


@contextlib.contextmanager
def open_folder_for(folder: Path, account: Account | None) -> Iterator[OpenedFolder]:
    """The folder's own path, or an open descriptor for an account that cannot reach that path."""
    if account is None or sys.platform != "linux":
        yield OpenedFolder(str(folder))
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield OpenedFolder(f"/proc/self/fd/{descriptor}", (descriptor,))
    finally:
        os.close(descriptor)


def runnable_binaries(binaries: Path, account: Account | None) -> Path:
    """The folder of `initdb` and `postgres` as the account can run them."""
    if account is None or _can_run(binaries, account):
        return binaries
    copy = _copy_once(binaries)
    if not _can_run(copy, account):
        raise Unreachable(
            f"Postgres refuses to run as root, and its account cannot run {copy}/initdb; {_REMEDY}"
        )
    return copy


def _can_run(binaries: Path, account: Account) -> bool:
    argv = [str(binaries / "initdb"), "--version"]
    try:
        done = subprocess.run(
            argv,
            cwd="/",
            capture_output=True,
            check=False,
            user=account.uid,
            group=account.gid,
            extra_groups=[],
        )
    except OSError:
        return False
    return done.returncode == 0


def _copy_once(binaries: Path) -> Path:
    """A copy of the wheel's Postgres that all may run and only root may change."""
    install = binaries.parent
    package = install.parent
    source = binaries.stat()
    target = _SYSTEM_COPIES / f"postgres-{source.st_ino}-{int(source.st_mtime)}"
    if not target.exists():
        try:
            _copy_layout(package, install, target)
        except OSError as exc:
            if target.exists():  # another command was faster
                return target / package.name / install.name / binaries.name
            raise Unreachable(
                f"Postgres refuses to run as root, and cannot be copied to {target}: {exc}; {_REMEDY}"
            ) from exc
    return target / package.name / install.name / binaries.name


def _copy_layout(package: Path, install: Path, target: Path) -> None:
    """Copy as laid out in site-packages: the binaries find their libraries relative to themselves."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        draft = Path(folder) / "draft"
        for part in ("bin", "lib", "share"):
            shutil.copytree(install / part, draft / package.name / install.name / part)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        _make_readable(draft)
        draft.rename(target)


def _make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(0o755 if path.is_dir() or mode & 0o100 else 0o644)
