"""Watching a drift check on the screen, and showing its verdicts."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from evalq.alerts.delivery import deliver
from evalq.broker import Broker
from evalq.cli.interrupt import first_interrupt
from evalq.cli.json_output import json_text
from evalq.cli.looking import complete_logs
from evalq.conclusion import result_of
from evalq.keys import environment_with_keys
from evalq.plan import Plan
from evalq.reports.live import choose_view
from evalq.reports.text import one_line
from evalq.session import Session
from evalq.verification import Checked, exit_code, follow_check

SCHEMA = "evalq.verify/1"


def watch_check(session: Session, broker: Broker, bakeoff_id: int, *, display: Any) -> int | None:
    """Follow a check and its confirmations to the end; the bake-off to resume if Ctrl-C paused one."""
    with first_interrupt() as interrupt:
        with choose_view(display, sys.stderr, os.environ) as view:
            took = follow_check(session, broker, bakeoff_id, show=view.update, is_interrupted=interrupt)
        results = [result_of(session.db, each) for each in took]
        complete_logs(session.db, results[-1])
        # The fleet would do it a little later; an embedded one ends with this command.
        deliver(session.db, session.settings.alerts, environment_with_keys(os.environ))
        return took[-1] if interrupt() and results[-1].state != "concluded" else None


@dataclass(frozen=True)
class Verdicts:
    """The checks of one bake-off."""

    plan: Plan
    rule: str
    bakeoff_id: int
    found: Sequence[Checked]

    def show(self, *, as_json: bool, quiet: bool) -> None:
        """One line per judge on stdout, or the document; when quiet only what got worse."""
        if as_json:
            click.echo(json_text(self.document()))
            return
        for one in self.found:
            if one.is_regression or not quiet:
                click.echo(one_line(one.line, 600))
        if not quiet:
            click.echo(f"next  {self._next()}", err=True)

    def document(self) -> dict[str, Any]:
        """The `evalq.verify/1` document."""
        return {
            "schema": SCHEMA,
            "task": self.plan.task.name,
            "eval_set": self.plan.evalset.name,
            "rule": self.rule,
            "bakeoff_id": self.bakeoff_id,
            "exit_code": exit_code(self.found),
            "checks": [one.document() for one in self.found],
            "next": [self._next()],
        }

    def _next(self) -> str:
        """Look at what got worse; what is inconclusive for want of earlier runs is to be checked again."""
        if any(one.is_regression for one in self.found):
            return f"evalq inspect {self.bakeoff_id} --show-failures"
        return f"evalq drift status --task {self.plan.task.name}"
