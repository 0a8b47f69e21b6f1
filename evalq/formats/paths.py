"""Follows paths written in a file, but only to regular files inside the folders that belong to it."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from evalq.definitions.files import display_path
from evalq.definitions.located import is_storable
from evalq.errors import InputError, Problem
from evalq.formats.problems import ImportWarnings

MAX_BYTES = 1_000_000
MAX_ATTACHED_CHARS = 64_000_000
_ROOT_SIGNS = (".git", ".agentv", "evalq.yaml")
_REMEDY = "write a path inside the folder, from its top"


@dataclass(frozen=True)
class Place:
    """The file and line where a path is written, for error messages."""

    file: str = ""
    line: int = 0

    def error(self, message: str, remedy: str) -> InputError:
        """Return an InputError with this file and line."""
        return InputError(Problem(message, remedy, self.file, self.line))


def resolve_inside(
    written: str,
    roots: Sequence[Path],
    *,
    place: Place | None = None,
    max_bytes: int = MAX_BYTES,
    hidden: bool = False,
) -> Path:
    """Return the file that a written path names: the first that exists, tried from each root in turn.

    Links are followed, but must lead to a regular file inside one of the roots, and not too large a one.
    Absolute paths are always refused, and so is anything hidden below a root, such as .git or .env, unless
    `hidden`: it may hold secrets.
    """
    at = place or Place()
    _refuse_invalid(written, at)
    insides = [root.resolve() for root in roots]
    for inside in insides:
        found = _resolve_existing(inside / written, written, at)
        if found is None:
            continue
        if not any(found.is_relative_to(one) for one in insides):
            raise at.error(f"{_quote(written)} leads out of its folder", _REMEDY)
        if not hidden:
            _refuse_hidden(found, insides, written, at)
        state = found.stat(follow_symlinks=False)
        _refuse_irregular(state.st_mode, written, at)
        _refuse_large(state.st_size, max_bytes, written, at)
        return found
    # A path that leads out is reported as such even if nothing is there.
    if not any(_stays_inside(inside, written) for inside in insides):
        raise at.error(f"{_quote(written)} leads out of its folder", _REMEDY)
    looked = " and ".join(dict.fromkeys(display_path(root) for root in roots))
    raise at.error(f"no file {_quote(written)}; looked in {looked}", "check the path")


def read_inside(
    written: str,
    roots: Sequence[Path],
    *,
    place: Place | None = None,
    max_bytes: int = MAX_BYTES,
    hidden: bool = False,
) -> str:
    """Read the UTF-8 text of the file that a written path names, even if links change while it is read."""
    path, content = read_bytes_inside(written, roots, place=place, max_bytes=max_bytes, hidden=hidden)
    return _decode(content, path)


def read_bytes_inside(
    written: str,
    roots: Sequence[Path],
    *,
    place: Place | None = None,
    max_bytes: int = MAX_BYTES,
    hidden: bool = False,
) -> tuple[Path, bytes]:
    """Return the file that a written path names, and its content, text or not."""
    at = place or Place()
    path = resolve_inside(written, roots, place=at, max_bytes=max_bytes, hidden=hidden)
    root = next(root.resolve() for root in roots if path.is_relative_to(root.resolve()))
    with _open_without_links(root, path.relative_to(root), written, at) as handle:
        _refuse_irregular(os.fstat(handle).st_mode, written, at)
        content = _read_at_most(handle, max_bytes + 1)
    _refuse_large(len(content), max_bytes, written, at)
    return path, content


def _refuse_invalid(written: str, at: Place) -> None:
    """Refuse anything but a relative path."""
    if not written.strip() or "\x00" in written:
        raise at.error("a path that names nothing", _REMEDY)
    if PurePath(written).is_absolute():
        raise at.error(f"{_quote(written)} is an absolute path", _REMEDY)


def _resolve_existing(path: Path, written: str, at: Place) -> Path | None:
    """Return where a path leads once every link is followed; None if nothing is there."""
    try:
        return path.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError):  # links in a circle, a name too long, no permission
        raise at.error(f"{_quote(written)} cannot be followed", "check the path and its links") from None


def _stays_inside(root: Path, written: str) -> bool:
    return Path(os.path.normpath(root / written)).is_relative_to(root)


def _refuse_hidden(found: Path, insides: Sequence[Path], written: str, at: Place) -> None:
    """Refuse a file that is hidden below every root it is in."""
    for inside in insides:
        parts = found.relative_to(inside).parts if found.is_relative_to(inside) else (".",)
        if not any(part.startswith(".") for part in parts):
            return
    raise at.error(f"{_quote(written)} is hidden, and may hold secrets", "copy what is needed elsewhere")


def _refuse_irregular(mode: int, written: str, at: Place) -> None:
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise at.error(f"{_quote(written)} is {kind}", "name a file")


def _refuse_large(size: int, max_bytes: int, written: str, at: Place) -> None:
    if size > max_bytes:
        raise at.error(f"{_quote(written)} is larger than {max_bytes:,} bytes", "use a smaller file")


@contextmanager
def _open_without_links(root: Path, inner: PurePath, written: str, at: Place) -> Iterator[int]:
    """Open a file folder by folder, following no link: the resolved path has none, unless it was changed."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in inner.parts[:-1]:
            inside = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inside
        # Not blocking: a pipe put there in the meantime would wait for a writer.
        handle = os.open(inner.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as exc:
        raise at.error(f"{_quote(written)} cannot be read: {exc.strerror}", "check the path") from None
    finally:
        os.close(folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _read_at_most(handle: int, at_most: int) -> bytes:
    content = b""
    while len(content) < at_most:
        part = os.read(handle, at_most - len(content))
        if not part:
            break
        content += part
    return content


def _decode(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise InputError(
            Problem("not UTF-8 text", "save the file as UTF-8", display_path(path), line)
        ) from None


def _quote(written: str) -> str:
    return repr(written[:100])


def repository_of(folder: Path) -> Path:
    """Return the repository or project that a folder is in, or else the folder itself."""
    here = folder.resolve()
    for parent in (here, *here.parents):
        if any((parent / sign).exists() for sign in _ROOT_SIGNS):
            return parent
    return here


def folders_above(folder: Path) -> list[Path]:
    """Return the folder and those above it, up to the repository's root."""
    here, root = folder.resolve(), repository_of(folder)
    return [one for one in (here, *here.parents) if one.is_relative_to(root)]


@dataclass
class Attachments:
    """Reads the files that messages name, from the first root that has them; a missing file is a warning.

    A path that leads out of all roots is refused, and so is anything but a regular file.
    """

    roots: Sequence[Path]
    warnings: ImportWarnings
    _texts: dict[str, str | None] = field(default_factory=dict)
    _chars_left: int = MAX_ATTACHED_CHARS

    def block(self, written: str, place: Place) -> str:
        """Return the file's text between lines that name it; "" if it has none."""
        text = self.text(written, place)
        return "" if text is None else f"--- file: {written} ---\n{text.rstrip()}\n--- end of file ---"

    def text(self, written: str, place: Place) -> str | None:
        """Return the file's text; None, with a warning, if it is missing or not text."""
        if not self._exists(written):
            self._warn(f"there is no file {written[:100]!r}: left out", "check the path", place)
            return None
        if written not in self._texts:
            self._texts[written] = self._read(written, place)
        text = self._texts[written]
        self._chars_left -= len(text or "")
        if self._chars_left < 0:
            raise place.error("the files attached are too long together", "attach fewer, or shorter ones")
        if text is None:
            self._warn(f"{written[:100]!r} is not UTF-8 text: left out", "attach text files", place)
        return text

    def _exists(self, written: str) -> bool:
        """False only for a valid relative path that leads nowhere; reading refuses the invalid ones."""
        try:
            is_path = bool(written.strip()) and "\x00" not in written and not Path(written).is_absolute()
            return not is_path or any((root / written).exists() for root in self.roots)
        except OSError:  # too long a name
            return True

    def _read(self, written: str, place: Place) -> str | None:
        _, content = read_bytes_inside(written, self.roots, place=place)
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None
        return text if is_storable(text) else None

    def _warn(self, message: str, remedy: str, place: Place) -> None:
        self.warnings.add(Problem(message, remedy, place.file, place.line))
