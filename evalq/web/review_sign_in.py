"""Who sits at the review desk: a reviewer by their own token, or the local user where none is invited."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.errors import InputError, Refused
from evalq.review.identity import refuse_borrowed, sign_in
from evalq.review.items import reviewer_name
from evalq.store import reviewers
from evalq.store.reviewers import SignedIn
from evalq.web.site import form_of, redirect, render, site_of, visitor_of

SIGN_IN = "/review/sign-in"
_DAYS = 30


def reviewer_of(request: Request) -> SignedIn | None:
    """The reviewer who sent a request; None for one who has to sign in.

    Where nobody was invited, the owner of the pages reviews and leads under their login name.
    """
    db = site_of(request).db
    token = request.cookies.get(_cookie_name(request), "")
    found = sign_in(db, token) if token else None
    if found is not None or not visitor_of(request).is_owner or reviewers.has_any(db):
        return found
    try:
        name = reviewer_name(None, {})
        refuse_borrowed(db, [name])
    except (InputError, Refused):
        return None
    return SignedIn(name, "lead")


def show_review_sign_in(request: Request) -> Response:
    """Ask a reviewer for their token."""
    return render(request, "review_sign_in.html", command="evalq review invite NAME", problem="")


def take_token(request: Request) -> Response:
    """Sign a reviewer in; the token goes to a cookie that scripts and other sites cannot read."""
    token = form_of(request).get("token", "").strip()
    if sign_in(site_of(request).db, token) is None:
        problem = "This token is wrong or revoked. Whoever leads the review can invite you again."
        return render(
            request, "review_sign_in.html", command="evalq review invite NAME", status=403, problem=problem
        )
    reply = redirect("/review")
    reply.set_cookie(
        _cookie_name(request),
        token,
        max_age=_DAYS * 86_400,
        path="/review",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply


def sign_out(request: Request) -> Response:
    """Forget the token."""
    reply = redirect(SIGN_IN)
    reply.delete_cookie(_cookie_name(request), path="/review", httponly=True, samesite="strict")
    return reply


def _cookie_name(request: Request) -> str:
    """Browsers keep one jar for all ports of a host, so that two servers need two names."""
    return f"evalq_reviewer_{(request.scope.get('server') or ('', 0))[1]}"


ROUTES = [
    Route(SIGN_IN, show_review_sign_in),
    Route(SIGN_IN, take_token, methods=["POST"]),
    Route("/review/sign-out", sign_out, methods=["POST"]),
]
