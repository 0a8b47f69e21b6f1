"""Paths written in a file: followed only to regular files inside the folders that belong to it."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from evalq.definitions.files import display_path
from evalq.definitions.located import is_storable
from evalq.errors import InputError, Problem
from evalq.formats.problems import Losses

MAX_BYTES = 1_000_000
_REMEDY = "write a path inside the folder, from its top"


@dataclass(frozen=True)
class Place:
    """Where a path is written; what refuses it says so."""

    file: str = ""
    line: int = 0

    def error(self, message: str, remedy: str) -> InputError:
        """What is wrong with what is written there."""
        return InputError(Problem(message, remedy, self.file, self.line))


def resolve_inside(
    written: str, roots: Sequence[Path], *, place: Place | None = None, max_bytes: int = MAX_BYTES
) -> Path:
    """The file a written path means: the first that is there, looked for from each root in turn.

    Links are followed, and what they lead to must lie inside one of the roots and be a regular file, not too
    large. Absolute paths are refused whatever they name.
    """
    at = place or Place()
    _refuse_words(written, at)
    insides = [root.resolve() for root in roots]
    for inside in insides:
        found = _existing(inside / written, written, at)
        if found is None:
            continue
        if not any(found.is_relative_to(one) for one in insides):
            raise at.error(f"{_quoted(written)} leads out of its folder", _REMEDY)
        state = found.stat(follow_symlinks=False)
        _refuse_odd(state.st_mode, written, at)
        _refuse_large(state.st_size, max_bytes, written, at)
        return found
    # What is not there may still be a way out: that is said rather than that nothing was found.
    if not any(_stays_inside(inside, written) for inside in insides):
        raise at.error(f"{_quoted(written)} leads out of its folder", _REMEDY)
    looked = " and ".join(dict.fromkeys(display_path(root) for root in roots))
    raise at.error(f"no file {_quoted(written)}; looked in {looked}", "check the path")


def read_inside(
    written: str, roots: Sequence[Path], *, place: Place | None = None, max_bytes: int = MAX_BYTES
) -> str:
    """The UTF-8 text of the file a written path means; nothing else is read, whatever links become."""
    path, content = read_bytes_inside(written, roots, place=place, max_bytes=max_bytes)
    return _decoded(content, path)


def read_bytes_inside(
    written: str, roots: Sequence[Path], *, place: Place | None = None, max_bytes: int = MAX_BYTES
) -> tuple[Path, bytes]:
    """The file a written path means, and what is in it, text or not."""
    at = place or Place()
    path = resolve_inside(written, roots, place=at, max_bytes=max_bytes)
    root = next(one for one in (root.resolve() for root in roots) if path.is_relative_to(one))
    with _opened(root, path.relative_to(root), written, at) as handle:
        _refuse_odd(os.fstat(handle).st_mode, written, at)
        content = _read(handle, max_bytes + 1)
    _refuse_large(len(content), max_bytes, written, at)
    return path, content


def _refuse_words(written: str, at: Place) -> None:
    """What is no relative path at all."""
    if not written.strip() or "\x00" in written:
        raise at.error("a path that names nothing", _REMEDY)
    if PurePath(written).is_absolute():
        raise at.error(f"{_quoted(written)} is an absolute path", _REMEDY)


def _existing(path: Path, written: str, at: Place) -> Path | None:
    """Where a path leads once every link is followed; None when nothing is there."""
    try:
        return path.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, RuntimeError):  # links in a circle, a name too long, a folder that is closed to us
        raise at.error(f"{_quoted(written)} cannot be followed", "check the path and its links") from None


def _stays_inside(root: Path, written: str) -> bool:
    return Path(os.path.normpath(root / written)).is_relative_to(root)


def _refuse_odd(mode: int, written: str, at: Place) -> None:
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise at.error(f"{_quoted(written)} is {kind}", "name a file")


def _refuse_large(size: int, max_bytes: int, written: str, at: Place) -> None:
    if size > max_bytes:
        raise at.error(f"{_quoted(written)} is larger than {max_bytes:,} bytes", "use a smaller file")


@contextmanager
def _opened(root: Path, inner: PurePath, written: str, at: Place) -> Iterator[int]:
    """The file, opened folder by folder without following links: the path was free of them a moment ago."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in inner.parts[:-1]:
            inside = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inside
        # Not blocking: a pipe put there meanwhile would keep us waiting for a writer.
        handle = os.open(inner.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as exc:
        raise at.error(f"{_quoted(written)} cannot be read: {exc.strerror}", "check the path") from None
    finally:
        os.close(folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _read(handle: int, at_most: int) -> bytes:
    parts, left = [], at_most
    while left > 0 and (part := os.read(handle, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise InputError(
            Problem("not UTF-8 text", "save the file as UTF-8", display_path(path), line)
        ) from None


def _quoted(written: str) -> str:
    return repr(written[:100])


MAX_ATTACHED_CHARS = 64_000_000
_ROOT_SIGNS = (".git", ".agentv", "evalq.yaml")


def repository_of(folder: Path) -> Path:
    """The repository or project a folder is in; the folder itself when it is in none."""
    here = folder.resolve()
    return next(
        (one for one in (here, *here.parents) if any((one / sign).exists() for sign in _ROOT_SIGNS)), here
    )


def folders_above(folder: Path) -> list[Path]:
    """The folder and those above it, up to the repository's root."""
    here, root = folder.resolve(), repository_of(folder)
    return [one for one in (here, *here.parents) if one.is_relative_to(root)]


@dataclass
class Attachments:
    """Reads what messages name, looked for from each root in turn; what is not there or no text is a loss.

    What leads out of all the roots is refused, and so is what is no regular file.
    """

    roots: Sequence[Path]
    losses: Losses
    _texts: dict[str, str | None] = field(default_factory=dict)
    _left: int = MAX_ATTACHED_CHARS

    def block(self, written: str, place: Place) -> str:
        """The file's text under a heading with its path; "" when there is none to show."""
        text = self.text(written, place)
        return "" if text is None else f"--- file: {written} ---\n{text.rstrip()}\n--- end of file ---"

    def text(self, written: str, place: Place) -> str | None:
        """What is in the file; None, and a loss noted, when it is not there or no text."""
        if not self._is_there(written):
            self._lose(f"there is no file {written[:100]!r}: left out", "check the path", place)
            return None
        if written not in self._texts:
            self._texts[written] = self._read(written, place)
        text = self._texts[written]
        self._left -= len(text or "")
        if self._left < 0:
            raise place.error("the files attached are too long together", "attach fewer, or shorter ones")
        if text is None:
            self._lose(f"{written[:100]!r} is no UTF-8 text: left out", "attach text files", place)
        return text

    def _is_there(self, written: str) -> bool:
        """False only for a relative path that leads nowhere; all else is for the reading to refuse."""
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

    def _lose(self, message: str, remedy: str, place: Place) -> None:
        self.losses.note(Problem(message, remedy, place.file, place.line))
