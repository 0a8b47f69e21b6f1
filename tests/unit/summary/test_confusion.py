"""Labels and the judges that confuse them, checked against counts made by hand."""

import pytest

from evalq.summary.confusion import OTHER, build_confusion, find_labels, read_label

LABELS = ("billing", "sales", "support")


def test_few_short_answers_that_repeat_are_labels_most_frequent_first() -> None:
    assert find_labels(["sales", "billing ", "billing", "sales", "billing", "support"]) == LABELS


@pytest.mark.parametrize(
    "expected",
    [
        [],
        ["sales"] * 10,
        ["a", "b", "c", "d"],
        ["sales", "billing", None, "sales", "billing"],
        ["sales", "", "sales", ""],
        ["a\nb", "c", "a\nb", "c"],
        ["x" * 61, "y", "x" * 61, "y"],
        [str(number) for number in range(31)] * 3,
    ],
)
def test_other_expectations_are_not_labels(expected: list[str | None]) -> None:
    assert find_labels(expected) == ()


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("billing", "billing"),
        ("**Billing.**", "billing"),
        ("```\nsales\n```", "sales"),
        ("The team is sales, I think.", "sales"),
        ("sales or billing", OTHER),
        ("salesforce", OTHER),
        ("", OTHER),
        ("\x1b[2J\u202e", OTHER),
        (" " * 1_000_000 + "billing", OTHER),
    ],
)
def test_an_answer_names_a_label_as_a_whole_or_as_the_only_one(answer: str, label: str) -> None:
    assert read_label(answer, LABELS) == label


def test_the_matrix_counts_expected_by_answered_label() -> None:
    pairs = [("billing", "billing")] * 3 + [("billing", "sales"), ("sales", "sales"), ("sales", OTHER)]

    found = build_confusion("grok", pairs, LABELS)

    assert found.columns == (*LABELS, OTHER)
    assert found.counts == ((3, 1, 0, 0), (0, 1, 0, 1), (0, 0, 0, 0))
    assert found.n == 6
    billing, sales, support = found.scores
    assert (billing.precision, billing.recall, billing.f1, billing.support) == (1.0, 0.75, 0.8571, 4)
    assert (sales.precision, sales.recall, sales.f1, sales.support) == (0.5, 0.5, 0.5, 2)
    assert (support.precision, support.recall, support.support) == (None, None, 0)
    assert found.macro_f1 == 0.6786


def test_a_judge_without_verdicts_has_an_empty_matrix() -> None:
    found = build_confusion("grok", [], LABELS)

    assert (found.n, found.macro_f1, found.counts) == (0, None, ((0, 0, 0),) * 3)


def test_the_document_has_a_row_for_each_expected_label() -> None:
    document = build_confusion("a@b/c", [("billing", "sales")], LABELS).to_dict()

    assert (document["judge"], document["n_not_graded"], document["n_wrong_form"]) == ("a@b/c", 0, 0)
    assert document["matrix"]["billing"] == [0, 1, 0]
    assert document["labels"][0]["label"] == "billing"
