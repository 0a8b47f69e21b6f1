"""Other formats as tasks and evalsets: each is known by its files, and loaded as if written for evalq."""

from pathlib import Path

from evalq.importers import eva, eva_doctor
from evalq.importers.imported import Imported, Importer

__all__ = ["IMPORTERS", "Imported", "Importer", "recognise"]

IMPORTERS: tuple[Importer, ...] = (Importer("eva", eva.recognises, eva.load, eva_doctor.problems),)


def recognise(path: Path) -> Importer | None:
    """The importer of a file or folder; None for what is in no format but evalq's own, or not there."""
    return next((importer for importer in IMPORTERS if importer.recognises(path)), None)
