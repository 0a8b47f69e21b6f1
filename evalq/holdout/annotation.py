"""What a bake-off's result says of the holdout log: which look it was, and where the log stood at its end."""

import json
from dataclasses import replace

from evalq.evidence import BakeOffRow
from evalq.holdout import ledger
from evalq.holdout.entries import look_warning
from evalq.holdout.guard import is_holdout
from evalq.holdout.looks import record_result
from evalq.results import BakeOffResult
from evalq.store.database import Connection, Database


def close_bakeoff(tx: Connection, bakeoff: BakeOffRow, result: BakeOffResult) -> BakeOffResult:
    """Write the result of a look into the log as its bake-off concludes; the result as it is to be stored."""
    if is_holdout(bakeoff.eval_set_name):
        record_result(tx, bakeoff.task_name, bakeoff.uid, result)
    return annotate(tx, replace(bakeoff, result=None), result)


def annotate(db: Database | Connection, bakeoff: BakeOffRow, result: BakeOffResult) -> BakeOffResult:
    """The result with the head of the task's log, as it was at the end of the bake-off, and its look."""
    stored = json.loads(bakeoff.result) if bakeoff.result else None
    head = stored.get("holdout_head") if stored else ledger.head(db, bakeoff.task_name)
    if bakeoff.run_type != "final-decision":
        return replace(result, holdout_head=head)
    looks = ledger.read_history(db, bakeoff.task_name).looks(bakeoff.eval_set_name, bakeoff.eval_set_sha)
    uids = [look.bakeoff_uid for look in looks]
    number = uids.index(str(bakeoff.uid)) + 1 if str(bakeoff.uid) in uids else None
    warning = look_warning(bakeoff.eval_set_name, looks[: number - 1]) if number else None
    warnings = (*([warning] if warning else []), *result.warnings)
    return replace(result, holdout_head=head, holdout_look=number, warnings=warnings)
