"""Each channel's own form, its secrets from the environment only, and addresses that are refused."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from evalq.definitions.alert_channels import AlertChannel, Slack, Telegram, Webhook
from evalq.drift.alerts import AlertMessage, AlertSender, Undelivered, is_public, post, send, try_to_send

MESSAGE = AlertMessage("P0 DRIFT: a < b & c", {"kind": "drift", "run_id": 7})
ENVIRON = {"TOKEN": "tok", "CHAT": "42", "HOOK": "https://hooks.example/secret", "AUTH": "Bearer x"}


class Sent:
    """Where documents go that would leave the machine."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, Any, Mapping[str, str], bool]] = []

    def __call__(
        self, url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool = False
    ) -> None:
        self.posts.append((url, json.loads(body), headers, allow_private))


@pytest.fixture
def sent() -> Sent:
    return Sent()


def test_telegram_gets_chat_and_text(sent: Sent) -> None:
    channel = AlertChannel(telegram=Telegram(token_env="TOKEN", chat_id_env="CHAT"))
    send(channel, AlertMessage("x" * 9000, {}), AlertSender(ENVIRON, sent))
    url, body, _, _ = sent.posts[0]
    assert url == "https://api.telegram.org/bottok/sendMessage"
    assert body["chat_id"] == "42"
    assert len(body["text"]) == 4000


def test_slack_gets_text_without_markup(sent: Sent) -> None:
    send(AlertChannel(slack=Slack(url_env="HOOK")), MESSAGE, AlertSender(ENVIRON, sent))
    assert sent.posts[0][:2] == (ENVIRON["HOOK"], {"text": "P0 DRIFT: a &lt; b &amp; c"})


def test_a_webhook_gets_the_whole_document_and_its_headers(sent: Sent) -> None:
    hook = Webhook(url_env="HOOK", headers_env={"Authorization": "AUTH"}, allow_private=True)
    send(AlertChannel(webhook=hook), MESSAGE, AlertSender(ENVIRON, sent))
    url, body, headers, allow_private = sent.posts[0]
    assert (url, headers["authorization"], allow_private) == (ENVIRON["HOOK"], "Bearer x", True)
    assert body == {"kind": "drift", "run_id": 7, "text": MESSAGE.text}


def test_a_webhook_with_a_written_address_needs_no_variable(sent: Sent) -> None:
    send(AlertChannel(webhook=Webhook(url="https://ops.example")), MESSAGE, AlertSender({}, sent))
    assert sent.posts[0][0] == "https://ops.example"


@pytest.mark.parametrize(
    ("environ", "reason"),
    [({}, "HOOK is not set"), ({"HOOK": "https://a\x00"}, "HOOK holds characters that cannot be sent")],
)
def test_a_missing_secret_is_named_not_guessed(sent: Sent, environ: dict[str, str], reason: str) -> None:
    assert (
        try_to_send(AlertChannel(slack=Slack(url_env="HOOK")), MESSAGE, AlertSender(environ, sent)) == reason
    )
    assert sent.posts == []


def test_a_command_that_fails_or_does_not_exist_is_undelivered() -> None:
    assert (
        try_to_send(AlertChannel(command=["false"]), MESSAGE, AlertSender({}))
        == "the command ended with exit code 1"
    )
    error = try_to_send(AlertChannel(command=["/no/such/program"]), MESSAGE, AlertSender({}))
    assert error == "the command cannot be started: No such file or directory"


def test_a_command_that_reads_nothing_has_still_arrived() -> None:
    assert (
        try_to_send(AlertChannel(command=["true"]), AlertMessage("x" * 1_000_000, {}), AlertSender({}))
        is None
    )


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "ff02::1",
        "::169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "192.0.0.192",
        "168.63.129.16",
        "2001:0:1::1",
    ],
)
def test_addresses_that_are_not_the_internets_are_private(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://127.0.0.1:1/", "private"),
        ("https://localhost/", "private"),
        ("https://[::1]/", "private"),
        ("https://169.254.169.254/latest/meta-data", "private"),
        ("https://2130706433/", "private"),
        ("https://2852039166/", "private"),
        ("https://0xa9fea9fe/", "private"),
        ("https://0251.0376.0251.0376/", "not an http or https URL"),
        ("https://169.254.43518/", "private"),
        ("https://127.1/", "private"),
        ("http://8.8.8.8/", "not https"),
        ("ftp://8.8.8.8/", "not an http or https URL"),
        ("https://", "not an http or https URL"),
        ("https://no-such-host.invalid/", "not known"),
    ],
)
def test_an_address_somebody_should_not_have_written_is_refused(url: str, reason: str) -> None:
    with pytest.raises(Undelivered, match=reason):
        post(url, b"{}", {})
