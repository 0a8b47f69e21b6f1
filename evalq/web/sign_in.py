"""The sign-in page of a server that needs a token."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.web.site import redirect, render, visitor_of


def show_sign_in(request: Request) -> Response:
    """Ask for the token; the form opens /?token=…, which the doorkeeper turns into a session."""
    if visitor_of(request).is_owner:
        return redirect("/")
    return render(request, "sign_in.html", command="evalq web")


ROUTES = [Route("/login", show_sign_in)]
OPEN_PATHS = ("/login", "/static", "/favicon.ico")
