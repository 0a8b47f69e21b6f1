"""The lead's view of a review: quotas, agreement, graders beside people, and what to adjudicate."""

from dataclasses import dataclass

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.bakeoff.reviewed import LABELS
from evalq.reports.charts import AgreementRow, agreement_chart
from evalq.review import Given, rate, status
from evalq.review.files import agreement_words, beside_words
from evalq.review.identity import refuse_unless_lead
from evalq.review.items import view
from evalq.review.ratings import find_item
from evalq.review.status import GraderStatus, Opinion, ReviewStatus
from evalq.store.definitions import Snapshots
from evalq.web.review_cards import make_card
from evalq.web.review_desk import Desk, at_desk, read_said
from evalq.web.site import form_of, redirect, render


@dataclass(frozen=True)
class QuotaShare:
    """How many items have so many of the reviews they need, and their share of all."""

    reviews: int
    items: int
    percent: int


def quota_of(grader: GraderStatus) -> list[QuotaShare]:
    """The items of a grader by their reviews, those with all of them first."""
    total = max(grader.items, 1)
    return [
        QuotaShare(reviews, items, round(100 * items / total))
        for reviews, items in sorted(grader.by_reviews.items(), reverse=True)
    ]


def agreements_of(found: ReviewStatus) -> list[AgreementRow]:
    """Reviewers with each other, for each grader of people; then every other grader beside people."""
    rows = []
    for grader in found.graders:
        between = grader.agreement
        name = "labels" if grader.grader == LABELS else grader.grader
        if between.n:
            ends = (between.value, between.ci_low, between.ci_high)
            rows.append(AgreementRow(f"reviewers on {name}", *ends, between.n))
    for beside in found.beside_people:
        ends = (beside.kappa, beside.kappa_low, beside.kappa_high)
        rows.append(AgreementRow(f"people and {beside.grader}", *ends, beside.n))
    return rows


@at_desk
def show_lead(request: Request, desk: Desk) -> Response:
    """How far a review is, how far people agree, and what they disagree on."""
    _refuse_others(desk)
    found = status(desk.db, desk.bakeoff_id)
    return render(
        request,
        "review_lead.html",
        command=f"evalq review status {desk.bakeoff_id}",
        desk=desk,
        review=found,
        quota_of=quota_of,
        chart=Markup(agreement_chart(agreements_of(found), title="Agreement with 95% interval")),  # noqa: S704 - our own SVG
        agreement_words=agreement_words,
        beside_words=beside_words,
    )


@at_desk
def show_dispute(request: Request, desk: Desk) -> Response:
    """One item with what the reviewers said, for the lead to decide."""
    _refuse_others(desk)
    item = find_item(desk.db, str(request.path_params["item"]))
    if item.bakeoff_id != desk.bakeoff_id:
        raise HTTPException(404, "this item is of another bake-off")
    card = make_card(view(desk.db, item.id, Snapshots(desk.db)))
    found = status(desk.db, desk.bakeoff_id)
    return render(
        request,
        "review_dispute.html",
        command=f"evalq review rate {item.token} RATING --adjudicate",
        desk=desk,
        card=card,
        opinions=_opinions(found, item.token),
        declined=[one for one in found.declined if one.token == item.token],
    )


@at_desk
def take_decision(request: Request, desk: Desk) -> Response:
    """Decide an item over the ratings of the others."""
    _refuse_others(desk)
    form = form_of(request)
    item, comment = str(request.path_params["item"]), form.get("comment", "").strip()
    rate(desk.db, Given(item, desk.who.name, read_said(form), comment, adjudicates=True))
    return redirect(f"{desk.path}/lead")


def _opinions(found: ReviewStatus, token: str) -> tuple[Opinion, ...]:
    for grader in found.graders:
        for one in grader.disagreements:
            if one.item == token:
                return one.ratings
    return ()


def _refuse_others(desk: Desk) -> None:
    refuse_unless_lead(desk.who)


ROUTES = [
    Route("/review/{bakeoff}/lead", show_lead),
    Route("/review/{bakeoff}/lead/{item}", show_dispute),
    Route("/review/{bakeoff}/lead/{item}", take_decision, methods=["POST"]),
]
