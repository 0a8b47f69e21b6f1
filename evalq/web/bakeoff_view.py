"""What the pages of one bake-off show: its numbers, its progress, its cases by filter and page."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evalq.bakeoff.conclude import ranked_runs, result_of, write_rollups
from evalq.bakeoff.progress import read_progress
from evalq.records import BakeOffRow, RunRow
from evalq.results import BakeOffResult, JudgeProgress, Progress
from evalq.stats.score_interval import wilson
from evalq.store import bakeoffs, case_rollups
from evalq.store.case_rollups import CaseCounts, CaseRow, CaseShow
from evalq.web.site import Site

PAGE_ROWS = 50
MOST_INTERIM_JOBS = 20_000
"""Above this many ended jobs the paired comparisons wait for the end: they would take seconds."""

_PROGRESS_AGE_S = 0.9
_INTERIM_AGE_S = 4.0
_MAX_ORDINAL = 2**31 - 2


@dataclass(frozen=True)
class CasePage:
    """One page of the cases that a filter lets through; the cursors are None at the ends."""

    show: CaseShow
    rows: Sequence[CaseRow]
    counts: CaseCounts
    newer: int | None
    older: int | None


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

    def page(self, show: CaseShow, *, after: int | None, before: int | None) -> CasePage:
        """The cases after a cursor, or before one, or the first ones."""
        if not self.is_final:
            return _page_of(self.live_rows(), show, after=after, before=before)
        self.ensure_rollups()
        db, counts = self.site.db, case_rollups.counts(self.site.db, self.id)
        if before is not None:
            rows = case_rollups.page_before(db, self.id, show, ordinal=before, limit=PAGE_ROWS + 1)
            more = len(rows) > PAGE_ROWS
            return _page(show, rows[-PAGE_ROWS:], counts, has_newer=more, has_older=True)
        start = -1 if after is None else after
        rows = case_rollups.page_after(db, self.id, show, ordinal=start, limit=PAGE_ROWS + 1)
        more = len(rows) > PAGE_ROWS
        return _page(show, rows[:PAGE_ROWS], counts, has_newer=after is not None, has_older=more)

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


def read_show(request: Request) -> CaseShow:
    """The filter of the address; 400 for one that does not exist."""
    text = request.query_params.get("filter", "all")
    for known in get_args(CaseShow):
        if text == known:
            show: CaseShow = known
            return show
    raise HTTPException(400, f"filter is one of {', '.join(get_args(CaseShow))}")


def read_cursor(request: Request, name: str) -> int | None:
    """A cursor of the address; 400 for anything that no page has given out."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 11 and int(text) <= _MAX_ORDINAL):
        raise HTTPException(400, f"{name} is not a place in the list; start from the first page")
    return int(text)


def _page_of(rows: Sequence[CaseRow], show: CaseShow, *, after: int | None, before: int | None) -> CasePage:
    shown = [row for row in rows if row.is_shown(show)]
    if before is not None:
        earlier = [row for row in shown if row.ordinal < before]
        return _page(
            show, earlier[-PAGE_ROWS:], _count(rows), has_newer=len(earlier) > PAGE_ROWS, has_older=True
        )
    later = [row for row in shown if after is None or row.ordinal > after]
    more = len(later) > PAGE_ROWS
    return _page(show, later[:PAGE_ROWS], _count(rows), has_newer=after is not None, has_older=more)


def _count(rows: Sequence[CaseRow]) -> CaseCounts:
    shows: Sequence[CaseShow] = ("all", "disagree", "any_fail", "all_fail", "errors")
    return CaseCounts(*(sum(row.is_shown(show) for row in rows) for show in shows))


def _page(
    show: CaseShow, rows: Sequence[CaseRow], counts: CaseCounts, *, has_newer: bool, has_older: bool
) -> CasePage:
    newer = rows[0].ordinal if rows and has_newer else None
    older = rows[-1].ordinal if rows and has_older else None
    return CasePage(show, rows, counts, newer, older)
