"""Checking a database against what evalq promises of it, and mending what can be mended."""

from collections import defaultdict
from collections.abc import Sequence

from evalq.bakeoff.fsck.checks import CHECKS, Inconsistency
from evalq.store import fsck
from evalq.store.database import Database

_ROUNDS = 4
"""A repair may bring up the next one: an outcome put right changes the counts of its run."""


def check(db: Database, bakeoff_id: int | None = None) -> list[Inconsistency]:
    """What is wrong with a bake-off, or with the whole database; nothing is changed."""
    return [finding for name, rule in CHECKS.items() for finding in rule.findings(name, db, bakeoff_id)]


def repair(
    db: Database, findings: Sequence[Inconsistency], bakeoff_id: int | None = None
) -> list[Inconsistency]:
    """Repair what was found and what that uncovers; return what a new check still finds.

    Safe beside a working fleet: each repair is a transaction that looks again before it writes, and a job
    under a valid lease is left to its worker.
    """
    remaining = list(findings)
    for _ in range(_ROUNDS):
        if not any(finding.is_repairable for finding in remaining):
            break
        _repair_once(db, remaining)
        remaining = check(db, bakeoff_id)
    return remaining


def count_bakeoffs(db: Database, bakeoff_id: int | None = None) -> int:
    """How many bake-offs a check looks at."""
    return fsck.count_bakeoffs(db, bakeoff_id)


def _repair_once(db: Database, findings: Sequence[Inconsistency]) -> None:
    """Each check's repair once per bake-off, in the order of the table: jobs, money, then aggregates."""
    found: defaultdict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for finding in findings:
        found[finding.check][finding.bakeoff_id or 0].append(finding.key)
    for name, rule in CHECKS.items():
        for bakeoff_id, keys in found[name].items():
            if rule.repair is not None:
                rule.repair(db, bakeoff_id, keys)
