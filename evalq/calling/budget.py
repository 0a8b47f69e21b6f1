"""Dollars before every call: a reservation under the caps, waited for while other calls hold the room."""

import time

from evalq.errors import PutBack
from evalq.store import calls
from evalq.store.database import Database
from evalq.store.jobs import Job

_POLL_S = 0.1
_PATIENCE_S = 5.0
"""Room comes back when a call settles below its worst case: waiting beats going back in line."""

_BACK_IN_LINE_S = 1.0


def reserve(db: Database, job: Job, call: calls.Call) -> int:
    """Set a call's worst case aside and open its journal row; return its id.

    Raises CapReached when it would not fit even alone, PutBack when it must wait or the bake-off stopped.
    """
    for _ in range(round(_PATIENCE_S / _POLL_S)):
        call_id = calls.reserve(db, job, call)
        if call_id is not None:
            return call_id
        time.sleep(_POLL_S)
    raise PutBack("calls in flight hold the rest of the cap", wait_s=_BACK_IN_LINE_S)
