"""Secrets in addresses and headers: one table for every definition that has either."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalq.definitions.alert_channels import Webhook
from evalq.definitions.judge import JudgeConfig

JUDGE: TypeAdapter[Any] = TypeAdapter(JudgeConfig)
SECRET = "s3cr3t-of-mine"
URLS = [
    f"https://me:{SECRET}@host/x",
    f"https://{SECRET}@host/x",
    f"https://me%3A{SECRET}%40host@host/x",
    *(
        f"https://host/x?a=1&{name}={SECRET}"
        for name in (
            "key",
            "api_key",
            "apikey",
            "apiKey",
            "x-api-key",
            "token",
            "access_token",
            "accessToken",
        )
    ),
    *(
        f"https://host/x?{name}={SECRET}"
        for name in ("sig", "secret", "client_secret", "password", "auth", "%6Bey")
    ),
    f"https://host/x;?v=1;token={SECRET}",
    f"https://host/x#access_token={SECRET}",
    f"https://host/x?v=sk-{SECRET}",
]
HEADERS = [
    "Authorization",
    "authorization",
    "Proxy-Authorization",
    "X-Api-Key",
    "api-key",
    "Cookie",
    "X-Auth-Token",
]
OWNERS: dict[str, Callable[[str], Any]] = {
    "webhook": lambda url: Webhook(url=url),
    "http": lambda url: JUDGE.validate_python({"name": "j", "provider": "http", "url": url}),
    **{
        provider: lambda url, provider=provider: JUDGE.validate_python(  # type: ignore[misc]
            {"name": "j", "provider": provider, "model": "m", "base_url": url}
        )
        for provider in ("anthropic", "openai", "xai", "google")
    },
}


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("owner", OWNERS)
def test_a_secret_in_an_address_is_refused(owner: str, url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        OWNERS[owner](url)
    assert "this address holds a" in str(caught.value.errors()[0]["msg"])
    assert SECRET not in str(caught.value.errors()[0]["msg"])


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "https://host/monkeys?version=2&keyboard=a&max_tokens=5"]
)
def test_an_address_without_a_secret_is_kept(owner: str, url: str) -> None:
    assert url in OWNERS[owner](url).model_dump_json()


@pytest.mark.parametrize("name", [*HEADERS, "x-tenant"])
def test_a_secret_in_a_header_is_refused(name: str) -> None:
    headers = {name: f"Bearer {SECRET}"}
    with pytest.raises(ValidationError, match="headers_env") as caught:
        JUDGE.validate_python({"name": "j", "provider": "http", "url": "https://h", "headers": headers})
    assert SECRET not in str(caught.value.errors()[0]["msg"])


def test_plain_headers_are_kept() -> None:
    headers = {"accept": "application/json", "x-tenant": "a"}
    judge = JUDGE.validate_python({"name": "j", "provider": "http", "url": "https://h", "headers": headers})
    assert judge.headers == headers
