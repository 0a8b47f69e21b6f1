"""What all charts have in common: valid, inert, described, without colours or styles of their own."""

import re
from xml.etree import ElementTree

import pytest

from evalq.reports import charts as room
from evalq.reports.charts import (
    CHART_CSS,
    agreement_chart,
    drift_chart,
    frontier_chart,
    interval_bars,
    kappa_heatmap,
    latency_chart,
    standalone,
    strata_heatmap,
)

from .conftest import draw_all

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "closing": "</title></svg><img src=x onerror=alert(1)>",
    "quotes": "\" onload='alert(1)",
    "entity": "&lt;b&gt; &#x26; &unknown;",
    "cdata": "]]><!-- -->",
    "control": "a\x00b\x1b[31mc\x07\x9b\ufffe\uffff\ud800",
    "bidi": "abc\u202edef\u2066",
    "lines": "one\ntwo\u2028three\rfour",
    "long": "x" * 5000,
    "wide": "評価" * 40,
    "empty": "",
    "address": "anthropic/claude 4@short?x=1#y",
    "format": "{0} %s {name}",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_stays_text_in_every_chart(name: str) -> None:
    for kind, svg in draw_all(name).items():
        root = ElementTree.fromstring(svg)
        tags = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert not tags & {"script", "img", "a", "image", "use", "foreignObject", "style"}, kind
        for element in root.iter():
            assert not [key for key in element.attrib if key.startswith("on") or key in ("href", "style")]


def test_every_chart_says_in_words_what_it_shows(charts: dict[str, str]) -> None:
    for kind, svg in charts.items():
        root = ElementTree.fromstring(svg)
        words = {f"{root.attrib['aria-labelledby']}": (root.find(f"{SVG}title"), root.find(f"{SVG}desc"))}
        [(ids, (title, description))] = words.items()
        assert root.attrib["role"] == "img"
        assert title is not None
        assert description is not None
        assert ids.split() == [title.attrib["id"], description.attrib["id"]]
        assert title.text
        assert "grok-4.3@short" in (description.text or ""), kind


def test_colours_come_from_the_style_sheet_alone(charts: dict[str, str]) -> None:
    for svg in charts.values():
        classes = set(re.findall(r'class="(ch-[a-z-]+)"', svg))
        assert classes
        assert all(f".{name}{{" in CHART_CSS for name in classes), classes
        assert "style=" not in svg
        assert not re.search(r'(fill|stroke)="#', svg)


def test_the_same_chart_has_the_same_text_twice(charts: dict[str, str]) -> None:
    assert draw_all("grok-4.3@short") == charts


def test_a_chart_alone_brings_its_style(charts: dict[str, str]) -> None:
    root = ElementTree.fromstring(standalone(charts["bars"]))
    style = root.find(f"{SVG}style")
    assert style is not None
    assert "prefers-color-scheme:dark" in (style.text or "")


@pytest.mark.parametrize(
    "svg",
    [
        interval_bars([]),
        kappa_heatmap([]),
        strata_heatmap([]),
        frontier_chart([]),
        latency_chart([]),
        drift_chart([]),
        agreement_chart([]),
    ],
)
def test_a_chart_without_data_says_so(svg: str) -> None:
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert len(texts) == 1


def test_everything_in_the_room_is_named_at_its_door() -> None:
    assert sorted(room.__all__) == sorted(name for name in room.__all__ if hasattr(room, name))
