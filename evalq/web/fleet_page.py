"""The fleet: its workers, its queues, the gates of the limiter and their breakers."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.bakeoff.progress import Gate, read_gates
from evalq.engines.fleet import QUEUES
from evalq.errors import Unreachable
from evalq.records import SANDBOX_QUEUE
from evalq.store import bakeoff_lists
from evalq.store.bakeoff_lists import GateJobs
from evalq.web.site import Site, render, site_of

FLOWER_URL = "http://127.0.0.1:5555/"
"""Where `evalq flower` listens unless it is told otherwise."""

_AGE_S = 3.0


@dataclass(frozen=True)
class FleetView:
    """What the broker knows; `problem` says why it knows nothing."""

    workers: tuple[str, ...] = ()
    queues: tuple[tuple[str, int], ...] = ()
    gates: tuple[Gate, ...] = ()
    problem: str | None = None


def show_fleet(request: Request) -> Response:
    """The state of the fleet, a few seconds old at most."""
    site = site_of(request)
    fleet = site.cache.get("fleet", lambda: read_fleet(site), age_s=_AGE_S)
    jobs: list[GateJobs] = bakeoff_lists.gate_jobs(site.db)
    return render(
        request, "fleet_page.html", command="evalq limits", fleet=fleet, jobs=jobs, flower_url=FLOWER_URL
    )


def read_fleet(site: Site) -> FleetView:
    """Ask the broker; a broker that is away is shown, not an error page."""
    broker = site.session.broker
    try:
        lengths = [(name, broker.queue_length(name)) for name in (*QUEUES, SANDBOX_QUEUE)]
        gates = tuple(read_gates(broker, site.session.settings))
        return FleetView(tuple(broker.workers()), tuple(lengths), gates)
    except Unreachable as exc:
        return FleetView(problem=str(exc))


ROUTES = [Route("/fleet", show_fleet)]
