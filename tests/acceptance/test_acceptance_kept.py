"""A fleet that `evalq up` keeps: it looks after bake-offs that nobody watches."""

from typing import Any

from patience import PATIENCE_S

from evalq.engines.processes import wait_until

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges")
LOSE = """
WITH lost AS (
    UPDATE jobs SET state = 'leased', lease_until = now() - interval '1 minute' WHERE state <> 'done'
)
UPDATE bakeoffs SET state = 'running' WHERE id = %s RETURNING id
"""


def test_what_was_lost_while_nobody_watched_is_brought_back(served: Any) -> None:
    bakeoff_id = served.run(*BAKE, "slow", "--samples", "8", "--detach").stdout.strip()
    served.run("cancel", bakeoff_id)
    assert served.rows(LOSE, bakeoff_id) == [(int(bakeoff_id),)]
    state = "SELECT state FROM bakeoffs WHERE id = %s"
    assert wait_until(
        lambda: served.rows(state, bakeoff_id) == [("concluded",)], timeout_s=PATIENCE_S, every_s=0.2
    )
    assert served.rows("SELECT count(*) FROM outcomes WHERE bakeoff_id = %s", bakeoff_id) == [(96,)]
