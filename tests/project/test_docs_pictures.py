"""The pictures of the documentation are small, bring nothing of others along, and are shown."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
DRAWN = [path for path in PICTURES if path.suffix == ".svg"]
MOST_BYTES = 150_000
OUTSIDE = re.compile(
    r"@font-face|@import|<script|<image|href=|url\((?!#)|https?://(?!www\.w3\.org/2000/svg\")"
)


def test_the_pictures_are_those_that_make_pictures_takes() -> None:
    assert [path.name for path in PICTURES] == ["frontier.svg", "run-page.png", "terminal.svg"]
    assert [path.name for path in PICTURES if path.stat().st_size > MOST_BYTES] == []
    assert (ROOT / "docs/pictures/run-page.png").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_drawing_asks_for_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("<svg ")
    assert OUTSIDE.findall(text) == []
    assert "sim-grok-4.3" in text


@pytest.mark.parametrize(
    "hostile", ['<a href="x">', "url(font.woff)", "https://cdn/x", "@font-face{}", "<image />"]
)
def test_such_a_request_would_be_found(hostile: str) -> None:
    assert OUTSIDE.search(hostile)


def test_every_picture_is_shown_and_the_readme_has_one_block() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = "".join(path.read_text("utf-8") for path in pages)
    assert [path.name for path in PICTURES if f"pictures/{path.name}" not in texts] == []
    assert (ROOT / "README.md").read_text("utf-8").count('<p align="center">') == 1
