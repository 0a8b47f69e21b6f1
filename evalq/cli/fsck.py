"""The command that checks a database against what evalq promises of it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_text
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.bakeoff.fsck.checks import Inconsistency
    from evalq.store.database import Database


@dataclass(frozen=True)
class _Line:
    """A finding, and whether it is gone by now."""

    finding: "Inconsistency"
    is_repaired: bool


@click.command()
@click.argument("bakeoff", metavar="[ID]", required=False)
@click.option("--repair", "wants_repair", is_flag=True, help="Mend what can be mended; safe beside a fleet.")
@click.option("--json", "as_json", is_flag=True, help="The evalq.fsck/1 document.")
def fsck(bakeoff: str | None, wants_repair: bool, as_json: bool) -> int:
    """Check the jobs, outcomes, dollars and aggregates of one bake-off, or of all, against each other.

    ID is a number, `last` or `@-2`. Exit code 1: findings remain.
    """
    from evalq.bakeoff.fsck import check, count_bakeoffs, repair
    from evalq.engines.session import open_session
    from evalq.store import bakeoffs

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff) if bakeoff else None
        found = check(session.db, bakeoff_id)
        remaining = repair(session.db, found, bakeoff_id) if wants_repair else found
        lines, n_bakeoffs = _lines(found, remaining), count_bakeoffs(session.db, bakeoff_id)
        step = _next_step(session.db, lines, bakeoff)
    if as_json:
        click.echo(json_text(_document(lines, n_bakeoffs)))
    else:
        _print(lines, n_bakeoffs, step)
    return 1 if remaining else 0


def _lines(found: "Sequence[Inconsistency]", remaining: "Sequence[Inconsistency]") -> list[_Line]:
    """What was found, then what came up while it was repaired and is still there."""
    still, before = set(remaining), set(found)
    new = [finding for finding in remaining if finding not in before]
    return [_Line(finding, finding not in still) for finding in [*found, *new]]


def _next_step(db: "Database", lines: Sequence[_Line], bakeoff: str | None) -> str:
    from evalq.store import bakeoffs

    if any(line.finding.is_repairable and not line.is_repaired for line in lines):
        return f"evalq fsck {f'{bakeoff} ' if bakeoff else ''}--repair"
    touched = sorted({line.finding.bakeoff_id for line in lines if line.finding.bakeoff_id})
    paused = [one for one in touched if bakeoffs.get(db, one).state == "paused"]
    if paused:
        return f"evalq resume {paused[0]}"
    return f"evalq inspect {touched[0]}" if touched else "evalq runs"


def _document(lines: Sequence[_Line], n_bakeoffs: int) -> dict[str, Any]:
    from evalq.bakeoff.fsck.checks import CHECKS

    return {
        "schema": "evalq.fsck/1",
        "ok": all(line.is_repaired for line in lines),
        "checked": list(CHECKS),
        "bakeoffs": n_bakeoffs,
        "findings": [
            {
                "check": line.finding.check,
                "bakeoff": line.finding.bakeoff_id,
                "subject": line.finding.subject,
                "found": line.finding.found,
                "remedy": line.finding.remedy,
                "repaired": line.is_repaired,
            }
            for line in lines
        ],
    }


def _print(lines: Sequence[_Line], n_bakeoffs: int, step: str) -> None:
    from evalq.reports.text import one_line

    for line in lines:
        click.echo(one_line(_words(line)))
    click.echo(_counts(lines, n_bakeoffs), err=True)
    click.echo(f"next  {step}", err=True)


def _words(line: _Line) -> str:
    finding = line.finding
    where = f"bake-off {finding.bakeoff_id}" if finding.bakeoff_id else "all bake-offs"
    what = finding.found if finding.subject == where else f"{finding.subject}: {finding.found}"
    return " · ".join((where, finding.check, what, "repaired" if line.is_repaired else finding.remedy))


def _counts(lines: Sequence[_Line], n_bakeoffs: int) -> str:
    checked = f"{n_bakeoffs} bake-off{'' if n_bakeoffs == 1 else 's'} checked"
    if not lines:
        return f"{checked}: nothing is wrong"
    repaired = sum(line.is_repaired for line in lines)
    repairable = sum(line.finding.is_repairable and not line.is_repaired for line in lines)
    findings = f"{len(lines)} finding{'' if len(lines) == 1 else 's'}"
    return f"{checked}: {findings}, {repaired} repaired, {repairable} can be repaired"
