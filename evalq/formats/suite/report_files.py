"""The folder with the results of a suite: one set of files per run, by day, and a link to the latest."""

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.suite.read import Suite
from evalq.formats.suite.render import render_markdown
from evalq.formats.suite.render_html import render_html

LATEST = "latest"
ARCHIVE = "archive"
SUFFIXES = {"json": ".json", "markdown": ".md", "html": ".html"}


def results_folder(suite: Suite, here: Path) -> Path:
    """The folder for results: inside the suite's folder, or inside the working directory."""
    folder = suite.folder / suite.reporting.output_dir
    _refuse_outside(folder, [suite.folder, here], f"output_dir {suite.reporting.output_dir!r}")
    return folder


def write_results(
    folder: Path, document: Mapping[str, Any], formats: Sequence[str], *, now: datetime
) -> list[Path]:
    """Write a report under DATE/run-HHMMSS, never over another, and point `latest` at it."""
    day = folder / f"{now:%Y-%m-%d}"
    day.mkdir(parents=True, exist_ok=True)
    stem = _free_stem(day, f"run-{now:%H%M%S}")
    written = []
    for name in dict.fromkeys(formats):
        path = day / f"{stem}{SUFFIXES[name]}"
        path.write_text(_render(document, name), "utf-8")
        written.append(path)
    _point_latest(folder, day, written)
    return written


def archive(folder: Path, written: Sequence[Path]) -> list[Path]:
    """Copy the files of a run to the archive folder."""
    kept = folder / ARCHIVE
    kept.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy2(path, kept / f"{path.parent.name}-{path.name}")) for path in written]


def write_text(path: Path, text: str, inside: Sequence[Path], what: str) -> Path:
    """Write a file; InputError when it lies in none of the folders `inside`."""
    _refuse_outside(path, inside, what)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _render(document: Mapping[str, Any], name: str) -> str:
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
    """Link to the day's folder; where links are impossible, copy the files of this run."""
    latest = folder / LATEST
    try:
        if latest.is_symlink():
            latest.unlink()
        elif latest.is_dir():
            shutil.rmtree(latest)
        latest.symlink_to(day.name, target_is_directory=True)
    except OSError:
        latest.mkdir(exist_ok=True)
        for path in written:
            shutil.copy2(path, latest / path.name)


def _refuse_outside(path: Path, folders: Sequence[Path], what: str) -> None:
    whole = path.resolve()
    if not any(whole.is_relative_to(folder.resolve()) for folder in folders):
        raise InputError(Problem(f"{what} leads out of its folder", "write a path inside it"))
