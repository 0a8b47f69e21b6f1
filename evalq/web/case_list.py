"""The cases of a bake-off by filter and page, and where one case is in such a list."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evalq.store import case_rollups
from evalq.store.case_rollups import CaseCounts, CaseRow, CaseShow
from evalq.web.bakeoff_view import BakeOffView

PAGE_ROWS = 50

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
class Neighbours:
    """Where a case is in the list of a filter, and the cases beside it."""

    place: int
    total: int
    previous: str | None
    following: str | None


def read_page(view: BakeOffView, show: CaseShow, *, after: int | None, before: int | None) -> CasePage:
    """The cases after a cursor, or before one, or the first ones."""
    if before is not None:
        rows = _rows_before(view, show, before, limit=PAGE_ROWS + 1)
        has_newer, has_older = len(rows) > PAGE_ROWS, True
        rows = rows[-PAGE_ROWS:]
    else:
        rows = _rows_after(view, show, -1 if after is None else after, limit=PAGE_ROWS + 1)
        has_newer, has_older = after is not None, len(rows) > PAGE_ROWS
        rows = rows[:PAGE_ROWS]
    newer = rows[0].ordinal if rows and has_newer else None
    older = rows[-1].ordinal if rows and has_older else None
    return CasePage(show, rows, count_cases(view), newer, older)


def find_neighbours(view: BakeOffView, ordinal: int, show: CaseShow) -> Neighbours:
    """The cases before and after one in the list of a filter."""
    before = _rows_before(view, show, ordinal, limit=1)
    after = _rows_after(view, show, ordinal, limit=1)
    return Neighbours(
        _count_before(view, show, ordinal) + 1,
        count_cases(view).of(show),
        before[0].case_id if before else None,
        after[0].case_id if after else None,
    )


def count_cases(view: BakeOffView) -> CaseCounts:
    """How many cases each filter has."""
    if view.is_final:
        view.ensure_rollups()
        stored = case_rollups.counts(view.site.db, view.id)
        return replace(stored, flipped=len(view.flipped))
    rows = view.live_rows()
    return CaseCounts(*(sum(row.is_shown(show) for row in rows) for show in get_args(CaseShow)))


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


def _rows_after(view: BakeOffView, show: CaseShow, ordinal: int, *, limit: int) -> Sequence[CaseRow]:
    if not view.is_final:
        return [row for row in view.live_rows() if row.is_shown(show) and row.ordinal > ordinal][:limit]
    view.ensure_rollups()
    if show == "flipped":
        start = bisect_right(view.flipped, ordinal)
        return case_rollups.rows_at(view.site.db, view.id, view.flipped[start : start + limit])
    return case_rollups.page_after(view.site.db, view.id, show, ordinal=ordinal, limit=limit)


def _rows_before(view: BakeOffView, show: CaseShow, ordinal: int, *, limit: int) -> Sequence[CaseRow]:
    if not view.is_final:
        return [row for row in view.live_rows() if row.is_shown(show) and row.ordinal < ordinal][-limit:]
    view.ensure_rollups()
    if show == "flipped":
        end = bisect_left(view.flipped, ordinal)
        return case_rollups.rows_at(view.site.db, view.id, view.flipped[max(0, end - limit) : end])
    return case_rollups.page_before(view.site.db, view.id, show, ordinal=ordinal, limit=limit)


def _count_before(view: BakeOffView, show: CaseShow, ordinal: int) -> int:
    if not view.is_final:
        return sum(row.is_shown(show) and row.ordinal < ordinal for row in view.live_rows())
    if show == "flipped":
        return bisect_left(view.flipped, ordinal)
    return case_rollups.count_before(view.site.db, view.id, show, ordinal=ordinal)
