"""Baselines and comparisons as rows for people and programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evalq.importers.suite import Suite
from evalq.importers.suite_forms import RegressionForm
from evalq.reports.suite import reason_of
from evalq.reports.suite_outcomes import SuiteRun
from evalq.store.baselines import Baseline
from evalq.suites.baselines import Baselines


@dataclass(frozen=True)
class BaselineRow:
    """What an eval is compared with, and how it has done since. `source` is captured, inline or none."""

    eval_id: str
    judge: str | None
    source: str
    version: str | None
    captured_at: str | None
    criticality: str | None
    last_passed: str | None
    failure_count: int
    environment: dict[str, Any] = field(default_factory=dict)
    output: Any = None


@dataclass(frozen=True)
class ComparisonRow:
    """How an eval did against its baseline."""

    eval_id: str
    judge: str
    status: str
    reason: str
    criticality: str | None
    last_passed: str | None
    failure_count: int


def baseline_rows(suite: Suite, known: Baselines) -> list[BaselineRow]:
    """Every baseline of a suite, and every regression that has none."""
    rows: list[BaselineRow] = []
    for one in suite.evals:
        if one.regression is not None:
            found = [each for each in known.captured.values() if each.eval_id == one.id]
            captured = [_captured_row(each, one.regression) for each in found]
            rows += captured or [_inline_row(one.id, one.regression)]
    return rows


def comparison_rows(done: SuiteRun, known: Baselines) -> Iterator[ComparisonRow]:
    """Every regression of a run, for each judge."""
    each = {(one.id, one.answered_by): one for found in done.judges for one in found.evals}
    for key, one in each.items():
        stands = known.captured.get(key)
        yield ComparisonRow(
            *key,
            one.status,
            "" if one.status == "passed" else reason_of(one),
            one.criticality,
            stands.last_passed.isoformat() if stands and stands.last_passed else None,
            stands.failure_count if stands else 0,
        )


def _captured_row(found: Baseline, form: RegressionForm) -> BaselineRow:
    is_captured = found.output is not None
    own = form.baseline
    return BaselineRow(
        found.eval_id,
        found.judge,
        "captured" if is_captured else "inline",
        found.version if is_captured else form.baseline_version or own.version,
        found.captured_at.isoformat() if found.captured_at else own.captured_at,
        form.metadata.criticality,
        found.last_passed.isoformat() if found.last_passed else form.metadata.last_passed,
        found.failure_count,
        dict(found.environment) if is_captured else own.environment,
        found.output if is_captured else own.output,
    )


def _inline_row(eval_id: str, form: RegressionForm) -> BaselineRow:
    own, about = form.baseline, form.metadata
    return BaselineRow(
        eval_id,
        None,
        "none" if own.output is None else "inline",
        form.baseline_version or own.version,
        own.captured_at,
        about.criticality,
        about.last_passed,
        about.failure_count,
        own.environment,
        own.output,
    )
