"""The schedules as celery beat sees them: the same minutes, one message each."""

from datetime import UTC, datetime

import pytest
from celery.schedules import crontab

from evalq.cli.services import scheduler_options
from evalq.definitions.schedule import DriftSchedule
from evalq.errors import InputError
from workers.beat import drift_entries

MOMENTS = [
    datetime(2026, month, day, hour, 7, tzinfo=UTC)
    for month in (2, 11)
    for day in (1, 15, 28)
    for hour in (2, 23)
]


@pytest.mark.parametrize(
    "line", ["0 3 * * 6", "*/20 4-6 * * *", "0 0 1 * *", "15 12 * 3,12 0,3", "0 12 * * 7"]
)
def test_celery_means_the_minutes_we_mean(line: str) -> None:
    schedule = DriftSchedule(task="t", eval_set="s", schedule=line)
    entry = drift_entries([schedule])["drift t/s/*/confirm"]
    assert isinstance(entry["schedule"], crontab)
    for moment in MOMENTS:
        celery = entry["schedule"]
        celery.nowfun = lambda moment=moment: moment
        assert moment + celery.remaining_estimate(moment) == schedule.next_tick(moment)


def test_an_entry_names_its_schedule_for_the_control_queue() -> None:
    (entry,) = drift_entries([DriftSchedule(task="t", eval_set="s", judges=["a"], every_s=1.5)]).values()
    assert (entry["task"], entry["args"], entry["schedule"]) == ("check_drift", ["t/s/a/confirm"], 1.5)
    assert entry["options"]["queue"] == "control"


def test_redbeat_is_used_when_asked_for_and_installed(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scheduler_options({}) == []
    with pytest.raises(InputError, match="pip install celery-redbeat"):
        scheduler_options({"EVALQ_BEAT": "redbeat"})
    (tmp_path / "redbeat.py").write_text("")  # type: ignore[operator]
    monkeypatch.syspath_prepend(str(tmp_path))
    assert scheduler_options({"EVALQ_BEAT": "redbeat"}) == ["-S", "redbeat.RedBeatScheduler"]


def test_an_unknown_scheduler_is_refused() -> None:
    with pytest.raises(InputError, match="is no scheduler"):
        scheduler_options({"EVALQ_BEAT": "cron"})
