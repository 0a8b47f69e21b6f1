"""Takes the pictures of docs/pictures/ from a demo bake-off: its table, frontier, and page in Chromium."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console

import evalq
from evalq.api import BakeOff
from evalq.bakeoff.bakeoff_report import gather_report
from evalq.reports.charts import standalone
from evalq.reports.final import render_final

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
PARTIAL = 3
COLUMNS = 100
VIEW = {"width": 1200, "height": 720}

# The frame of the drawn terminal: fonts of the reader's machine, nothing fetched.
TERMINAL = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>evalq demo: seven simulated models on 93 cases</title>
<style>
.{unique_id}-matrix {{ font-size: {char_height}px; line-height: {line_height}px;
font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
<rect width="{width}" height="{height}" rx="8" fill="#14171c"/>
<g transform="translate(9, 16)" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main() -> None:
    """Run the demo in an empty folder and write every picture."""
    FOLDER.mkdir(exist_ok=True)
    with _empty_project():
        ended = subprocess.run(
            [*_program(), "demo", "--display", "none"], stdout=subprocess.DEVNULL, check=False
        )
        assert ended.returncode == PARTIAL, "one judge of the demo is broken on purpose"
        baked = evalq.load("last")
        _write("terminal.svg", draw_terminal(baked).encode())
        _write("frontier.svg", draw_frontier(baked).encode())
        _write("run-page.png", photograph_page(baked.id))


def draw_terminal(baked: BakeOff) -> str:
    """The final table as a terminal of a hundred columns shows it."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(render_final(baked.result, width=COLUMNS))
    return console.export_svg(code_format=TERMINAL, unique_id="evalq")


def draw_frontier(baked: BakeOff) -> str:
    """The report's chart of cost against quality."""
    with baked.origin.open_database() as db:
        report = gather_report(db, baked.id)
    [section] = [one for one in report.sections if one.key == "frontier"]
    return standalone(section.charts[0]) + "\n"


def photograph_page(bakeoff_id: int) -> bytes:
    """The page of the bake-off in Chromium, its first screen."""
    with _serve_pages() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=VIEW, color_scheme="light")
        page.goto(f"{url}/runs/{bakeoff_id}")
        taken = page.screenshot()
        browser.close()
    return taken


@contextmanager
def _empty_project() -> Iterator[None]:
    """Work in an empty folder with a home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for name in [name for name in os.environ if name.startswith(("EVALQ_", "XDG_"))]:
            del os.environ[name]
        os.environ["HOME"] = folder
        os.chdir(folder)
        yield
        os.chdir(FOLDER)


@contextmanager
def _serve_pages() -> Iterator[str]:
    """Serve the pages on a free port while a picture is taken."""
    argv = [*_program(), "web", "--port", "0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", server.stderr.readline())
        assert found, "the server names its address first"
        try:
            yield found.group()
        finally:
            server.terminate()


def _program() -> list[str]:
    return [sys.executable, "-m", "evalq"]


def _write(name: str, content: bytes) -> None:
    (FOLDER / name).write_bytes(content)
    print(f"{FOLDER / name} ({len(content) / 1000:,.0f} kB)")


if __name__ == "__main__":
    main()
