"""What people said against the grades and outcomes that should follow from it."""

from evalq.reviewed import find_stale
from evalq.store.database import Database, Row


def find_stale_reviews(db: Database, bakeoff_id: int | None) -> list[Row]:
    """Items with enough reviews whose grades still wait, or say something else."""
    return [
        {
            "bakeoff_id": reviewed.item.bakeoff_id,
            "id": reviewed.item.id,
            "token": reviewed.item.token,
            "case_id": reviewed.item.case_id,
            "found": found,
        }
        for reviewed, found in find_stale(db, bakeoff_id)
    ]
