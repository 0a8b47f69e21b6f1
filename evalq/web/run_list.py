"""The list of bake-offs, newest first."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.web.site import render


def show_runs(request: Request) -> Response:
    """The first page: every bake-off, filtered and paged by the address."""
    return render(request, "run_list.html", command="evalq runs")


ROUTES = [Route("/", show_runs)]
