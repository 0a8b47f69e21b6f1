"""The folder with the results of a suite: one set of files per run, by day, and a link to the latest."""

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem
from evalq.formats.suite.read import Suite
from evalq.formats.suite.render import PHASE_HEADING, render_markdown
from evalq.formats.suite.render_html import render_html

LATEST = "latest"
ARCHIVE = "archive"
SUFFIXES = {"json": ".json", "markdown": ".md", "html": ".html"}

log = logging.getLogger(__name__)

_MARK = ".written-by-evalq"


def results_folder(suite: Suite, here: Path) -> Path:
    """The folder for results: inside the suite's folder, or inside the working directory."""
    folder = suite.folder / suite.reporting.output_dir
    refuse_outside(folder, [suite.folder, here], f"output_dir {suite.reporting.output_dir!r}")
    return folder


def write_results(
    folder: Path, document: Mapping[str, Any], formats: Sequence[str], *, now: datetime
) -> list[Path]:
    """Write a report under DATE/run-HHMMSS, never over another, and point `latest` at it if that is ours."""
    day = folder / f"{now:%Y-%m-%d}"
    day.mkdir(parents=True, exist_ok=True)
    stem = _free_stem(day, f"run-{now:%H%M%S}")
    written = []
    for name in dict.fromkeys(formats):
        path = day / f"{stem}{SUFFIXES[name]}"
        path.write_text(render_report(document, name), "utf-8")
        written.append(path)
    _point_latest(folder, day, written)
    return written


def archive(folder: Path, written: Sequence[Path]) -> list[Path]:
    """Copy the files of a run to the archive folder."""
    kept = folder / ARCHIVE
    kept.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in written:
        stem = _free_stem(kept, f"{path.parent.name}-{path.stem}")
        copies.append(Path(shutil.copy2(path, kept / f"{stem}{path.suffix}")))
    return copies


def is_phase_report(text: str) -> bool:
    """Whether a text is a phase report, which the next one may replace."""
    return text.startswith(PHASE_HEADING)


def refuse_outside(path: Path, folders: Sequence[Path], what: str) -> None:
    """Raise InputError when a path lies in none of the folders."""
    whole = path.resolve()
    if not any(whole.is_relative_to(folder.resolve()) for folder in folders):
        raise InputError(Problem(f"{what} leads out of its folder", "write a path inside it"))


def write_text(path: Path, text: str, inside: Sequence[Path], what: str) -> Path:
    """Write a file; InputError when it lies in none of the folders `inside`."""
    refuse_outside(path, inside, what)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def render_report(document: Mapping[str, Any], name: str) -> str:
    """A report in one of the formats of SUFFIXES."""
    if name == "markdown":
        return render_markdown(document)
    if name == "html":
        return render_html(document)
    return json.dumps(document, ensure_ascii=False, indent=2, default=str) + "\n"


def _free_stem(day: Path, stem: str) -> str:
    """The stem, with a number if another run of the same second has it."""
    taken = {path.stem for path in day.iterdir()}
    free, number = stem, 1
    while free in taken:
        number += 1
        free = f"{stem}-{number}"
    return free


def _point_latest(folder: Path, day: Path, written: Sequence[Path]) -> None:
    """Link to the day's folder; where links are impossible, copy the files of this run.

    Anything else that is called `latest` belongs to the user and stays as it is.
    """
    latest = folder / LATEST
    try:
        if latest.is_symlink() and _is_own_link(latest):
            latest.unlink()
        if not os.path.lexists(latest):
            latest.symlink_to(day.name, target_is_directory=True)
            return
    except OSError:
        latest.mkdir(exist_ok=True)
        (latest / _MARK).touch()
    if (latest / _MARK).is_file():
        for path in written:
            shutil.copy2(path, latest / path.name)
    else:
        log.warning("%s was not written by evalq: it stays as it is", display_path(latest))


def _is_own_link(latest: Path) -> bool:
    target = str(latest.readlink())
    return re.fullmatch(r"\d{4}-\d\d-\d\d", target) is not None
