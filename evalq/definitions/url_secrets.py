"""Refuses secrets written into addresses and headers: definitions are stored, queued and shown."""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator

# Whole words of a name, however they are joined: api_key, X-Api-Key, accessToken, sig.
_SECRET_NAME = re.compile(
    r"(?:^|[^a-z])(?:api|app|access|auth|subscription|client|private)?[-_]?"
    r"(?:key|token|secret|password|passwd|pwd|sig|signature|credentials?|auth|authorization|cookie"
    r"|session|bearer|jwt)(?:$|[^a-z])"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SECRET_VALUE = re.compile(r"(?:bearer|basic|token|digest)\s+\S|(?:sk|pk|ghp|xox[abp])[-_]\S", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether a header or a part of a query is named like a secret."""
    return _SECRET_NAME.search(_CAMEL.sub("-", name).lower()) is not None


def check_url(url: str) -> str:
    """The address itself; ValueError, without the secret, if it holds a login or a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("this is not an address; write e.g. https://host/path") from None
    if "@" in unquote(parts.netloc):
        raise ValueError("this address holds a login; name the variable of its header in headers_env instead")
    for query in (parts.query, parts.fragment):
        for name, value in parse_qsl(query.replace(";", "&"), keep_blank_values=True):
            if names_secret(name) or _SECRET_VALUE.match(value):
                remedy = "name its variable in headers_env or url_env instead"
                raise ValueError(f"this address holds a key in its query; {remedy}")
    return url


def check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers themselves; ValueError, without the value, if one holds a secret."""
    for name, value in headers.items():
        if names_secret(name) or _SECRET_VALUE.match(value.strip()):
            raise ValueError(
                f"the header {name[:40]!r} holds a secret; name its variable in headers_env instead"
            )
    return headers


PublicUrl = Annotated[str, AfterValidator(check_url)]
"""An address that may be stored and shown."""

PublicHeaders = Annotated[dict[str, str], AfterValidator(check_headers)]
"""Headers that may be stored and shown."""
