"""The text format of Prometheus: read back by its own client, whatever users call their judges."""

from decimal import Decimal

import pytest
from prometheus_client.parser import text_string_to_metric_families

from evalq.reports.prometheus_text import Histogram, Metric, write_metrics


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(text)
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in families
        for one in family.samples
    }


def test_samples_are_read_back() -> None:
    jobs = Metric("evalq_jobs", "gauge", "Jobs by state.")
    jobs.add(3, state="ready", judge="grok-4.3")
    jobs.add(Decimal("0.25"), state="done", judge="opus")
    assert read(write_metrics([jobs])) == {
        ("evalq_jobs", (("judge", "grok-4.3"), ("state", "ready"))): 3.0,
        ("evalq_jobs", (("judge", "opus"), ("state", "done"))): 0.25,
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [('a"b', 'a"b'), ("a\\b", "a\\b"), ("a\nb", "a b"), ('"} 1\nevil 2', '"} 1 evil 2'), ("模型", "模型")],
)
def test_a_hostile_label_stays_one_label(value: str, shown: str) -> None:
    metric = Metric("evalq_jobs", "gauge", "Jobs.")
    metric.add(1, judge=value)
    assert read(metric.write()) == {("evalq_jobs", (("judge", shown),)): 1.0}


def test_a_label_is_bounded_and_has_no_control_characters() -> None:
    metric = Metric("evalq_jobs", "gauge", "Jobs.")
    metric.add(1, judge="\x1b[2J\u202e" + "x" * 10_000)
    [(_, [(_, value)])] = read(metric.write())
    assert value.isprintable()
    assert len(value) <= 200


def test_buckets_count_all_below_them() -> None:
    metric = Metric("evalq_call_seconds", "histogram", "Latency.")
    metric.add_histogram(Histogram((0.5, 1.0), (2, 3, 4), total=12.5), judge="a")
    found = read(metric.write())
    judge = ("judge", "a")
    assert found == {
        ("evalq_call_seconds_bucket", (judge, ("le", "0.5"))): 2,
        ("evalq_call_seconds_bucket", (judge, ("le", "1"))): 5,
        ("evalq_call_seconds_bucket", (judge, ("le", "+Inf"))): 9,
        ("evalq_call_seconds_sum", (judge,)): 12.5,
        ("evalq_call_seconds_count", (judge,)): 9,
    }


def test_counts_that_do_not_fit_their_bounds_are_a_bug() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Metric("x", "histogram", "").add_histogram(Histogram((1.0,), (1,), total=0))


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (1.0, "1"), (0.1, "0.1"), (Decimal("1E-10"), "1e-10"), (float("-inf"), "-Inf")],
)
def test_numbers_are_plain(value: float, written: str) -> None:
    metric = Metric("x", "gauge", "Help\nof two \\ lines.")
    metric.add(value)
    assert metric.write() == f"# HELP x Help\\nof two \\\\ lines.\n# TYPE x gauge\nx {written}\n"


def test_a_metric_without_samples_is_left_out() -> None:
    assert write_metrics([Metric("x", "gauge", "Nothing.")]) == ""
