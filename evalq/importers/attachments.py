"""Files that a message names: their text is put into it, from inside the folder or repository alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalq.definitions.located import is_storable
from evalq.errors import Problem
from evalq.importers.losses import Losses
from evalq.importers.paths import Place, read_bytes_inside

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
