"""Drift schedules and alert channels in evalq.yaml: defaults, what is refused, when they are due."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from evalq.definitions.alert_channels import AlertChannel, Slack, name_channels
from evalq.definitions.schedules import DriftSchedule
from evalq.errors import InputError
from evalq.settings import Settings, load_settings

NOW = datetime(2026, 11, 17, 7, 14, 13, 500_000, tzinfo=UTC)


def loaded(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "evalq.yaml").write_text(text, "utf-8")
    return load_settings(tmp_path, {})


def problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, text)
    return str(caught.value)


def test_a_schedule_is_weekly_on_saturday_and_confirms_unless_told_otherwise(tmp_path: Path) -> None:
    (schedule,) = loaded(tmp_path, "drift: [{task: t, eval_set: s}]").drift
    assert (schedule.rule, schedule.judges, schedule.max_cost_usd) == ("confirm", [], None)
    assert schedule.next_tick(NOW) == datetime(2026, 11, 21, 3, tzinfo=UTC)
    assert schedule.latest_tick(NOW) == datetime(2026, 11, 14, 3, tzinfo=UTC)
    assert schedule.name == "t/s/*/confirm"


def test_a_schedule_may_count_seconds() -> None:
    schedule = DriftSchedule(task="t", eval_set="s", judges=["a", "b"], every_s=2.0, max_cost_usd=Decimal(1))
    assert schedule.latest_tick(NOW) == datetime(2026, 11, 17, 7, 14, 12, tzinfo=UTC)
    assert schedule.next_tick(NOW) == datetime(2026, 11, 17, 7, 14, 14, tzinfo=UTC)
    assert schedule.name == "t/s/a,b/confirm"


def test_a_wrong_cron_line_is_told_with_its_line(tmp_path: Path) -> None:
    text = "drift:\n  - {task: t, eval_set: s, schedule: weekly}\n"
    assert "evalq.yaml:2" in problem(tmp_path, text)
    assert "write five" in problem(tmp_path, text)


def test_a_line_and_seconds_exclude_each_other(tmp_path: Path) -> None:
    text = "drift: [{task: t, eval_set: s, schedule: '0 3 * * 6', every_s: 5}]"
    assert "exclude each other" in problem(tmp_path, text)


def test_channels_are_named_by_kind_and_place(tmp_path: Path) -> None:
    text = """
alerts:
  - slack: {}
  - webhook: {url: "https://a.example"}
  - command: [./tell.sh]
  - webhook: {url_env: HOOK, headers_env: {Authorization: HOOK_TOKEN}, allow_private: true}
  - telegram: {chat_id_env: CHAT}
"""
    channels = name_channels(loaded(tmp_path, text).alerts)
    assert list(channels) == ["slack", "webhook", "command", "webhook-2", "telegram"]
    assert channels["slack"].slack == Slack(url_env="SLACK_WEBHOOK_URL")
    assert channels["webhook-2"].kind == "webhook"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("{}", "one of telegram, slack, webhook or command"),
        ("{slack: {}, telegram: {}}", "one of telegram, slack, webhook or command"),
        ("{command: null}", "one of telegram, slack, webhook or command"),
        ("{webhook: {}}", "a webhook has one address"),
        ("{webhook: {url: 'https://a.example', url_env: A}}", "a webhook has one address"),
        ("{slack: {url_env: 'https://hooks.slack.com/x'}}", "url_env"),
    ],
)
def test_a_channel_that_is_none_is_refused(tmp_path: Path, entry: str, reason: str) -> None:
    assert reason in problem(tmp_path, f"alerts: [{entry}]")


def test_a_channel_knows_its_kind() -> None:
    assert AlertChannel(command=["true"]).kind == "command"
