"""The pages over a bake-off of 100,000 verdicts in Chromium: how soon, how heavy, and what each may cost."""

import argparse
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

from benchmarks.machine import describe_machine, measure_speed
from benchmarks.make_big_run import N_CASES, SKILLS, make_big_run
from evalq.engines.embedded import attach
from evalq.review.label_queue import queue_labels
from evalq.store import bakeoff_lists
from evalq.store.bakeoff_lists import BakeOffFilter
from evalq.store.database import Database, apply_schema
from evalq.web.static_files import static_files

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
VIEWPORT = {"width": 1440, "height": 900}
FIRST_VIEWS, TURNS, SERVER_REQUESTS, CARDS = 7, 100, 60, 40
FILTERS = ("disagree", "any_fail", "all_fail", "errors")

# Notes when the first row of the list is in the document and on the screen.
_WATCH_ROWS = """
new MutationObserver((_, watch) => {
  if (!document.querySelector("#cases [data-row]")) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstRows = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
# Clicks a link and waits until the list has been swapped and drawn.
_TURN = """
selector => new Promise(done => {
  const list = document.getElementById("cases"), before = list.dataset.turns, began = performance.now();
  new MutationObserver((_, watch) => {
    if (list.dataset.turns === before) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  }).observe(list, { attributes: true });
  document.querySelector(selector).click();
})
"""
# Presses a key of the review desk and waits for the next card.
_RATE = """
key => new Promise(done => {
  const card = document.getElementById("card"), began = performance.now();
  new MutationObserver((_, watch) => {
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  }).observe(card, { childList: true });
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
})
"""


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it may be."""

    name: str
    value: float
    budget: float
    unit: str

    @property
    def is_within(self) -> bool:
        """Whether the budget is kept."""
        return self.value <= self.budget

    def describe(self) -> str:
        """One line of the table."""
        said = "yes" if self.is_within else "NO"
        return f"{self.name:<52} {self.value:>9,.0f} {self.unit:<6} {self.budget:>7,.0f}   {said}"


def main() -> int:
    """Make the bake-off, serve it, look at it; exit code 1 when a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="a data folder to keep; made anew if it has no bake-off")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary) / "d"
        bakeoff_id = prepare(folder)
        print(f"{describe_machine()}; its fixed loop takes {measure_speed():.2f} s")
        print(f"{N_CASES * len(SKILLS):,} verdicts, {len(SKILLS)} judges\n")
        print(f"{'':<52} {'measured':>9} {'':<6} {'budget':>7}   kept")
        figures = []
        for figure in measure(folder, bakeoff_id):
            print(figure.describe(), flush=True)
            figures.append(figure)
    return 0 if all(figure.is_within for figure in figures) else 1


def prepare(folder: Path) -> int:
    """The number of a large bake-off in a data folder, some answers of which wait for labels."""
    with attach(folder, want=("postgres",)) as engines:
        db = Database(engines.database_url)
        apply_schema(db)
        kept = bakeoff_lists.page(db, BakeOffFilter(eval_set=f"dev-{N_CASES}"), limit=1)
        started = time.perf_counter()
        bakeoff_id = kept[0].id if kept else make_big_run(db)
        queue_labels(db, bakeoff_id, count=CARDS * 2)
        print(f"bake-off {bakeoff_id} made in {time.perf_counter() - started:.0f} s")
        db.close()
    return bakeoff_id


def measure(folder: Path, bakeoff_id: int) -> Iterator[Figure]:
    """Every figure, against one server and one browser."""
    with serve_pages(folder) as (url, pid), sync_playwright() as playwright:
        run_page = f"{url}/runs/{bakeoff_id}"
        yield Figure("run page: server, p95", time_server(run_page), 150, "ms")
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield from measure_first_view(browser, run_page)
        yield from measure_turns(browser, run_page)
        desk = f"{url}/review/{bakeoff_id}"
        yield Figure("review: key to next card, median", time_cards(browser, desk), 100, "ms")
        browser.close()
        yield Figure("server: peak memory", peak_memory_mb(pid), 150, "MB")


@contextmanager
def serve_pages(folder: Path) -> Iterator[tuple[str, int]]:
    """A real `evalq web` on a free port: its address and its process."""
    command = [sys.executable, "-m", "evalq", "web", "--port", "0"]
    environ = {**os.environ, "EVALQ_DATA_DIR": str(folder)}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield _read_address(process.stderr), process.pid
        finally:
            process.terminate()


def _read_address(lines: Iterator[str]) -> str:
    for line in lines:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise SystemExit("`evalq web` ended before it served anything")


def time_server(url: str) -> float:
    """Milliseconds of the run page alone, 95th percentile."""
    taken = []
    for _ in range(SERVER_REQUESTS):
        began = time.perf_counter()
        with urllib.request.urlopen(url) as reply:
            reply.read()
        taken.append((time.perf_counter() - began) * 1000)
    return p95(taken)


def measure_first_view(browser: Browser, url: str) -> Iterator[Figure]:
    """A page opened with an empty cache, a few times: the slowest one, its bytes and its size."""
    seconds, sizes, page = [], [], None
    for _ in range(FIRST_VIEWS):
        context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
        context.add_init_script(_WATCH_ROWS)
        page = context.new_page()
        sizes.append(count_bytes(context, page))
        page.goto(url)
        page.wait_for_function("window.firstRows")
        page.wait_for_load_state("networkidle")
        seconds.append(page.evaluate("window.firstRows"))
    assert page is not None
    yield Figure(f"run page: first rows, slowest of {FIRST_VIEWS}", max(seconds), 1000, "ms")
    yield Figure("run page: transfer of the first view", sum(sizes[-1]) / 1024, 120, "KB")
    scripts = b"".join(body for name, body in static_files().items() if name.endswith(".js"))
    yield Figure("all scripts, gzipped", len(gzip.compress(scripts)) / 1024, 25, "KB")
    yield Figure("run page: DOM nodes", page.evaluate("document.querySelectorAll('*').length"), 2000, "")


def count_bytes(context: BrowserContext, page: Page) -> list[float]:
    """A list that grows by the bytes of every reply, headers included."""
    sizes: list[float] = []
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    return sizes


def measure_turns(browser: Browser, url: str) -> Iterator[Figure]:
    """A hundred page turns and every filter, and what they leave behind."""
    context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    turns = [page.evaluate(_TURN, "[data-next]") for _ in range(TURNS)]
    yield Figure("run page: page turn, p95", p95(turns), 200, "ms")
    filters = [
        page.evaluate(_TURN, f"#cases .chips a[href*='={name}#']") for name in FILTERS for _ in range(8)
    ]
    yield Figure("run page: filter, p95", p95(filters), 200, "ms")
    yield Figure(f"run page: heap after {TURNS} turns", heap_mb(context.new_cdp_session(page)), 20, "MB")
    nodes = page.evaluate("document.querySelectorAll('*').length")
    yield Figure(f"run page: DOM nodes after {TURNS} turns", nodes, 2000, "")
    context.close()


def heap_mb(session: CDPSession) -> float:
    """The script's memory after everything unused was collected."""
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return used / 2**20


def time_cards(browser: Browser, url: str) -> float:
    """Milliseconds from a key to the next card, median; a reviewer reads for a moment in between."""
    page = browser.new_page(viewport=VIEWPORT)  # type: ignore[arg-type]
    page.goto(url)
    taken = []
    for _ in range(CARDS):
        page.wait_for_load_state("networkidle")
        taken.append(page.evaluate(_RATE, "1"))
    page.close()
    return statistics.median(taken)


def peak_memory_mb(pid: int) -> float:
    """The most memory the server ever had."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def p95(values: Sequence[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(values, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main())
