"""Ways to reach somebody: e-mail and IP addresses."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from evalq.scrub.span import Place

_LOCAL_PART = re.compile(r"[\w.%+'-]+\Z")
_DOMAIN = re.compile(r"(?:@|%40)(?:[^\W_](?:[\w-]{0,62})\.){1,8}(?P<top>[^\W\d_]{2,24})(?![^\W_])")
_SPELT_OUT = re.compile(
    r"(?i)(?<![\w.%+-])[\w.%+-]{1,64}[ ]?(?:\(at\)|\[at\]|\{at\})[ ]?"
    r"[^\W_][\w-]{0,62}"
    r"(?:(?:[ ]?(?:\(dot\)|\[dot\]|\{dot\}|\(punkt\)|\[punkt\])[ ]?|\.)[^\W_][\w-]{0,62}){1,6}"
)
# logo@2x.png is a picture, not a mailbox.
_FILE_ENDINGS = {"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css", "html"}

_IN_URL_LOGIN = re.compile(r"://[^\s/?#]{0,200}\Z")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{3,39}(?:\.\d{1,3}){0,3}(?![\w:])")
_VERSION = re.compile(
    r"(?i)(?:(?<![^\W\d_])(?:v|ver|version|build|release|firmware|phiên bản|section|chapter|table"
    r"|abschnitt|kapitel|tabelle|mục|điều)[ .:=]{0,3}|[§/][ ]?)\Z"
)


def find_emails(text: str) -> Iterator[Place]:
    """E-mail addresses, in letters of any language, and those spelt with (at)."""
    for found in _DOMAIN.finditer(text):
        local = _LOCAL_PART.search(text, max(0, found.start() - 64), found.start())
        if local and _is_mailbox(local, found, text):
            yield local.end() - len(local[0].lstrip(".'-")), found.end()
    yield from (found.span() for found in _SPELT_OUT.finditer(text))


def _is_mailbox(local: re.Match[str], domain: re.Match[str], text: str) -> bool:
    """Not a picture's name, not a repository's address, not the login of a URL: that is found as such."""
    if not local[0].strip(".'-") or domain["top"].lower() in _FILE_ENDINGS:
        return False
    is_repository = local[0] == "git" and text.startswith(":", domain.end())
    return not is_repository and not _IN_URL_LOGIN.search(text, max(0, local.start() - 220), local.start())


def find_ips(text: str) -> Iterator[Place]:
    """IPv4 and IPv6 addresses that may be somebody's: not loopback, not masks, not versions."""
    for found in _IPV4.finditer(text):
        is_version = _VERSION.search(text, max(0, found.start() - 16), found.start())
        if not is_version and _is_somebodys(IPv4Address(found[0])):
            yield found.span()
    for found in _IPV6.finditer(text):
        address = _ipv6(found[0])
        if address and _is_somebodys(address):
            yield found.span()


def _ipv6(text: str) -> IPv6Address | None:
    """A word like dead::beef, or a scope like a::b, is no address without a digit."""
    if text.count(":") < 2 or not re.search(r"\d", text):
        return None
    try:
        return IPv6Address(text)
    except AddressValueError:
        return None


def _is_somebodys(address: IPv4Address | IPv6Address) -> bool:
    is_mask = address.version == 4 and str(address).startswith("255.")
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or is_mask)
