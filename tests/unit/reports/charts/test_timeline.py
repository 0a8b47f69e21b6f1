"""The drift chart: band, signs, changes, labels."""

from evalq.reports.charts import DriftPoint, drift_chart


def _points(n: int) -> list[DriftPoint]:
    return [DriftPoint(f"2026-10-{number + 1:02}", 0.8, 0.7, 0.9, 30) for number in range(n)]


def test_every_verdict_has_a_sign_of_its_own() -> None:
    for verdict, sign in {
        "ok": '<circle cx="72"',
        "watch": ">!<",
        "alert": "ch-bad-line",
        "inconclusive": ">?<",
    }.items():
        assert sign in drift_chart([DriftPoint("w", 0.8, 0.7, 0.9, 30, verdict)])  # type: ignore[arg-type]


def test_changes_of_model_and_prompt_stand_on_the_axis() -> None:
    changed = DriftPoint("w", 0.8, 0.7, 0.9, 30, is_model_changed=True, is_prompt_changed=True)
    svg = drift_chart([changed])
    assert svg.count("<polygon") == 2
    assert "the model changed, the prompt changed" in svg


def test_one_check_has_a_bar_and_several_a_band() -> None:
    assert "<polygon" not in drift_chart(_points(1))
    assert 'class="ch-band"' in drift_chart(_points(1))
    assert "<polygon" in drift_chart(_points(2))


def test_the_baseline_is_drawn_and_told() -> None:
    svg = drift_chart(_points(2), baseline=0.834)
    assert "ch-baseline" in svg
    assert "baseline 83.4%" in svg
    assert "ch-baseline" not in drift_chart(_points(2))


def test_labels_leave_room_for_each_other() -> None:
    assert drift_chart(_points(30)).count(">2026-10-") < 15


def test_a_check_without_a_rate_leaves_a_gap() -> None:
    open_check = DriftPoint("now", None, None, None, 0, "inconclusive")
    svg = drift_chart([*_points(2), open_check, DriftPoint("bare", 0.8, None, None, 30)])
    assert svg.count("<circle") == 3
