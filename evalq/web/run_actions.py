"""The buttons of a bake-off: pause, resume, cancel, retry, and sending a case to review."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.bakeoff import control, launch
from evalq.errors import Refused
from evalq.review.label_queue import send_to_review
from evalq.store import bakeoffs
from evalq.web.site import Site, form_of, number_in_path, redirect, site_of

Action = Callable[[Site, int], None]


def _pause(site: Site, bakeoff_id: int) -> None:
    control.pause(site.session, bakeoff_id, judges=[])


def _cancel(site: Site, bakeoff_id: int) -> None:
    control.cancel(site.db, bakeoff_id)


def _resume(site: Site, bakeoff_id: int) -> None:
    _require_fleet(site, f"evalq resume {bakeoff_id}")
    launch.restart(site.session, bakeoff_id, cap_usd=None)


def _retry(site: Site, bakeoff_id: int) -> None:
    _require_fleet(site, f"evalq retry {bakeoff_id} --errors")
    launch.retry_errors(site.session, bakeoff_id, judges=[], cap_usd=None)


def _require_fleet(site: Site, command: str) -> None:
    if not site.has_fleet():
        raise Refused(f"no fleet would run it: start one with `evalq up`, or use `{command}` in a terminal")


def _make_route(name: str, act: Action) -> Route:
    def endpoint(request: Request) -> Response:
        site, bakeoff_id = site_of(request), number_in_path(request, "bakeoff")
        bakeoffs.get(site.db, bakeoff_id)
        act(site, bakeoff_id)
        return redirect(f"/runs/{bakeoff_id}")

    return Route(f"/runs/{{bakeoff}}/{name}", endpoint, methods=["POST"])


def ask_people(request: Request) -> Response:
    """Put the answers to one case before reviewers."""
    bakeoff_id = number_in_path(request, "bakeoff")
    send_to_review(site_of(request).db, bakeoff_id, form_of(request).get("case", ""))
    return redirect("/review")


ROUTES = [
    _make_route("pause", _pause),
    _make_route("resume", _resume),
    _make_route("cancel", _cancel),
    _make_route("retry", _retry),
    Route("/runs/{bakeoff}/review", ask_people, methods=["POST"]),
]
