"""Where alerts go: Telegram, Slack, a webhook or a command; secrets are named, never written."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.url_secrets import PublicUrl

Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The name of an environment variable, or of a key stored by `evalq keys set`."""


class Telegram(Definition):
    """A bot's message to a chat."""

    token_env: Variable = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - the variable's name
    chat_id_env: Variable = "TELEGRAM_CHAT_ID"


class Slack(Definition):
    """A Slack incoming webhook; its address is its secret."""

    url_env: Variable = "SLACK_WEBHOOK_URL"


class Webhook(Definition):
    """Any address that takes a JSON document; `headers_env` names the variables that hold header values.

    Private, loopback and link-local addresses are refused unless `allow_private` is true.
    """

    url: PublicUrl | None = Field(default=None, pattern=r"^https?://")
    url_env: Variable | None = None
    headers_env: dict[str, Variable] = Field(default={})
    allow_private: bool = False

    @model_validator(mode="after")
    def _has_one_address(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("a webhook has one address; write url, or url_env for a secret one")
        return self


class AlertChannel(Definition):
    """One entry of `alerts:` in evalq.yaml: exactly one kind."""

    telegram: Telegram | None = None
    slack: Slack | None = None
    webhook: Webhook | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if len(self.model_fields_set) != 1 or getattr(self, self.kind) is None:
            raise ValueError("an alert channel is one of telegram, slack, webhook or command")
        return self

    @property
    def kind(self) -> Literal["telegram", "slack", "webhook", "command"]:
        """The one field that is set."""
        (kind,) = self.model_fields_set
        return kind  # type: ignore[return-value]


def name_channels(channels: Sequence[AlertChannel]) -> dict[str, AlertChannel]:
    """The channels by kind, the second of a kind as `webhook-2`; deliveries are stored by these names."""
    seen: Counter[str] = Counter()
    by_name = {}
    for channel in channels:
        seen[channel.kind] += 1
        name: str = channel.kind
        if seen[channel.kind] > 1:
            name = f"{channel.kind}-{seen[channel.kind]}"
        by_name[name] = channel
    return by_name
