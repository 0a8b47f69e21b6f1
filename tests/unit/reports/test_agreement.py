"""The matrix of agreement: κ above the diagonal, AC1 below, and every pair with n, interval and flag."""

from collections.abc import Callable

import pytest

from evalq.reports.agreement import render_kappa, render_plain_kappa
from evalq.results import Agreement

Show = Callable[..., str]

PAIRS = (
    Agreement("grok-4.3", "opus-4.7", 93, -0.11, 0.55, False, None, -0.3, 0.1),
    Agreement("grok-4.3", "sonnet-4.6", 92, None, 0.9, True),
    Agreement("opus-4.7", "sonnet-4.6", 93, 0.66, 0.7, False, "same_provider", 0.49, 0.83),
)


def _line(text: str, *words: str) -> str:
    return next(line for line in text.splitlines() if all(word in line for word in words))


def test_the_matrix_has_kappa_above_and_ac1_below(show: Show) -> None:
    output = show(render_kappa(PAIRS, width=100))
    assert _line(output, "1  grok-4.3").split() == ["1", "grok-4.3", "–", "−0.11", "n/a"]
    assert _line(output, "2  opus-4.7").split() == ["2", "opus-4.7", "0.55", "–", "0.66!"]
    assert _line(output, "3  sonnet-4.6").split() == ["3", "sonnet-4.6", "0.90", "0.70", "–"]
    assert "above the diagonal κ" in output


def test_pairs_are_listed_by_kappa_with_interval_n_and_flag(show: Show) -> None:
    output = show(render_kappa(PAIRS, width=120), 120)
    rows = [line for line in output.splitlines() if "↔" in line]
    assert [row.split("  ")[0] for row in rows] == [
        "opus-4.7 ↔ sonnet-4.6",
        "grok-4.3 ↔ opus-4.7",
        "grok-4.3 ↔ sonnet-4.6",
    ]
    assert "0.66  [0.49, 0.83]" in rows[0]
    assert rows[0].endswith("same provider, do not count as two votes")
    assert "−0.11  [−0.30, 0.10]" in rows[1]
    assert rows[2].split()[3:] == ["n/a", "–", "0.90", "92"]


def test_one_judge_agrees_with_nobody(show: Show) -> None:
    assert "it takes two judges" in show(render_kappa((), width=80))
    assert render_plain_kappa(()).splitlines() == ["a\tb\tkappa\tci_low\tci_high\tac1\tn\tflag"]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_row_wraps(show: Show, width: int) -> None:
    long = Agreement("a-judge-with-a-very-long-name", "another-with-a-long-name", 9, 0.5, 0.5, False)
    output = show(render_kappa((long,), width=width, ascii_only=True), width)
    assert all(len(line) <= width for line in output.splitlines())
    assert output.isascii()


def test_a_pipe_gets_a_row_per_pair() -> None:
    _, first, second, third = render_plain_kappa(PAIRS).splitlines()
    assert first.split("\t") == ["grok-4.3", "opus-4.7", "-0.1100", "-0.3000", "0.1000", "0.5500", "93", "-"]
    assert second.split("\t")[2:5] == ["-", "-", "-"]
    assert third.split("\t")[-1] == "same_provider"
