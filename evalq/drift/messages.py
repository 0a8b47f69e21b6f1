"""Texts of drift checks: the line of a check, the text of an alert, the command that confirms it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

AlertKind = Literal["drift", "watch", "blocked"]
"""A judge got worse · it may have, unconfirmed · the check could not be made."""

_RULES = {
    "seed": "five points under the median of the last four",
    "confirm": "four fresh repeats, exact paired test",
    "sequential": "evidence since the accepted run, alert at M = 200",
}


@dataclass(frozen=True)
class CheckSubject:
    """Which judge was checked on which set, by which rule and run."""

    task: str
    eval_set: str
    judge: str
    rule: str
    run_id: int

    @property
    def confirm_command(self) -> str:
        """The command to run before acting on it."""
        words = ["verify", "--task", self.task, "--judges", self.judge, "--eval-set", self.eval_set]
        return shlex.join(["evalq", *words, "--rule", "confirm"])


def check_line(subject: CheckSubject, verdict: str | None, numbers: Mapping[str, Any]) -> str:
    """A check on one line: verdict, rates with n, the evidence, the smallest drop it could detect."""
    head = f"{(verdict or 'open').upper()} {subject.judge} on {subject.task}/{subject.eval_set}"
    if "rate_to" not in numbers:
        return f"{head}: {numbers.get('detail', 'under way')} (run {subject.run_id})"
    parts = [_rates(numbers), f"n={numbers['n']}{_left_out(numbers)}", *_evidence(numbers)]
    unsure = f"; {numbers['detail']}" if verdict == "inconclusive" else ""
    beside = "".join(f"; {note}" for note in numbers.get("provider", {}).get("notes", []))
    return f"{head}: {', '.join(parts)}; {_sight(numbers)}{unsure}{beside} (run {subject.run_id})"


def alert_text(
    kind: AlertKind, subject: CheckSubject, numbers: Mapping[str, Any], *, head: str | None = None
) -> str:
    """The alert: what dropped, by how much, how certain that is, and the command to run next."""
    what = f"{subject.judge} on {subject.task}/{subject.eval_set}"
    notes = [*numbers.get("provider", {}).get("notes", []), *_task_note(numbers)]
    lines = [
        *_headline(kind, what, numbers),
        f"run {subject.run_id}, rule {subject.rule}: {_RULES[subject.rule]}",
        *([] if kind == "blocked" else [_sight(numbers)]),
        *([f"beside it: {'; '.join(notes)}"] if notes else []),
        *([f"holdout log head {head}"] if head else []),
        f"{'check again' if kind == 'blocked' else 'confirm before acting'}: {subject.confirm_command}",
    ]
    if kind == "drift":
        lines.append(f"or look once at the whole holdout: {_final_command(subject)}")
    return "\n".join(lines)


def _headline(kind: AlertKind, what: str, numbers: Mapping[str, Any]) -> list[str]:
    if kind == "blocked":
        return [f"P0 CHECK COULD NOT BE MADE: {what}", str(numbers.get("detail", "no reason known"))]
    name = "P0 DRIFT" if kind == "drift" else "WATCH, not confirmed"
    facts = ", ".join([_rates(numbers), f"n={numbers['n']}{_left_out(numbers)}", *_evidence(numbers)])
    return [f"{name}: {what} dropped", facts]


def _rates(numbers: Mapping[str, Any]) -> str:
    before, now, drop = 100 * numbers["rate_from"], 100 * numbers["rate_to"], numbers["drop_pp"]
    return f"{before:.1f}% → {now:.1f}% ({0.0 - drop:+.1f} pp)"


def _left_out(numbers: Mapping[str, Any]) -> str:
    missing = numbers["n_cases"] - numbers["n"]
    return f" ({missing} of {numbers['n_cases']} cases errored and were left out)" if missing else ""


def _evidence(numbers: Mapping[str, Any]) -> list[str]:
    weeks = f"{numbers['weeks']} check{'s' * (numbers['weeks'] != 1)}" if "level" in numbers else ""
    level = [f"M={numbers['level']:.3g} after {weeks}"] if weeks else []
    fresh = [f"{numbers['fresh_answers']} fresh answers"] if "fresh_answers" in numbers else []
    return [*fresh, f"p={numbers['p']:.2g}", *level]


def _sight(numbers: Mapping[str, Any]) -> str:
    smallest = numbers.get("smallest_drop_pp")
    if smallest is None:
        return "too few cases to see any drop with 80 % power"
    return f"sees drops of {smallest:.1f} pp and more with 80 % power"


def _task_note(numbers: Mapping[str, Any]) -> list[str]:
    return ["the task's own text changed since the baseline"] if numbers.get("task_changed") else []


def _final_command(subject: CheckSubject) -> str:
    whole = subject.eval_set if subject.eval_set.startswith("holdout-") else "holdout-…"
    words = f"--task {shlex.quote(subject.task)} --eval-set {whole} --judges {shlex.quote(subject.judge)}"
    return f"evalq bake-off {words} --final-decision"
