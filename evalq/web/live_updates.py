"""Live updates of a bake-off's page: Server-Sent Events with the parts that changed, at most one a second."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from evalq.errors import Unreachable
from evalq.web.bakeoff_view import open_view
from evalq.web.run_page import live_values
from evalq.web.site import Site, number_in_path, render_part, site_of

EVERY_S = 1.0
MAX_MESSAGE_BYTES = 4096
MOST_STREAMS = 64
"""Tabs that may be open at once; further ones are told to come back later."""

LONGEST_S = 3600.0
"""A browser opens an ended stream again by itself."""

_open_streams: set[int] = set()


class ChangedParts:
    """Knows what a tab has been sent, and picks what is new and fits into one message."""

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}

    def pick(self, parts: dict[str, str]) -> dict[str, str]:
        """The changed parts, as many as one message may hold; the rest waits for the next second."""
        chosen: dict[str, str] = {}
        for name, html in parts.items():
            digest = hashlib.sha256(html.encode()).hexdigest()
            if self._sent.get(name) == digest:
                continue
            if chosen and len(format_message({**chosen, name: html})) > MAX_MESSAGE_BYTES:
                break
            chosen[name] = html
            self._sent[name] = digest
        return chosen


def format_message(parts: dict[str, str], event: str = "parts") -> str:
    """One event; JSON keeps line ends out of it."""
    return f"event: {event}\ndata: {json.dumps(parts, ensure_ascii=False)}\n\n"


def render_parts(site: Site, bakeoff_id: int) -> tuple[bool, dict[str, str]]:
    """Whether the page must be drawn anew, and its parts by the id of their element."""
    view = open_view(site, bakeoff_id)
    if view.bakeoff.state != "running":
        return True, {}
    values = live_values(view)
    return False, dict(_list_parts(values, view.progress.judges))


def _list_parts(values: dict[str, Any], judges: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    yield "live-head", render_part("parts/live_head.html", **values)
    for place, judge in enumerate(judges, start=1):
        yield f"judge-{place}", render_part("parts/live_judge.html", judge=judge, **values)


async def stream_updates(request: Request) -> Response:
    """The updates of one bake-off, until it stops or the tab is closed."""
    site, bakeoff_id = site_of(request), number_in_path(request, "bakeoff")
    await asyncio.to_thread(open_view, site, bakeoff_id)
    if len(_open_streams) >= MOST_STREAMS:
        raise HTTPException(503, "too many pages are open; this one does not update by itself")
    return StreamingResponse(_updates(request, site, bakeoff_id), media_type="text/event-stream")


async def _updates(request: Request, site: Site, bakeoff_id: int) -> AsyncIterator[str]:
    changed, ends_at = ChangedParts(), asyncio.get_running_loop().time() + LONGEST_S
    _open_streams.add(id(changed))
    try:
        yield "retry: 2000\n\n"
        while asyncio.get_running_loop().time() < ends_at and not await request.is_disconnected():
            try:
                is_over, parts = await asyncio.to_thread(render_parts, site, bakeoff_id)
            except Unreachable:
                is_over, parts = False, {}
            if is_over:
                yield format_message({}, "redraw")
                return
            if chosen := changed.pick(parts):
                yield format_message(chosen)
            await asyncio.sleep(EVERY_S)
    finally:
        _open_streams.discard(id(changed))


ROUTES = [Route("/runs/{bakeoff}/events", stream_updates)]
