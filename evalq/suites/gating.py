"""What a gate demands of a suite: its own thresholds, over its context's, over those of the suite."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from evalq.errors import InputError, Problem
from evalq.importers.suite import Suite
from evalq.importers.suite_config import Thresholds
from evalq.importers.suite_library import context_thresholds
from evalq.importers.suite_metrics import Metric, demands, read_metric, spelled
from evalq.importers.suite_phase import GateForm
from evalq.reports.gate import Demand
from evalq.reports.suite_outcomes import SuiteRun
from evalq.results import plain
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.suites.collecting import outcomes_of_bakeoff


def demanded(
    form: GateForm | None,
    suite: Suite | None,
    *,
    context: str | None = None,
    given: Mapping[str, float] | None = None,
) -> list[Demand]:
    """Every metric that is demanded or shown. What is given by hand goes over all, a context named by hand
    over what files say.

    InputError when nothing is demanded at all: a gate without a threshold would let everything pass.
    """
    shared = suite.thresholds if suite else Thresholds()
    sources = [
        shared.metrics,
        context_thresholds(form.context, shared) if form and form.context else {},
        form.thresholds if form else {},
        context_thresholds(context, shared) if context else {},
        given or {},
    ]
    found: dict[Metric, float] = {}
    for source in sources:
        found |= demands(source, k=shared.k)
    if not found:
        remedy = "give --context production, or --set pass_at_1=0.9, or write thresholds"
        raise InputError(Problem("nothing is demanded", remedy, suite.file if suite else ""))
    wanted: dict[Metric, float | None] = dict(sorted(found.items(), key=lambda item: item[0].place))
    for name in form.shown_metrics if form else ():
        wanted.setdefault(read_metric(name, k=shared.k), None)
    return [Demand(metric.key, metric.label, threshold) for metric, threshold in wanted.items()]


def samples_for(wanted: Sequence[Demand], k: int = 1) -> int:
    """How many answers per eval it takes to know every metric."""
    metrics = [read_metric(one.key) for one in wanted]
    return max((k, *(metric.samples for metric in metrics)))


def read_given(pairs: Sequence[str]) -> dict[str, float]:
    """`metric=share` pairs of the command line."""
    found = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            key, share = spelled(name.strip()), float(text)
        except ValueError:
            raise InputError(
                Problem(f"--set {pair!r} is no threshold", "write for instance --set pass_at_1=0.9")
            ) from None
        if not 0 <= share <= 1:
            raise InputError(Problem(f"--set {pair!r} is no share", "write a number from 0 to 1"))
        found[key] = share
    return found


def run_of_bakeoff(db: Database, bakeoff_id: int, ks: Sequence[int]) -> SuiteRun:
    """A bake-off that is already there as the run of a suite."""
    row = bakeoffs.get(db, bakeoff_id)
    created: datetime = row.created_at
    return SuiteRun(
        row.task_name,
        f"eval-{created:%Y%m%d-%H%M%S}",
        f"{created:%Y-%m-%dT%H:%M:%S}Z",
        max(0.0, (row.read_at - created).total_seconds()),
        outcomes_of_bakeoff(db, bakeoff_id),
        samples=row.samples,
        bakeoffs=(bakeoff_id,),
        spent_usd=str(plain(row.spent_usd)),
        ks=tuple(ks),
    )
