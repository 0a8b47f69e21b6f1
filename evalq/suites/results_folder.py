"""The folder of a suite's results: one file per run and format, by day, and `latest`."""

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from evalq.errors import InputError, Problem
from evalq.importers.suite import Suite
from evalq.reports.suite_html import render_html
from evalq.reports.suite_markdown import render_markdown

LATEST = "latest"
ARCHIVE = "archive"
SUFFIXES = {"json": ".json", "markdown": ".md", "html": ".html"}


def results_folder(suite: Suite, here: Path) -> Path:
    """Where results go: below the suite's folder, or below the working directory."""
    folder = suite.folder / suite.reporting.output_dir
    return _inside(folder, [suite.folder, here], f"output_dir {suite.reporting.output_dir!r}")


def write_results(
    folder: Path, document: Mapping[str, Any], formats: Sequence[str], *, now: datetime
) -> list[Path]:
    """Write a report in some formats under DATE/run-HHMMSS, never over another, and point `latest` at it."""
    day = folder / f"{now:%Y-%m-%d}"
    day.mkdir(parents=True, exist_ok=True)
    stem = _free_stem(day, f"run-{now:%H%M%S}")
    written = []
    for name in dict.fromkeys(formats):
        path = day / f"{stem}{SUFFIXES[name]}"
        path.write_text(rendered(document, name), "utf-8")
        written.append(path)
    _point_latest(folder, day, written)
    return written


def rendered(document: Mapping[str, Any], name: str) -> str:
    """The report in one format."""
    if name == "markdown":
        return render_markdown(document)
    if name == "html":
        return render_html(document)
    return json.dumps(document, ensure_ascii=False, indent=2, default=str) + "\n"


def write_text(path: Path, text: str, inside: Sequence[Path], what: str) -> Path:
    """Write a file that lies inside one of some folders."""
    checked = _inside(path, inside, what)
    checked.parent.mkdir(parents=True, exist_ok=True)
    checked.write_text(text, "utf-8")
    return checked


def archive(folder: Path, written: Sequence[Path]) -> list[Path]:
    """Copy a run's files to where nothing is tidied away."""
    kept = folder / ARCHIVE
    kept.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy2(path, kept / f"{path.parent.name}-{path.name}")) for path in written]


def _free_stem(day: Path, stem: str) -> str:
    taken = {path.stem for path in day.iterdir()}
    tries = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(name for name in tries if name not in taken)


def _point_latest(folder: Path, day: Path, written: Sequence[Path]) -> None:
    """A link to the day's folder; where links cannot be made, a folder with copies of this run."""
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


def _inside(path: Path, folders: Sequence[Path], what: str) -> Path:
    whole = path.resolve()
    if not any(whole.is_relative_to(folder.resolve()) for folder in folders):
        raise InputError(Problem(f"{what} leads out of its folder", "write a path inside it"))
    return path
