"""Names the programs and functions that judges and alerts run here, before the first run of each."""

import hashlib
import json
import logging
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from evalq.definitions.alert_channels import AlertChannel
from evalq.definitions.judge import CommandJudge, JudgeConfig, PythonJudge
from evalq.keys import keys_file
from evalq.reports.text import one_line

log = logging.getLogger(__name__)


def announce_programs(
    judges: Iterable[JudgeConfig],
    alerts: Iterable[AlertChannel],
    *,
    folder: Path,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Warn of each program not yet named for this folder: a file in the folder chose it, and it will run.

    Remembered by content in the user's configuration folder, so a changed command is named again.
    """
    memory = keys_file(environ).parent / "known-programs"
    known = _read_lines(memory)
    for owner, program in _list_programs(judges, alerts):
        sha = hashlib.sha256(json.dumps([str(folder), owner, program]).encode()).hexdigest()
        if sha in known:
            continue
        log.warning("%s runs as you, for the first time in %s: %s", owner, folder, one_line(program))
        known.add(sha)
        with suppress(OSError):  # named again the next time
            memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with memory.open("a", encoding="ascii") as file:
                file.write(f"{sha}\n")


def _list_programs(
    judges: Iterable[JudgeConfig], alerts: Iterable[AlertChannel]
) -> Iterator[tuple[str, str]]:
    """Who runs it, and what is run."""
    for judge in judges:
        if isinstance(judge, CommandJudge):
            yield f"the command of judge {judge.name!r}", shlex.join(judge.command)
        elif isinstance(judge, PythonJudge):
            yield f"the Python function of judge {judge.name!r}", judge.callable
    for channel in alerts:
        if channel.command:
            yield "the command of an alert", shlex.join(channel.command)


def _read_lines(path: Path) -> set[str]:
    try:
        return set(path.read_text("ascii").split())
    except (OSError, UnicodeDecodeError):
        return set()
