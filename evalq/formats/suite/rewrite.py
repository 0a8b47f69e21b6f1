"""Writes a suite's report again when people have reviewed answers of its run."""

import logging
import os
import tempfile
import threading
from collections.abc import Collection
from pathlib import Path

from evalq.formats.suite.collect import run_of_record
from evalq.formats.suite.report import report_of
from evalq.formats.suite.report_files import SUFFIXES, render_report
from evalq.store import suite_runs
from evalq.store.database import Database

log = logging.getLogger(__name__)

_FORMATS = {suffix: name for name, suffix in SUFFIXES.items()}
_one_at_a_time = threading.Lock()
"""A slower thread must not write older verdicts over newer ones."""


def rewrite_reports(db: Database, bakeoff_ids: Collection[int]) -> list[Path]:
    """Write the reports of the suite runs these bake-offs belong to again; return the files written.

    Only files that are still there and still are reports of that run: on another machine there are none, and
    what the user put in their place stays.
    """
    found = {suite_runs.id_of_bakeoff(db, bakeoff_id) for bakeoff_id in bakeoff_ids}
    written: list[Path] = []
    for suite_run_id in sorted(one for one in found if one is not None):
        with _one_at_a_time:
            written += _rewrite(db, suite_run_id)
    return written


def _rewrite(db: Database, suite_run_id: int) -> list[Path]:
    name = suite_runs.name_of(suite_run_id)
    paths = [path for path in suite_runs.report_files(db, suite_run_id) if _is_report_of(path, name)]
    if not paths:
        return []
    document = report_of(run_of_record(db, suite_runs.get(db, suite_run_id)))
    for path in paths:
        try:
            _replace(path, render_report(document, _FORMATS[path.suffix]))
        except OSError as exc:
            log.warning("the report of %s could not be written again: %s", name, exc.strerror)
    return paths


def _is_report_of(path: Path, name: str) -> bool:
    if path.suffix not in _FORMATS or path.is_symlink() or not path.is_file():
        return False
    try:
        return name in path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _replace(path: Path, text: str) -> None:
    """Write beside the file, then put it in its place: whoever reads it sees the old one or the new one."""
    number, beside = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(text)
    Path(beside).chmod(path.stat().st_mode)  # mkstemp allows the owner alone
    Path(beside).replace(path)
