"""What is checked on every page in the browser: nothing cut off, every control named, readable text."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

CHECKS = Path(__file__).with_suffix(".js").read_text("utf-8")


def _ask(page: Page, name: str, argument: object = None) -> Any:
    return page.evaluate(f"argument => {CHECKS.strip()}.{name}(argument)", argument)


def find_unnamed(page: Page) -> list[str]:
    """Controls, links, headings and pictures that have no name."""
    found: list[str] = _ask(page, "unnamed")
    return found


def find_cut_off(page: Page) -> list[str]:
    """The page or tables in it that are wider than the window."""
    found: list[str] = _ask(page, "cutOff")
    return found


def find_out_of_reach(page: Page) -> list[str]:
    """Controls beyond the right edge of a narrow window; tables and charts may scroll by themselves."""
    found: list[str] = _ask(page, "outOfReach")
    return found


def find_faint_text(page: Page, least: float = 4.5) -> list[str]:
    """Texts whose contrast to what is behind them is below WCAG's 4.5."""
    found: list[str] = _ask(page, "faint", least)
    return found


def walk_by_tab(page: Page, steps: int) -> list[dict[str, object]]:
    """Where the focus goes: place in the document, name, width of the outline, whether it is seen."""
    walked = []
    for _ in range(steps):
        page.keyboard.press("Tab")
        walked.append(_ask(page, "focused"))
    return walked
