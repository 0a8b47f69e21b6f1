"""The review desk: one answer at a time, blind, rated by keys or plain forms, the next card ready."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from evalq.errors import EvalqError, InputError, Refused
from evalq.review import Given, Offer, decline, next_item, rate, undo
from evalq.review.ratings import find_item
from evalq.review.reveal import Revealed, reveal
from evalq.store import bakeoffs, reviewers, reviews
from evalq.store.database import Database
from evalq.store.reviewers import SignedIn
from evalq.web import review_sign_in
from evalq.web.review_cards import Card, make_card
from evalq.web.review_sign_in import SIGN_IN, reviewer_of
from evalq.web.site import form_of, number_in_path, redirect, render, render_part, site_of, visitor_of

_MOST_QUEUES = 50


@dataclass(frozen=True)
class Desk:
    """A reviewer at one bake-off's items, of one grader or of all."""

    db: Database
    who: SignedIn
    bakeoff_id: int
    grader: str | None

    @property
    def path(self) -> str:
        """The page of the desk."""
        return f"/review/{self.bakeoff_id}"

    def offer(self, *, beside: int | None = None) -> Offer:
        """The next item for the reviewer, or the one after it."""
        return next_item(self.db, self.bakeoff_id, self.who.name, grader=self.grader, beside=beside)

    def pace_s(self) -> float | None:
        """How long the reviewer takes for an item."""
        return reviewers.median_pace_s(self.db, self.bakeoff_id, grader=self.grader, reviewer=self.who.name)


Page = Callable[[Request, Desk], Response]


def at_desk(page: Page) -> Callable[[Request], Response]:
    """Open the desk of the path for whoever is signed in; send everyone else to the sign-in page."""

    @wraps(page)
    def endpoint(request: Request) -> Response:
        db = site_of(request).db
        who = reviewer_of(request)
        if who is None:
            return redirect(SIGN_IN)
        bakeoff_id = number_in_path(request, "bakeoff")
        if not bakeoffs.exists(db, bakeoff_id):
            raise HTTPException(404, f"there is no bake-off {bakeoff_id}")
        return page(request, Desk(db, who, bakeoff_id, request.query_params.get("grader") or None))

    return endpoint


def list_queues(request: Request) -> Response:
    """The bake-offs that have something to review."""
    who = reviewer_of(request)
    if who is None:
        return redirect(SIGN_IN)
    db = site_of(request).db
    found = []
    for queue in reviewers.queues(db, limit=_MOST_QUEUES):
        progress = reviews.progress(db, who.name, bakeoff_id=queue.bakeoff_id, grader=None)
        found.append((queue, progress))
    return render(request, "review_queues.html", command="evalq review status last", who=who, queues=found)


@at_desk
def show_desk(request: Request, desk: Desk) -> Response:
    """The card to rate; after a rating without the script, also what the last card hid."""
    offer = desk.offer()
    after = request.query_params.get("after")
    last = _reveal(desk, after) if after else None
    return render(
        request,
        "review_desk.html",
        command=f"evalq review next {desk.bakeoff_id}",
        desk=desk,
        card=_card(offer),
        offer=offer,
        last=last,
        pace_s=desk.pace_s(),
    )


@at_desk
def send_card(request: Request, desk: Desk) -> Response:
    """A card alone: the current one, or the one after the card `beside`; 204 when there is none."""
    beside = request.query_params.get("beside")
    item_id = find_item(desk.db, beside).id if beside else None
    offer = desk.offer(beside=item_id)
    card = _card(offer)
    if card is None:
        return Response(status_code=204)
    return HTMLResponse(render_part("review_card.html", visitor=visitor_of(request), desk=desk, card=card))


@at_desk
def take_rating(request: Request, desk: Desk) -> Response:
    """Store a rating, or take an item back that the reviewer is unsure of or calls broken."""
    item, form = str(request.path_params["item"]), form_of(request)
    comment = form.get("comment", "").strip()

    def act() -> str:
        match form.get("decline"):
            case "unsure":
                decline(desk.db, desk.who.name, item, why="unsure", comment=comment)
            case "broken":
                decline(desk.db, desk.who.name, item, why="broken", comment=comment)
            case _:
                rate(desk.db, Given(item, desk.who.name, read_said(form), comment))
        return item

    return _answer(request, desk, act)


@at_desk
def take_back(request: Request, desk: Desk) -> Response:
    """Undo what the reviewer said last in this bake-off."""

    def act() -> str:
        undo(desk.db, desk.who.name, bakeoff_id=desk.bakeoff_id)
        return ""

    return _answer(request, desk, act)


def read_said(form: Mapping[str, str]) -> object:
    """The rating of a form: one value, or a number for each criterion."""
    criteria = {name.partition(":")[2]: text for name, text in form.items() if name.startswith("criterion:")}
    return criteria or form.get("rating", "")


def _answer(request: Request, desk: Desk, act: Callable[[], str]) -> Response:
    """Do it; the script gets the new counts as JSON, a plain form the next card."""
    is_script = request.headers.get("accept", "") == "application/json"
    try:
        item = act()
    except EvalqError as exc:
        if not is_script or not isinstance(exc, InputError | Refused):
            raise
        return JSONResponse({"error": str(exc)}, 409 if isinstance(exc, Refused) else 400)
    if not is_script:
        asked = f"?after={item}" if item else ""
        return redirect(f"{desk.path}{asked}")
    progress = reviews.progress(desk.db, desk.who.name, bakeoff_id=desk.bakeoff_id, grader=desk.grader)
    pace_s = desk.pace_s()
    last = _reveal(desk, item) if item else None
    return JSONResponse(
        {
            "done": progress.done,
            "left": progress.left,
            "pace": "" if pace_s is None else f"{pace_s:.0f} s",
            "last": render_part("review_last.html", last=last) if last else "",
        }
    )


def _card(offer: Offer) -> Card | None:
    return make_card(offer.item) if offer.item else None


def _reveal(desk: Desk, item: str) -> Revealed | None:
    try:
        return reveal(desk.db, item, desk.who.name)
    except InputError:
        return None


ROUTES = [
    *review_sign_in.ROUTES,
    Route("/review", list_queues),
    Route("/review/{bakeoff}", show_desk),
    Route("/review/{bakeoff}/card", send_card),
    Route("/review/{bakeoff}/undo", take_back, methods=["POST"]),
    Route("/review/{bakeoff}/items/{item}", take_rating, methods=["POST"]),
]
OPEN_PATHS = ("/review",)
