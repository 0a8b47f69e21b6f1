"""The spool: keeps paid answers on the worker's own disk while the database is away."""

import asyncio
import json
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

import psycopg

from evalq.errors import Refused, Unreachable
from evalq.store import calls
from evalq.store.batches import Batches
from evalq.store.database import Database

log = logging.getLogger(__name__)

MIN_FREE_BYTES = 16_000_000
"""With less than this free on the spool's disk no call is paid for: its answer might be lost."""

_REMEDY = "free some space or set EVALQ_SPOOL_DIR, then `evalq resume`"


class Spool:
    """Settles calls; while the database is away each goes to a file of its own."""

    def __init__(self, folder: Path, db: Database, batches: Batches) -> None:
        # Call numbers are valid in one database only, and workers of several may share the folder.
        self._folder = folder / calls.installation(db)
        self._db = db
        self._batches = batches

    async def settle(self, call_id: int, settlement: calls.Settlement) -> None:
        """Store how a call ended; while the database is away, keep that on disk and raise Unreachable."""
        try:
            await self._batches.settle(call_id, settlement)
        except Unreachable:
            await asyncio.to_thread(self._keep, call_id, settlement)
            raise

    def require_room(self) -> None:
        """Refuse to pay for an answer that could not be kept."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            free = shutil.disk_usage(self._folder).free
        except OSError as exc:
            raise Refused(f"answers cannot be kept in {self._folder}: {exc.strerror}; {_REMEDY}") from exc
        if not os.access(self._folder, os.W_OK):
            raise Refused(f"answers cannot be kept in {self._folder}: it is read-only; {_REMEDY}")
        if free < MIN_FREE_BYTES:
            raise Refused(
                f"no room to keep answers: {self._folder} has {free // 1_000_000} MB free, "
                f"{MIN_FREE_BYTES // 1_000_000} are needed; {_REMEDY}"
            )

    def holds_answers(self) -> bool:
        """Whether answers wait on the disk: a look that is cheap enough for every job."""
        try:
            with os.scandir(self._folder) as entries:
                return any(entry.name.endswith(".json") for entry in entries)
        except OSError:  # no folder, or none that can be read; `require_room` says so before a call
            return False

    def replay(self) -> int:
        """Store what the disk holds, also that of dead workers; returns how many, or raises Unreachable."""
        return sum(self._store(path) for path in self._folder.glob("*.json"))

    def _keep(self, call_id: int, settlement: calls.Settlement) -> None:
        draft = self._folder / f"{call_id}.{os.getpid()}.draft"
        try:
            with draft.open("w", encoding="utf-8") as file:
                json.dump(settlement, file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._folder / f"{call_id}.json")
        except OSError as exc:
            with suppress(OSError):
                draft.unlink()
            log.error("call=%s: its answer is lost, %s; it counts as spent", call_id, exc.strerror)

    def _store(self, path: Path) -> bool:
        try:
            calls.settle(self._db, int(path.stem), json.loads(path.read_text("utf-8")))
        except FileNotFoundError:  # another worker was faster
            return False
        except (OSError, ValueError, TypeError, KeyError, psycopg.Error) as exc:
            # One bad file must not keep the others from being stored, nor the worker from working.
            log.error("%s cannot be stored and is set aside: %s", path, type(exc).__name__)
            with suppress(OSError):
                path.rename(path.with_suffix(".unreadable"))
            return False
        with suppress(OSError):
            path.unlink()
        return True
