"""The command that checks a database against the promises of evalq: fsck."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import count, note, print_json, suggest
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.bakeoff.fsck.checks import Inconsistency
    from evalq.store.database import Database


@dataclass(frozen=True)
class _Line:
    """A finding, and whether it has been repaired."""

    finding: "Inconsistency"
    is_repaired: bool


@click.command()
@options.bakeoff_id("bakeoff", metavar="[ID]", required=False)
@click.option(
    "--repair", "wants_repair", is_flag=True, help="Repair what can be repaired; safe while a fleet runs."
)
@options.as_json("The evalq.fsck/1 document.")
@pass_context
def fsck(context: Context, bakeoff: str | None, wants_repair: bool, as_json: bool) -> int:
    """Check the jobs, outcomes, dollars and aggregates of one bake-off, or of all, against each other.

    ID is a number, `last` or `@-2`. Exit code 1: findings remain.
    """
    from evalq.bakeoff.fsck import check, count_bakeoffs, repair
    from evalq.store import bakeoffs

    with context.open_session() as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff) if bakeoff else None
        found = check(session.db, bakeoff_id)
        remaining = repair(session.db, found, bakeoff_id) if wants_repair else found
        lines, n_bakeoffs = _list_lines(found, remaining), count_bakeoffs(session.db, bakeoff_id)
        step = _next_step(session.db, lines, bakeoff)
    if as_json:
        print_json(_document(lines, n_bakeoffs))
    else:
        _print(lines, n_bakeoffs, step)
    return 1 if remaining else 0


def _list_lines(found: "Sequence[Inconsistency]", remaining: "Sequence[Inconsistency]") -> list[_Line]:
    """What was found, then what appeared during the repair and remains."""
    still, before = set(remaining), set(found)
    new = [finding for finding in remaining if finding not in before]
    return [_Line(finding, finding not in still) for finding in [*found, *new]]


def _next_step(db: "Database", lines: Sequence[_Line], bakeoff: str | None) -> str:
    from evalq.store import bakeoffs

    if any(line.finding.is_repairable and not line.is_repaired for line in lines):
        return f"evalq fsck {bakeoff} --repair" if bakeoff else "evalq fsck --repair"
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
    for line in lines:
        click.echo(one_line(_format_line(line)))
    note(_summarise(lines, n_bakeoffs))
    suggest(step)


def _format_line(line: _Line) -> str:
    finding = line.finding
    where = f"bake-off {finding.bakeoff_id}" if finding.bakeoff_id else "all bake-offs"
    what = finding.found if finding.subject == where else f"{finding.subject}: {finding.found}"
    return " · ".join((where, finding.check, what, "repaired" if line.is_repaired else finding.remedy))


def _summarise(lines: Sequence[_Line], n_bakeoffs: int) -> str:
    checked = f"{count(n_bakeoffs, 'bake-off')} checked"
    if not lines:
        return f"{checked}: nothing is wrong"
    repaired = sum(line.is_repaired for line in lines)
    repairable = sum(line.finding.is_repairable and not line.is_repaired for line in lines)
    return f"{checked}: {count(len(lines), 'finding')}, {repaired} repaired, {repairable} can be repaired"
