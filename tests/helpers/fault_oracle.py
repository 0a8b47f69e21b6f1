"""The invariants, checked against what the provider's own ledger and the database say."""

from collections import Counter
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from fault_scene import PRICE, Scene

from evalq.bakeoff.conclude import result_of
from evalq.store.database import Database

_OPEN_ENDS = "('paused', 'capped', 'cancelled')"
_LOST = f"""
    SELECT count(*) FROM jobs j JOIN bakeoffs b ON b.id = j.bakeoff_id JOIN runs r ON r.id = j.run_id
    WHERE j.bakeoff_id = %s
      AND (j.state <> 'done' OR NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.job_id = j.id))
      AND b.state NOT IN {_OPEN_ENDS} AND r.state <> 'paused'
"""
_DUPLICATES = """
    SELECT (SELECT count(*) FROM (
                SELECT 1 FROM outcomes GROUP BY run_id, case_id, sample HAVING count(*) > 1) o)
         + (SELECT count(*) FROM (
                SELECT 1 FROM eval_runs GROUP BY bakeoff_id, judge_model HAVING count(*) > 1) e)
         + (SELECT greatest(count(*) - count(DISTINCT job_id), 0) FROM completions)
"""
_EARLY = """
    SELECT (SELECT count(*) FROM witnessed WHERE what = 'run concluded early')
         + (SELECT coalesce(sum(n - 1), 0) FROM (
                SELECT count(*) AS n FROM witnessed WHERE what IN ('run concluded', 'bake-off concluded')
                GROUP BY what, subject) w)
         + (SELECT count(*) FROM eval_runs e JOIN outcomes o ON o.run_id = e.id
            WHERE o.finished_at > e.finished_at AND e.state = 'concluded')
"""
_INVENTED = """
    SELECT count(*) FROM outcomes o LEFT JOIN completions k ON k.job_id = o.job_id
    WHERE o.bakeoff_id = %s AND o.verdict <> 'errored' AND k.state IS DISTINCT FROM 'answered'
"""
_JOURNAL = "SELECT key, count(*), count(DISTINCT job_id) FROM call_journal WHERE bakeoff_id = %s GROUP BY key"
_BUDGET = """
    SELECT b.cap_usd, b.spent_usd, b.reserved_usd,
           (SELECT coalesce(sum(cost_usd), 0) FROM call_journal c WHERE c.bakeoff_id = b.id),
           (SELECT count(*) FROM witnessed WHERE what = 'over the cap')
    FROM bakeoffs b WHERE b.id = %s
"""


@dataclass(frozen=True)
class Tally:
    """What a fault did to one bake-off; all but `repeated` must be nothing."""

    lost: int = 0
    duplicates: int = 0
    early: int = 0
    invented: int = 0
    repeated: int = 0
    unjournalled: int = 0
    beyond_kills: int = 0
    overspent: int = 0
    uncounted: int = 0
    differs: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept."""
        return all(getattr(self, one.name) == 0 for one in fields(self) if one.name != "repeated")


def tally(
    scene: Scene, bakeoff_id: int, *, expected: Any = None, allowed_repeats: int | None = None
) -> Tally:
    """Count what went wrong. `allowed_repeats` besides the calls in flight at the kills; None: any number."""
    billed = Counter(call["key"] for call in scene.simulator.calls() if call["billed"])
    sent = Counter(call["key"] for call in scene.simulator.calls())
    journal = {key: (rows, jobs) for key, rows, jobs in scene.sql(_JOURNAL, bakeoff_id)}
    repeated = sum(max(0, n - journal.get(key, (0, 0))[1]) for key, n in billed.items())
    cap, spent, reserved, summed, over = scene.sql(_BUDGET, bakeoff_id)[0]
    by_ledger = ledger_usd(scene)
    return Tally(
        lost=scene.sql(_LOST, bakeoff_id)[0][0],
        duplicates=scene.sql(_DUPLICATES)[0][0],
        early=int(scene.sql(_EARLY)[0][0]),
        invented=scene.sql(_INVENTED, bakeoff_id)[0][0],
        repeated=repeated,
        unjournalled=sum(max(0, n - journal.get(key, (0, 0))[0]) for key, n in sent.items()),
        beyond_kills=0
        if allowed_repeats is None
        else max(0, repeated - scene.in_flight_at_kills - allowed_repeats),
        overspent=int(by_ledger > cap) + int(spent + reserved > cap) + over,
        uncounted=int(spent < by_ledger) + int(spent != summed),
        differs=0 if expected is None else int(report(scene, bakeoff_id) != expected),
    )


def ledger_usd(scene: Scene) -> Decimal:
    """What the provider would bill, by its own account."""
    ledger = scene.simulator.ledger()
    tokens = (
        Decimal(ledger["input_tokens"]) * PRICE["input"] + Decimal(ledger["output_tokens"]) * PRICE["output"]
    )
    return tokens / 1_000_000


def report(scene: Scene, bakeoff_id: int) -> Any:
    """A bake-off's report without what another run of it may have otherwise: ids, times, dollars, calls."""
    db = Database(scene.engines.database_url)
    document = result_of(db, bakeoff_id).to_dict()
    db.close()
    verdicts = scene.sql(
        "SELECT r.judge, o.case_id, o.sample, o.verdict, o.error_kind "
        "FROM outcomes o JOIN runs r ON r.id = o.run_id WHERE o.bakeoff_id = %s ORDER BY 1, 2, 3",
        bakeoff_id,
    )
    runs = [{key: run[key] for key in _COMPARED} for run in document["runs"]]
    return {
        "runs": runs,
        "verdicts": verdicts,
        **{key: document[key] for key in ("state", "comparisons", "kappa", "n_done")},
    }


_COMPARED = (
    "judge",
    "n_cases",
    "n_pass",
    "n_fail",
    "n_error",
    "accuracy",
    "ci_low",
    "ci_high",
    "per_stratum",
    "errors",
)
