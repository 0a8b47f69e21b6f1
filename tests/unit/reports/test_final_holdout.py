"""The head of the holdout log stands in every report of a task that has one."""

from collections.abc import Callable
from dataclasses import replace

from evalq.reports.final import render_final, render_plain
from evalq.results import BakeOffResult

HEAD = f"4:{'0a1b' * 16}"


def test_a_report_has_the_head_of_the_holdout_log_whole(
    result: BakeOffResult, show: Callable[..., str]
) -> None:
    logged = replace(result, holdout_head=HEAD)
    assert f"# holdout\tholdout log of knowledge_audit at {HEAD}" in render_plain(logged).splitlines()
    # A narrow terminal wraps the line; the anchor itself stays in one piece to be copied.
    assert HEAD in show(render_final(logged, width=80), 80)
    assert logged.to_dict()["holdout_head"] == HEAD


def test_a_task_without_holdout_log_is_not_mentioned(result: BakeOffResult, show: Callable[..., str]) -> None:
    assert "holdout" not in render_plain(result)
    assert "holdout" not in show(render_final(result, width=100), 100)
    assert result.to_dict()["holdout_head"] is None
