"""The frontier chart: its axes, its marks, and labels that never collide."""

from itertools import combinations
from xml.etree import ElementTree

import pytest

from evalq.reports.charts import frontier_chart
from evalq.reports.charts.svg import text_px
from evalq.results import Offer

from .conftest import offer

SVG = "{http://www.w3.org/2000/svg}"


def _label_boxes(svg: str) -> list[tuple[float, float, float]]:
    boxes = []
    for element in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if element.attrib.get("class") == "ch-label" and element.attrib["text-anchor"] == "start":
            x, y = float(element.attrib["x"]), float(element.attrib["y"])
            boxes.append((x, x + text_px(element.text or ""), y))
    return boxes


CROWDS = {
    "one place": [offer(f"judge-{number}") for number in range(8)],
    "a line": [offer(f"judge-{number}", f"0.00{number + 1}") for number in range(8)],
    "thirty": [offer(f"judge-{number}", f"0.0{20 + number % 7}", 0.7 + number / 300) for number in range(30)],
    "long names": [offer(f"a very long name of a contender {number}", "0.001") for number in range(6)],
}


@pytest.mark.parametrize("offers", CROWDS.values(), ids=CROWDS.keys())
def test_no_two_labels_collide(offers: list[Offer]) -> None:
    svg = frontier_chart(offers)
    for one, other in combinations(_label_boxes(svg), 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or abs(one[2] - other[2]) >= 15.9
        assert apart, (one, other)


@pytest.mark.parametrize("offers", CROWDS.values(), ids=CROWDS.keys())
def test_every_judge_is_named_beside_its_mark_or_below(offers: list[Offer]) -> None:
    texts = [
        element.text or "" for element in ElementTree.fromstring(frontier_chart(offers)).iter(f"{SVG}text")
    ]
    for each in offers:
        assert any(each.judge[:25] in text for text in texts)


def test_latency_is_in_the_label_and_in_the_size() -> None:
    svg = frontier_chart([offer("slow", "0.001"), offer("fast", "0.009")], {"slow": 4000, "fast": 250})
    assert "slow · 4.00s" in svg
    sizes = {element.attrib["r"] for element in ElementTree.fromstring(svg).iter(f"{SVG}circle")}
    assert len(sizes) == 2


def test_a_beaten_judge_is_a_diamond_and_the_frontier_is_joined() -> None:
    svg = frontier_chart(
        [offer("a", "0.001"), offer("b", "0.002", 0.9), offer("c", "0.003", on_frontier=False)]
    )
    assert svg.count("<polygon") == 1
    assert svg.count("ch-frontier") == 1
    assert "beaten by another" in svg


def test_prices_far_apart_have_a_logarithmic_axis() -> None:
    svg = frontier_chart([offer("a", "0.0001"), offer("b", "1")])
    assert "(logarithmic)" in svg
    assert ">$0.01<" in svg
    assert "logarithmic" not in frontier_chart([offer("a", "0"), offer("b", "1")])


def test_judges_that_cost_nothing_have_a_chart_too() -> None:
    assert "$0.0000 a case" in frontier_chart([offer("a", "0"), offer("b", "0")])
