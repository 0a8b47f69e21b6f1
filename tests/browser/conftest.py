"""A headless Chromium that notices every console error and every request that leaves this machine."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AT_HOME = ("file", "data", "blob", "about")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; only CI must have it.

    For one module only: while it lives Playwright's event loop runs in this thread, and no other test could
    run its own.
    """
    program = shutil.which("chromium")
    if program is None:
        assert os.environ.get("CI") != "true", "there is no chromium on the PATH"
        pytest.skip("there is no chromium on the PATH")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


@dataclass
class Watch:
    """What pages did that they must not do."""

    complaints: list[str] = field(default_factory=list)
    forgiven: str | None = None

    def note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not (self.forgiven and self.forgiven in message.text):
            self.complaints.append(f"console: {message.text}")

    def note_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in AT_HOME and url.hostname not in LOOPBACK:
            self.complaints.append(f"request: {request.url}")

    def note_error(self, error: object) -> None:
        self.complaints.append(f"script: {error}")


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages, `open_page(color_scheme="dark", java_script_enabled=False)`; their silence is checked.

    The browser itself reports replies such as 404: `forgives="404"` expects it.
    """
    watch = Watch()
    contexts: list[BrowserContext] = []

    def open_one(*, forgives: str | None = None, **options: Any) -> Page:
        watch.forgiven = forgives
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(60_000)
        context.on("request", watch.note_request)
        page = context.new_page()
        page.on("console", watch.note_console)
        page.on("pageerror", watch.note_error)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not watch.complaints, watch.complaints
