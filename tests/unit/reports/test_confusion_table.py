"""Confusion matrices as tables: named columns where there is room, numbers where there is not."""

from collections.abc import Callable
from dataclasses import replace

from evalq.reports.confusion_table import render_confusions, render_plain_confusions
from evalq.summary.confusion import OTHER, build_confusion

Show = Callable[..., str]
LABELS = ("billing", "sales")
PAIRS = [("billing", "billing"), ("billing", "sales"), ("sales", OTHER)]


def test_scores_and_matrix_are_shown_for_each_judge(show: Show) -> None:
    found = replace(build_confusion("grok@x", PAIRS, LABELS), n_not_graded=4, n_wrong_form=2)
    output = show(render_confusions([found], width=80), 80)

    assert "grok@x   macro F1 0.33, n=3\n4 not graded and left out\n" in output
    assert "! 2 name the right label and failed for their form" in output
    assert "billing       1.00    0.50  0.67  2" in output
    assert "sales         0.00    0.00  0.00  1" in output
    assert "expected  billing  sales  (other)" in output
    assert "billing         1      1        ·" in output


def test_a_wide_matrix_is_numbered_and_keeps_to_its_width(show: Show) -> None:
    labels = [f"a rather long label {number}" for number in range(15)]
    found = build_confusion("grok", [(label, labels[0]) for label in labels], labels)

    lines = show(render_confusions([found], width=80), 80).splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("1 a rather long label 0") for line in lines)


def test_a_pipe_gets_scores_and_the_cells_that_are_not_zero() -> None:
    rows = render_plain_confusions([build_confusion("grok", PAIRS, LABELS)]).splitlines()

    assert rows[1] == "grok\tbilling\t1.0000\t0.5000\t0.6667\t2"
    assert rows[3:] == [
        "judge\texpected\tanswered\tn",
        "grok\tbilling\tbilling\t1",
        "grok\tbilling\tsales\t1",
        "grok\tsales\t(other)\t1",
    ]


def test_labels_and_names_of_a_hostile_judge_are_cleaned(
    hostile: str, forbidden: frozenset[str], show: Show
) -> None:
    found = [build_confusion(hostile, [(hostile, "b")], [hostile, "b"])]

    assert not set(show(render_confusions(found, width=80), 80)) & forbidden
    assert not set(render_plain_confusions(found)) & forbidden
