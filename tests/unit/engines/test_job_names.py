"""Names of jobs in Flower: readable, bounded, and harmless whatever a case is called."""

import pytest

from evalq.engines.job_names import name_job, name_series


@pytest.mark.parametrize(
    ("judge", "case_id", "sample", "name"),
    [
        ("grok-4.3", "case-017", 1, "7 grok-4.3 case-017"),
        ("grok-4.3@short", "case-017", 2, "7 grok-4.3@short case-017#2"),
        ("a", "two words\n\tand a tab", 1, "7 a two_words_and_a_tab"),
        ("a", "", 1, "7 a _"),
        ("a", "例 1", 1, "7 a 例_1"),
    ],
)
def test_a_name_has_bake_off_judge_and_case(judge: str, case_id: str, sample: int, name: str) -> None:
    assert name_job(7, judge, case_id, sample=sample) == name


def test_control_characters_never_reach_a_name() -> None:
    name = name_job(7, "a\x1b[2J", "b\x00\x07\u202egnp\u2028.exe\x9b31m")
    assert name.isprintable()
    assert len(name.split(" ")) == 3


def test_a_name_is_bounded() -> None:
    assert len(name_job(10**18, "j" * 10_000, "c" * 1_000_000, sample=9)) < 200


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("7 grok-4.3@short case-017#2", "judge:grok-4.3@short"),
        ("pump", "pump"),
        ("", ""),
        ("no number here", "no number here"),
    ],
)
def test_figures_count_by_judge_and_not_by_case(name: str, series: str) -> None:
    assert name_series(name) == series
