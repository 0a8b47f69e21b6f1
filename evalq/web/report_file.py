"""The report on a bake-off as a file to keep or to send on: HTML, Markdown or JSON."""

import json
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.drift.drift_report import gather_drift_report
from evalq.reports.html_page import render_html
from evalq.reports.markdown import render_markdown
from evalq.reports.report_json import report_document
from evalq.reports.report_parts import Report
from evalq.web.site import number_in_path, site_of


def _render_json(report: Report) -> str:
    return json.dumps(report_document(report), ensure_ascii=False, indent=2) + "\n"


FORMS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "html": ("text/html", render_html),
    "md": ("text/markdown", render_markdown),
    "json": ("application/json", _render_json),
}


def send_report(request: Request) -> Response:
    """The report as a download: opened as a page of ours, its own script and style would be refused."""
    bakeoff_id, form = number_in_path(request, "bakeoff"), request.path_params["form"]
    if form not in FORMS:
        raise HTTPException(404, f"a report is one of {', '.join(FORMS)}")
    kind, render = FORMS[form]
    content = render(gather_drift_report(site_of(request).db, bakeoff_id))
    name = f'attachment; filename="evalq-report-{bakeoff_id}.{form}"'
    return Response(content, media_type=kind, headers={"content-disposition": name})


ROUTES = [Route("/runs/{bakeoff}/report.{form}", send_report)]
