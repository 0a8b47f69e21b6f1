"""What the pages of one bake-off show: its numbers, its progress, and what changed since the one before."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from evalq.bakeoff.conclude import ranked_runs, result_of, write_rollups
from evalq.bakeoff.progress import read_progress
from evalq.records import BakeOffRow, RunRow
from evalq.results import BakeOffResult, JudgeProgress, Progress
from evalq.stats.score_interval import wilson
from evalq.store import bakeoffs, case_rollups
from evalq.store.case_rollups import CaseRow
from evalq.web.site import Site

MOST_INTERIM_JOBS = 20_000
"""Above this many ended jobs the paired comparisons wait for the end: they would take seconds."""

_PROGRESS_AGE_S = 0.9
_INTERIM_AGE_S = 4.0
_FLIPPED_AGE_S = 30.0


@dataclass(frozen=True)
class BakeOffView:
    """A bake-off read for a page; what takes long is read when it is first needed."""

    site: Site
    bakeoff: BakeOffRow
    runs: Sequence[RunRow]

    @property
    def id(self) -> int:
        """Its number."""
        return self.bakeoff.id

    @property
    def is_final(self) -> bool:
        """Whether it is concluded: its numbers are stored."""
        return self.bakeoff.state == "concluded"

    @cached_property
    def progress(self) -> Progress:
        """How far it is, read at most once a second however many tabs are open."""
        return self.site.cache.get(
            ("progress", self.id, self.bakeoff.state),
            lambda: read_progress(self.site.db, self.id),
            age_s=_PROGRESS_AGE_S,
        )

    @cached_property
    def result(self) -> BakeOffResult | None:
        """Its numbers, interim while it is on its way; None when computing them would take too long."""
        if self.is_final:
            return result_of(self.site.db, self.id)
        if self.progress.done > MOST_INTERIM_JOBS or not self.progress.done:
            return None
        return self.site.cache.get(
            ("result", self.id, self.bakeoff.state),
            lambda: result_of(self.site.db, self.id),
            age_s=_INTERIM_AGE_S,
        )

    def ranked(self) -> list[int]:
        """The runs in the ranking; before there are numbers, every run that is not broken."""
        if self.result is not None:
            return ranked_runs(self.result)
        broken = {judge.judge for judge in self.progress.judges if judge.broken}
        return [run.id for run in self.runs if run.judge not in broken]

    @cached_property
    def previous(self) -> int | None:
        """The bake-off before it on the same task and cases, if it is concluded itself."""
        return case_rollups.previous_bakeoff(self.site.db, self.id) if self.is_final else None

    @cached_property
    def flipped(self) -> Sequence[int]:
        """The ordinals of cases that a judge passed in one and failed in the other of the two."""
        previous = self.previous
        if previous is None:
            return ()
        return self.site.cache.get(
            ("flipped", self.id, previous),
            lambda: case_rollups.flipped(self.site.db, self.id, previous),
            age_s=_FLIPPED_AGE_S,
        )

    def live_rows(self) -> Sequence[CaseRow]:
        """The cases of a bake-off on its way."""
        return self.site.cache.get(
            ("cases", self.id, self.bakeoff.state),
            lambda: case_rollups.live_rows(self.site.db, self.id, self.ranked()),
            age_s=_INTERIM_AGE_S,
        )

    def ensure_rollups(self) -> None:
        """Write the rows of a bake-off that an older version concluded."""
        if not case_rollups.has_rows(self.site.db, self.id):
            write_rollups(self.site.db, self.id, self.ranked())


def open_view(site: Site, bakeoff_id: int) -> BakeOffView:
    """A bake-off by its number; InputError when there is none."""
    return BakeOffView(site, bakeoffs.get(site.db, bakeoff_id), bakeoffs.runs(site.db, bakeoff_id))


def projected_usd(progress: Progress) -> Decimal | None:
    """What the bake-off will have spent at its end, at the price of the jobs so far; None before any."""
    total = Decimal(0)
    for judge in progress.judges:
        if judge.broken or judge.done == judge.total:
            total += judge.cost_usd
        elif judge.done:
            total += judge.cost_usd * judge.total / judge.done
        else:
            return None
    return total


def eta_s(progress: Progress) -> float | None:
    """Seconds until the slowest judge is done, at its pace so far; None while one has not begun."""
    slowest = 0.0
    for judge in progress.judges:
        if judge.broken or judge.done == judge.total:
            continue
        if not judge.done:
            return None
        slowest = max(slowest, progress.elapsed_s / judge.done * (judge.total - judge.done))
    return slowest


def interim_rate(judge: JudgeProgress) -> tuple[float, float, float] | None:
    """A judge's pass rate so far with its interval; None before its first verdict."""
    n = judge.n_pass + judge.n_fail
    if not n:
        return None
    ends = wilson(judge.n_pass, n)
    return judge.n_pass / n, ends.low, ends.high
