"""One run of a suite from its parts to its report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Any

from evalq.alerts.raising import raise_alert
from evalq.importers.suite import Suite
from evalq.importers.suite_evals import SuiteEval
from evalq.reports.suite_outcomes import JudgeOutcomes, SuiteRun
from evalq.reports.suite_words import headline
from evalq.results import plain
from evalq.store.database import Database
from evalq.suites.answering import Respondent
from evalq.suites.collecting import outcomes_by_judge
from evalq.suites.planning import Part, Planned, retries_of
from evalq.suites.running import Fleet, Rounds, committed, run_rounds


@dataclass(frozen=True)
class Asked:
    """What is run: the suite, which of its evals, who answers them, and the bake-offs that takes."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    found: tuple[Respondent, ...]
    planned: Planned
    samples: int = 1

    @property
    def parts(self) -> Sequence[Part]:
        """The bake-offs."""
        return self.planned.parts


def run(fleet: Fleet, asked: Asked, *, started: datetime) -> tuple[SuiteRun, Rounds]:
    """Run the parts and their retries; what was not reached is there as skipped."""
    begun = time.monotonic()
    rounds = run_rounds(fleet, asked.parts, retries_of=lambda one: retries_of(asked.suite, one))
    db = fleet.session.db
    judges = outcomes_by_judge(db, asked.found, rounds.rounds)
    spent = committed(db, rounds.ids)
    return (
        SuiteRun(
            asked.suite.name,
            f"eval-{started:%Y%m%d-%H%M%S}",
            f"{started:%Y-%m-%dT%H:%M:%S}Z",
            time.monotonic() - begun,
            judges,
            asked.suite.version,
            asked.samples,
            rounds.ids,
            str(plain(spent)),
            rounds.is_stopped,
            asked.suite.reporting.include_details,
            {"evalq": version("evalq")},
            asked.suite.warnings,
        ),
        rounds,
    )


def exit_code(judges: Sequence[JudgeOutcomes], rounds: Rounds) -> int:
    """1 when an eval failed, 4 at the cap, 3 when some have no verdict, else 0."""
    evals = [one for found in judges for one in found.evals]
    if rounds.is_capped:
        return 4
    if any(one.status == "failed" for one in evals):
        return 1
    return 3 if rounds.is_stopped or any(one.status == "skipped" for one in evals) else 0


def notify(db: Database, document: Mapping[str, Any], *, what: str = "failed") -> str | None:
    """Raise an alert about a run, once however often; its text, None when it was raised before."""
    report = document["eval_report"]
    about = report["metadata"]
    text = f"suite {what}: {headline(report)}"
    facts = {
        "kind": "suite",
        "suite": about["suite_name"],
        "run_id": about["run_id"],
        "summary": report["summary"],
        "failures": [{"eval_id": one["eval_id"], "reason": one["reason"]} for one in report["failures"][:20]],
    }
    bakeoffs = ",".join(str(one) for one in about.get("bakeoffs", ()))
    key = f"suite/{about['suite_name']}/{about['run_id']}/{bakeoffs}/{what}"
    with db.transaction() as tx:
        return text if raise_alert(tx, key=key, text=text, document=facts) else None
