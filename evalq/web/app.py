"""The web application: every page's routes behind one doorkeeper."""

from collections.abc import Collection
from importlib import import_module

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from evalq.errors import EvalqError
from evalq.web.security import AccessPolicy, Doorkeeper
from evalq.web.site import Site, answer_bug, answer_evalq_error, answer_http_error, error_page, templates
from evalq.web.static_files import static_url

PAGES = (
    "evalq.web.static_files",
    "evalq.web.sign_in",
    "evalq.web.run_list",
    "evalq.web.run_page",
    "evalq.web.report_file",
    "evalq.web.run_actions",
    "evalq.web.live_updates",
    "evalq.web.case_page",
    "evalq.web.comparison_page",
    "evalq.web.drift_page",
    "evalq.web.fleet_page",
    "evalq.web.cost_page",
    "evalq.web.metrics_page",
    "evalq.web.review_desk",
    "evalq.web.review_lead",
)
"""Modules with pages: each has ROUTES, and OPEN_PATHS if guests without the owner's token may open some."""


def make_app(site: Site, *, token: str | None, hosts: Collection[str]) -> Starlette:
    """The pages over an open session; with a token, only visitors who bring it are let in."""
    routes: list[BaseRoute] = []
    open_paths: list[str] = []
    for name in PAGES:
        module = import_module(name)
        routes += module.ROUTES
        open_paths += getattr(module, "OPEN_PATHS", ())
    policy = AccessPolicy.of(hosts, token, open_paths)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Doorkeeper, policy=policy, refuse=_refuse)],
        exception_handlers={
            HTTPException: answer_http_error,
            EvalqError: answer_evalq_error,
            Exception: answer_bug,
        },
    )
    app.state.site = site
    app.state.policy = policy
    templates().globals["static_url"] = static_url
    return app


def _refuse(request: Request, status: int, text: str) -> Response:
    return error_page(request, status, text)
