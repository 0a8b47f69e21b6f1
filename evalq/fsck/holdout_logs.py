"""The holdout logs against themselves: each task's chain must be whole."""

from evalq.holdout import ledger
from evalq.store.database import Database, Row


def find_broken_logs(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Lines of holdout logs that were edited, removed, moved or put in; a log belongs to no one bake-off."""
    if bakeoff_id is not None:
        return []
    return [
        {"bakeoff_id": None, "id": found.line, "task": task, "line": found.line, "found": found.found}
        for task in ledger.logged_tasks(db)
        for found in ledger.find_breaks(db, task)
    ]
