"""Other formats as tasks and evalsets: each is known by its files, and loaded as if written for evalq."""

from pathlib import Path

from evalq.importers import eva, eva_doctor, eval_yaml, evals_json, promptfoo, rows, suite_sets
from evalq.importers.imported import Imported, Importer, TriggerMode

__all__ = ["IMPORTERS", "Imported", "Importer", "TriggerMode", "recognise"]

IMPORTERS: tuple[Importer, ...] = (
    Importer("eva", eva.recognises, eva.load, eva_doctor.problems),
    Importer("EVAL.yaml", eval_yaml.recognises, eval_yaml.load),
    Importer("suite", suite_sets.recognises, suite_sets.load, suite_sets.problems),
    Importer("evals.json", evals_json.recognises, evals_json.load),
    Importer("promptfoo", promptfoo.recognises, promptfoo.load),
    Importer("rows", rows.recognises, rows.load, is_guess=True),
)


def recognise(path: Path) -> Importer | None:
    """The importer of a file or folder; None for what is in no format but evalq's own, or not there."""
    try:
        path.stat()
    except (OSError, ValueError):  # not there, or nothing that could be
        return None
    return next((importer for importer in IMPORTERS if importer.recognises(path)), None)
