"""The list of bake-offs, newest first, filtered and paged by the address."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.store import bakeoff_lists
from evalq.store.bakeoff_lists import BakeOffFilter, BakeOffLine
from evalq.web.case_list import read_cursor
from evalq.web.site import render, site_of

PAGE_ROWS = 30
STATES = ("running", "paused", "capped", "cancelled", "concluded")

_FACETS = {"task": "task", "set": "eval_set", "type": "run_type", "state": "state", "search": "search"}


def show_runs(request: Request) -> Response:
    """The first page."""
    db, asked = site_of(request).db, request.query_params
    chosen = {field: asked.get(name) or None for name, field in _FACETS.items()}
    before = read_cursor(request, "before")
    lines = bakeoff_lists.page(db, BakeOffFilter(**chosen, before=before), limit=PAGE_ROWS + 1)
    kept = {name: asked[name] for name in _FACETS if asked.get(name)}
    older = None
    if len(lines) > PAGE_ROWS:
        older = "/?" + urlencode({**kept, "before": lines[PAGE_ROWS - 1].id})
    return render(
        request,
        "run_list.html",
        command=f"evalq runs --limit {PAGE_ROWS}",
        lines=lines[:PAGE_ROWS],
        facets={**bakeoff_lists.facets(db), "state": list(STATES)},
        chosen=kept,
        older=older,
        newest="/?" + urlencode(kept) if before is not None else None,
        describe_state=describe_state,
    )


def describe_state(line: BakeOffLine) -> tuple[str, str, str]:
    """A sign, words, and whether that is good, a problem or neither."""
    if line.state == "concluded":
        return ("!", "done, partial", "bad") if line.is_partial else ("✓", "done", "good")
    share = f"{line.n_done}/{line.n_jobs}"
    if line.state == "running":
        return "▸", f"running {share}", "good"
    return "!", f"{line.state} {share}", "bad"


ROUTES = [Route("/", show_runs)]
