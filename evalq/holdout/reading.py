"""The holdout log as people read it: each line with what became of it, looks counted per set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalq.holdout import chain, ledger
from evalq.holdout.chain import Break, Link
from evalq.holdout.entries import Entry, History, history_of
from evalq.store.database import Database, Row


@dataclass(frozen=True)
class Log:
    """One task's log, and how the bake-offs it names stand by their uid."""

    task: str
    head: str | None
    links: Sequence[Link]
    bakeoffs: Mapping[str, Row]
    breaks: Sequence[Break] = ()

    @property
    def history(self) -> History:
        """What the lines say."""
        return history_of(self.links)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The lines as cells of a table."""
        for entry in self.history.entries:
            yield (
                self.task,
                str(entry.seq),
                entry.at[:19].replace("T", " "),
                entry.kind,
                entry.eval_set,
                entry.run_type or "",
                str(self._bakeoff_id(entry) or ""),
                ", ".join(entry.judges),
                self._came_to(entry),
            )

    def remarks(self) -> Iterator[str]:
        """How often each set was looked at, whether all of it can be believed, and the head to write down."""
        for eval_set in self.history.eval_sets:
            n_looks, n_checks = self._counts(eval_set)
            yield f"{self.task} {eval_set}: looks {n_looks}, drift checks {n_checks}"
        for found in self.breaks[:1]:
            yield f"{self.task}: BROKEN at line {found.line}: it {found.found}; unreadable lines are left out"
        yield f"{self.task}: head {self.head}"

    def document(self) -> dict[str, Any]:
        """As JSON: the lines as they are, each intent with `open`: it has no result."""
        history = self.history
        sets = {name: self._counts(name) for name in history.eval_sets}
        return {
            "task": self.task,
            "head": self.head,
            "intact": not self.breaks,
            "sets": {name: {"looks": n, "drift_checks": checks} for name, (n, checks) in sets.items()},
            "entries": [{**link.fields, **self._standing(link)} for link in self.links],
        }

    def _standing(self, link: Link) -> dict[str, Any]:
        if link.fields.get("kind") != "intent":
            return {}
        uid = str(link.fields.get("bakeoff_uid"))
        known = self.bakeoffs.get(uid)
        return {
            "open": self.history.result_of(uid) is None,
            "bakeoff_id": known["id"] if known else None,
            "state": known["state"] if known else None,
        }

    def _counts(self, eval_set: str) -> tuple[int, int]:
        return len(self.history.looks(eval_set)), len(self.history.drift_checks(eval_set))

    def _bakeoff_id(self, entry: Entry) -> int | None:
        known = self.bakeoffs.get(entry.bakeoff_uid or "")
        return known["id"] if known else entry.bakeoff_id

    def _came_to(self, entry: Entry) -> str:
        if entry.kind == "freeze":
            return f"sha256 {entry.set_sha256[:12]}…" + (f", again: {entry.reason}" if entry.reason else "")
        if entry.kind == "result":
            return ", ".join(f"{one.judge} {one.n_pass}/{one.n}" for one in entry.runs)
        if self.history.result_of(entry.bakeoff_uid or ""):
            return ""
        known = self.bakeoffs.get(entry.bakeoff_uid or "")
        return f"NO RESULT: bake-off is {known['state']}" if known else "NO RESULT: no bake-off was recorded"


def read_logs(db: Database, task: str | None = None) -> list[Log]:
    """The logs of one task or of all that have one."""
    tasks = [name for name in ledger.logged_tasks(db) if task in (None, name)]
    return [_read(db, name) for name in tasks]


def _read(db: Database, task: str) -> Log:
    links = chain.sound_links(ledger.read_lines(db, task))
    uids = [entry.bakeoff_uid for entry in history_of(links).entries if entry.bakeoff_uid]
    bakeoffs = {row["uid"]: row for row in db.rows("looked_bakeoffs", uids=uids)}
    return Log(task, ledger.head(db, task), links, bakeoffs, ledger.find_breaks(db, task))
