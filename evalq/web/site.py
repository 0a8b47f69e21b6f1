"""What every page is made with: the open session, the templates, and the replies to what goes wrong."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from evalq.definitions.money import money
from evalq.engines.session import Session
from evalq.errors import Contended, EvalqError, InputError, Refused, Unreachable
from evalq.reports.text import clean, duration, latency, one_line, percent, points, span
from evalq.store.database import Database
from evalq.web.security import SAFE_HEADERS, Visitor
from evalq.web.view_cache import ViewCache

log = logging.getLogger(__name__)

NAVIGATION = (
    ("Runs", "/"),
    ("Compare", "/compare"),
    ("Drift", "/drift"),
    ("Review", "/review"),
    ("Fleet", "/fleet"),
    ("Cost", "/cost"),
)

_MAX_ID_DIGITS = 18
"""Postgres has no larger number."""


@dataclass(frozen=True)
class Site:
    """What the pages read from and act on; `has_fleet` says whether workers would run a resumed bake-off."""

    session: Session
    has_fleet: Callable[[], bool]
    cache: ViewCache = field(default_factory=ViewCache)

    @property
    def db(self) -> Database:
        """The database."""
        return self.session.db


def site_of(request: Request) -> Site:
    """The site a request was sent to."""
    return cast("Site", request.app.state.site)


def visitor_of(request: Request) -> Visitor:
    """Who sent a request."""
    return cast("Visitor", request.state.visitor)


def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form; the doorkeeper has read it and checked its CSRF token."""
    return cast("Mapping[str, str]", request.state.form)


def number_in_path(request: Request, name: str) -> int:
    """A number of the path, such as a bake-off's; 404 for anything else."""
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_ID_DIGITS):
        raise HTTPException(404, f"{one_line(text, 40)!r} is not a number of a page here")
    return int(text)


def render(
    request: Request, template: str, *, command: str, status: int = 200, **values: object
) -> HTMLResponse:
    """A page; `command` is the command line that prints the same."""
    text = templates().get_template(template).render(
        request=request, visitor=visitor_of(request), command=command, navigation=NAVIGATION, **values
    )  # fmt: skip
    return HTMLResponse(text, status)


def render_part(template: str, **values: object) -> str:
    """A piece of a page, such as a row that changed."""
    return templates().get_template(template).render(**values)


def redirect(path: str) -> Response:
    """Go to another page of this site after a change."""
    return RedirectResponse(path, 303)


def error_page(request: Request, status: int, text: str, remedy: str = "") -> HTMLResponse:
    """A page that says what is wrong, without anything of the program's insides."""
    page = templates().get_template("error.html")
    return HTMLResponse(
        page.render(request=request, status=status, text=text, remedy=remedy, navigation=NAVIGATION), status
    )


def answer_http_error(request: Request, exc: Exception) -> Response:
    """The page for a request that is refused, and for one that finds nothing."""
    assert isinstance(exc, HTTPException)
    page = error_page(request, exc.status_code, exc.detail)
    page.headers.update(exc.headers or {})
    return page


def answer_evalq_error(request: Request, exc: Exception) -> Response:
    """404 for what is not there, 409 for what is refused or was faster, 503 when the database is away."""
    if isinstance(exc, InputError):
        return error_page(request, 404, str(exc))
    if isinstance(exc, Refused | Contended):
        return error_page(request, 409, str(exc))
    if isinstance(exc, Unreachable):
        log.warning("a page could not be made: %s", exc)
        return error_page(request, 503, "the database or the broker cannot be reached", "try again soon")
    assert isinstance(exc, EvalqError)
    return error_page(request, 500, "this page could not be made; the server's log says why")


def answer_bug(request: Request, exc: Exception) -> Response:
    """The page for our own bugs; the server logs the traceback, the client sees none of it."""
    del exc
    page = error_page(request, 500, "this page could not be made; the server's log says why")
    page.headers.update(SAFE_HEADERS)
    return page


def quote_part(text: object) -> str:
    """One part of a path, whatever is in it: slashes, spaces, quotes, @."""
    return quote(str(text), safe="@")


def case_url(bakeoff_id: int, case_id: str, **query: str) -> str:
    """The address of a case; a name that looks like a folder, or has several lines, goes into the query."""
    given = {name: text for name, text in query.items() if text and text != "all"}
    if case_id.strip("./") == "" or case_id.startswith("/") or "\n" in case_id:
        return f"/runs/{bakeoff_id}/cases/?" + urlencode({"case": case_id, **given})
    tail = f"?{urlencode(given)}" if given else ""
    return f"/runs/{bakeoff_id}/cases/{quote_part(case_id)}{tail}"


@cache
def templates() -> Environment:
    """The templates: everything put into them is escaped and cleaned of control characters."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean_value,
    )
    environment.filters.update(
        age=format_age,
        clean=clean,
        duration=duration,
        latency=latency,
        money=money,
        one_line=one_line,
        percent=percent,
        points=points,
        quoted=quote_part,
        span=span,
    )
    environment.globals.update(case_url=case_url)
    return environment


def _clean_value(value: Any) -> Any:
    """Model output may hold characters that reverse the reading order or that HTML does not allow."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def format_age(instant: datetime) -> str:
    """How long ago, in one unit: 40s, 2m, 5h, 3d."""
    seconds = max(0, int((datetime.now(UTC) - instant).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
