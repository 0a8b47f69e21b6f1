"""Nothing is written into a holdout: not under its name, not through a link, not into a set once frozen."""

from collections.abc import Iterator
from pathlib import Path

from evalq.definitions.files import file_sha256, load_located
from evalq.errors import InputError, Refused
from evalq.holdout import chain
from evalq.holdout.entries import history_of
from evalq.holdout.guard import is_holdout
from evalq.holdout.mirror import read_mirror


def refuse_writing(path: Path, *, task: str, root: Path) -> None:
    """Refuse a file that is a holdout, or whose bytes or name the log of looks speaks of."""
    frozen = find_frozen(path, task=task, root=root)
    if frozen:
        raise Refused(
            f"{frozen!r} is a holdout: nothing is added to it or changed in it, whoever asks; "
            f"name another set with --eval-set, one not called holdout-…"
        )


def refuse_reading(path: Path, *, task: str, root: Path) -> None:
    """Refuse a holdout as an example of anything: what is shown of it is no longer held out."""
    frozen = find_frozen(path, task=task, root=root)
    if frozen:
        raise Refused(
            f"{frozen!r} is a holdout: none of its cases is shown to a model; name another set with --like"
        )


def find_frozen(path: Path, *, task: str, root: Path) -> str | None:
    """The name of the holdout that a file is; None for any other."""
    names = list(dict.fromkeys(_names(path)))
    return next((name for name in names if is_holdout(name)), None) or _logged(path, names, task, root)


def _names(path: Path) -> Iterator[str]:
    """Every name the set goes by: its file's, that of the file a link leads to, the one written inside."""
    yield path.stem
    yield path.resolve().stem
    if path.is_file():
        try:
            value = load_located(path).value
        except InputError:
            return
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            yield value["name"]


def _logged(path: Path, names: list[str], task: str, root: Path) -> str | None:
    """The set as the log knows it: frozen under one of these names, or with these very bytes."""
    entries = history_of(chain.sound_links(read_mirror(root, task) or [])).entries
    sha256 = file_sha256(path) if path.is_file() else None
    return next((one.eval_set for one in entries if one.eval_set in names or one.set_sha256 == sha256), None)
