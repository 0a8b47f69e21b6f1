"""The documentation as a site: it builds without a warning, and no page asks another server for anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=[\"']?(?:https?:)?//|<link[^>]*href=[\"']?(?:https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "examples" not in path.parts]
    names = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in pages}
    assert names <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    texts = {path.name: path.read_text("utf-8") for path in site.rglob("*.html")}
    assert {name: LOADED.findall(text) for name, text in texts.items() if LOADED.search(text)} == {}
    assert not any('class="mermaid"' in text for text in texts.values())


@pytest.mark.parametrize(
    "hostile",
    ['<script src="https://unpkg.com/a">', "<link rel=x href=//cdn/x.css>", "<img alt='' src='//x/y.png'>"],
)
def test_such_a_request_would_be_found(hostile: str) -> None:
    assert LOADED.search(hostile)
