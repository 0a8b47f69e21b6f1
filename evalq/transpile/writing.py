"""Writes several files or none: a reader never finds half of them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from evalq.definitions.files import shown
from evalq.errors import InputError, Problem


def write_together(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write each text under its name in the folder, replacing what is there; make the folder if need be."""
    with _problems_told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        targets = [folder / name for name in texts]
        for target in targets:
            if target.is_dir():
                raise InputError(Problem("is a folder", "remove it, or choose another -d", shown(target)))
        drafts = [folder / f".{name}.{os.getpid()}.draft" for name in texts]
        try:
            for draft, text in zip(drafts, texts.values(), strict=True):
                draft.write_text(text, "utf-8", newline="\n")
            for draft, target in zip(drafts, targets, strict=True):
                draft.replace(target)
        finally:
            for draft in drafts:
                draft.unlink(missing_ok=True)
    return targets


@contextmanager
def _problems_told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        message = f"cannot be written: {exc.strerror}"
        raise InputError(Problem(message, "choose another folder with -d", shown(folder))) from None
