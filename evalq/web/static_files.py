"""The stylesheet and the script of the pages, read once at the start and served from memory."""

import hashlib
from functools import cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.reports.charts import CHART_CSS

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_KEEP = "private, max-age=3600"


@cache
def static_files() -> dict[str, bytes]:
    """Every file of the folder by its name; no path of a request ever reaches the disk."""
    folder = Path(__file__).parent / "static"
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in _KINDS}
    return {**files, "charts.css": CHART_CSS.encode()}


@cache
def static_url(name: str) -> str:
    """The address of a file; it changes with the content, so that browsers never keep an old one."""
    digest = hashlib.sha256(static_files()[name]).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def serve_file(request: Request) -> Response:
    """One file; 404 for every name that is not in the folder."""
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None:
        raise HTTPException(404, "there is no such file")
    return Response(content, media_type=_KINDS[Path(name).suffix], headers={"cache-control": _KEEP})


def serve_icon(request: Request) -> Response:
    """The icon that browsers ask for on pages which name none, such as raw documents."""
    del request
    return Response(static_files()["icon.svg"], media_type=_KINDS[".svg"], headers={"cache-control": _KEEP})


ROUTES = [Route("/static/{name:path}", serve_file), Route("/favicon.ico", serve_icon)]
