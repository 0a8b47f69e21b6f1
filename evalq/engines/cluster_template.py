"""A prepared cluster in the user's cache, copied into new data folders: initdb and the schema take longer.

There is one per build of Postgres and version of the schema. Whatever is odd about it, it is not used, and
initdb makes the cluster as if there were none. Copies share the template's system identifier, which only
matters to replication and archives of WAL; an embedded server has neither.
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from evalq.engines.daemon import find_on_path
from evalq.engines.processes import take_lock

_FORM = "1"
_KEPT = 3
_UNNAMED = "evalq.unnamed"


@dataclass(frozen=True)
class ClusterTemplate:
    """The template of one build and schema, in the folder named after both."""

    folder: Path

    @classmethod
    def of(cls, parts: Sequence[str], environ: Mapping[str, str] = os.environ) -> Self:
        """The template for what these parts describe: the build, its options, the schema."""
        digest = hashlib.sha256("\0".join((_FORM, *parts)).encode()).hexdigest()[:24]
        return cls(_cache_folder(environ) / "clusters" / digest)

    @property
    def _manifest(self) -> Path:
        return self.folder / "complete.json"

    def is_sound(self) -> bool:
        """Whether it is complete, and nobody else can have written it."""
        private = (self.folder.parent.parent, self.folder.parent, self.folder)
        try:
            return all(_is_private(folder) for folder in private) and self._is_complete(self.folder / "pg")
        except (OSError, ValueError):
            return False

    def copy_to(self, target: Path) -> bool:
        """Copy the cluster to `target`, which does not exist; False, and no target, if that is impossible."""
        if not self.is_sound():
            return False
        try:
            shutil.copytree(self.folder / "pg", target, symlinks=True)
            (target / _UNNAMED).touch()
            if self._is_complete(target):
                write_out(target)
                return True
        except (OSError, ValueError):
            pass
        shutil.rmtree(target, ignore_errors=True)
        return False

    def keep(self, make_cluster: Callable[[Path], Path]) -> bool:
        """Make the template unless another process does; `make_cluster` gets a folder for it to work in."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = take_lock(self.folder.parent / "lock", wait_s=0)
        if lock is None:
            return False
        try:
            if not self.is_sound():
                self._make(make_cluster)
        finally:
            os.close(lock)
        return True

    def discard(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self, make_cluster: Callable[[Path], Path]) -> None:
        draft = self.folder.with_name(f"{self.folder.name}.new")
        self.discard()
        draft.mkdir(mode=0o700, exist_ok=True)
        made = make_cluster(draft)
        counted = _count_files(made)
        made.rename(draft / "pg")
        (draft / self._manifest.name).write_text(json.dumps(counted))
        # The data reaches the disk before the name that vouches for it.
        os.sync()
        draft.rename(self.folder)
        self._drop_others()

    def _drop_others(self) -> None:
        """Keep the newest few: those of other versions may be in use, but not those of long ago."""
        found = [path for path in self.folder.parent.iterdir() if path.is_dir() and path.suffix != ".new"]
        for old in sorted(found, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def _is_complete(self, cluster: Path) -> bool:
        """Whether every file is there in its size; what is inside them, Postgres checks by its checksums."""
        known = json.loads(self._manifest.read_text())
        return bool(known == _count_files(cluster))


def is_unnamed(cluster: Path) -> bool:
    """Whether a copied cluster still has the identity of its template."""
    return (cluster / _UNNAMED).exists()


def note_named(cluster: Path) -> None:
    """Remember that the cluster got an identity of its own."""
    (cluster / _UNNAMED).unlink(missing_ok=True)


def write_out(folder: Path) -> None:
    """Have the files of a folder written to disk soon, without waiting.

    Postgres takes for granted that its files are durable. A power cut in the next seconds may break a
    cluster that has nothing in it yet; waiting for 1,400 files takes longer than initdb.
    """
    if program := find_on_path("sync"):
        argv = [str(program), "-f", str(folder)]
        silent = subprocess.DEVNULL
        sync = subprocess.Popen(argv, stdin=silent, stdout=silent, stderr=silent, start_new_session=True)
        sync.returncode = 0  # left to itself


def _cache_folder(environ: Mapping[str, str]) -> Path:
    shared = Path(environ.get("XDG_CACHE_HOME", ""))
    if not shared.is_absolute():  # the XDG specification ignores relative paths
        shared = Path(environ.get("HOME") or Path.home()) / ".cache"
    return shared / "evalq"


def _is_private(folder: Path) -> bool:
    """Whether a folder, not a link, belongs to this user and others may not write in it."""
    found = folder.lstat()
    is_ours = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    return is_ours and not stat.S_IMODE(found.st_mode) & 0o022


def _count_files(cluster: Path) -> dict[str, int]:
    """The size of each file by its path."""
    sizes = {}
    for folder, _, names in os.walk(cluster):
        for name in names:
            path = Path(folder, name)
            if name != _UNNAMED:
                sizes[str(path.relative_to(cluster))] = path.lstat().st_size
    return sizes
