"""Finds secrets: API keys by their prefixes, signed tokens, private keys, passwords by their labels."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from evalq.cases.scrub.span import Place

# By issuer: a text that every such key contains, so that other texts are skipped fast, and its form.
_SHAPES: dict[str, tuple[str, str]] = {
    "Anthropic": ("sk-ant-", r"sk-ant-[\w-]{16,}"),
    "OpenAI and others": ("sk-", r"sk-(?!ant-)(?:[a-z0-9]{2,10}-){0,2}[\w-]{20,}"),
    "xAI": ("xai-", r"xai-[A-Za-z0-9]{20,}"),
    "Google": ("AIza", r"AIza[\w-]{35}"),
    "Google OAuth": ("ya29.", r"ya29\.[\w-]{20,}"),
    "Google client": ("GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    "AWS id": ("A", r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}"),
    "GitHub": ("gh", r"gh[opsur]_[A-Za-z0-9]{36,}"),
    "GitHub fine-grained": ("github_pat_", r"github_pat_\w{22,}"),
    "GitLab": ("gl", r"gl(?:pat|dt|rt|ptt|cbt|oas)-[\w-]{20,}"),
    "Slack": ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "Slack webhook": ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/-]{20,}"),
    "Stripe": ("k_", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    "Stripe webhook": ("whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    "SendGrid": ("SG.", r"SG\.[\w-]{16,40}\.[\w-]{16,60}"),
    "Twilio": ("", r"(?:AC|SK)[0-9a-f]{32}"),
    "Mailgun": ("key-", r"key-[0-9a-f]{32}"),
    "Telegram": (":AA", r"[0-9]{8,10}:AA[\w-]{32,36}"),
    "Hugging Face": ("hf_", r"hf_[A-Za-z0-9]{30,}"),
    "npm": ("npm_", r"npm_[A-Za-z0-9]{36}"),
    "PyPI": ("pypi-", r"pypi-[\w-]{32,}"),
    "DigitalOcean": ("do", r"do[opr]_v1_[0-9a-f]{64}"),
    "Groq": ("gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    "Perplexity": ("pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    "Replicate": ("r8_", r"r8_[A-Za-z0-9]{30,}"),
    "Shopify": ("shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    "Azure storage": ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{60,}={0,2}"),
}
_KEYS = tuple(
    (mark, re.compile(form if form.startswith("(?<=") else rf"(?<![A-Za-z0-9]){form}(?![A-Za-z0-9])"))
    for mark, form in _SHAPES.values()
)
_JWT = re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?")

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{12,}+)*+")

_HEADER = re.compile(
    r"(?i)(?<![A-Za-z])(?P<header>authorization[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?)?"
    r"(?P<scheme>bearer|basic|token|digest)"
    r"[ :]{1,2}(?P<value>[A-Za-z0-9._~+/-]{8,2000}+={0,2})"
)
_URL_LOGIN = re.compile(r"://(?P<login>(?:[^\s/?#\"'<>\[\]@]{1,200}+@){1,3})")

_LONG_LABELS = (
    r"password|passwort|kennwort|passphrase|passwd|mật khẩu"
    r"|secret[_-]?access[_-]?key|client[_-]?secret|secret[_-]?key|secret"
    r"|(?:api[ _-]?|access[_-]?|account[_-]?|private[_-]?)key|(?:access|auth|refresh|session|bot)[_-]?token"
)
_SHORT_LABELS = r"token|pwd|pass|pw|passcode|pin|mk"
_LABEL_HINTS = ("pass", "pw", "kennwort", "mật khẩu", "secret", "key", "token", "pin", "mk")
_ASSIGNED = re.compile(
    rf"(?i)(?:(?P<long>{_LONG_LABELS})|(?<![^\W_])(?P<short>{_SHORT_LABELS}))[\"'\]]{{0,2}}\s{{0,3}}"
    r"(?P<sign>=>|:=|={1,2}|:|(?<=\s)(?:is|ist|lautet|là)(?=\s))\s{0,3}[\"'`]?(?P<value>(?:[^\s\"'`<>,;&]|&(?![\w-]{1,40}=)){4,200})"
)
_REFERENCE = re.compile(
    r"\$\{|\$[A-Z_]+\b|%\w*%|%\(|%s|[\[({]|\*{3}|\.{3}|[A-Za-z_.]+[(\[{]|(?:env|process|os|config|settings)\.|https?://"
    r"|(.)\1*\Z"
)
_MAY_BE_DIGITS = (
    "password",
    "passwort",
    "kennwort",
    "mật khẩu",
    "pwd",
    "pass",
    "pw",
    "passcode",
    "pin",
    "mk",
)
_SYMBOL = re.compile(r"[!@#$%^*+=?~|\\]")
_FEWEST_BITS = 1.9
_PASSPHRASE_CHARACTERS = 16


def find_private_keys(text: str) -> Iterator[Place]:
    """PEM and PGP private keys, whole blocks; a truncated one as far as it goes."""
    at, has_end = 0, True
    while begin := _PEM_BEGIN.search(text, at):
        end = _PEM_END.search(text, begin.end()) if has_end else None
        has_end = end is not None
        body = _PEM_BODY.match(text, begin.end())
        at = begin.end()
        if end:
            at = end.end()
        elif body:
            at = body.end()
        yield begin.start(), at


def find_url_logins(text: str) -> Iterator[Place]:
    """User and password in an address, as in postgresql://user:password@host."""
    for found in _URL_LOGIN.finditer(text):
        start, end = found.start("login"), found.end("login") - 1
        user, colon, password = text[start:end].partition(":")
        if (colon and password) or len(user) >= 16:
            yield start, end


def find_jwts(text: str) -> Iterator[Place]:
    """JSON web tokens, signed or not."""
    return (found.span() for found in _JWT.finditer(text))


def find_keys(text: str) -> Iterator[Place]:
    """Keys with a prefix of their issuer."""
    for mark, form in _KEYS:
        if mark in text:
            yield from (found.span() for found in form.finditer(text) if _is_mixed(found[0]))


def find_auth_headers(text: str) -> Iterator[Place]:
    """The value after Bearer, Basic or Token: any value in a header, elsewhere one that looks random."""
    for found in _HEADER.finditer(text):
        value = found["value"]
        is_bearer = found["scheme"].lower() == "bearer" and len(value) >= 16
        if found["header"] or (is_bearer and _is_mixed(value) and bits_per_character(value) > 3):
            yield found.span("value")


def find_assigned_secrets(text: str) -> Iterator[Place]:
    """Values labelled password, secret, key or token that look like one; not references to it."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _LABEL_HINTS):
        return
    for found in _ASSIGNED.finditer(text):
        value = found["value"].rstrip(".)]}:")
        if _looks_secret(value, label=(found["long"] or found["short"]).lower(), sign=found["sign"]):
            yield found.start("value"), found.start("value") + len(value)


def _looks_secret(value: str, *, label: str, sign: str) -> bool:
    if _REFERENCE.match(value):
        return False
    may_be_digits = label in _MAY_BE_DIGITS
    if may_be_digits and value.isdecimal():
        return len(value) >= 4 and sign in ("=", ":")
    if may_be_digits and sign in ("=", ":=") and len(value) >= _PASSPHRASE_CHARACTERS:
        return True
    is_random = bits_per_character(value) >= _FEWEST_BITS and (_is_mixed(value) or _has_symbol(value))
    return is_random and len(value) >= (6 if may_be_digits else 8)


def _is_mixed(value: str) -> bool:
    """True for letters and digits together: a plain word is not a key."""
    return bool(re.search(r"\d", value) and re.search(r"[^\W\d_]", value))


def _has_symbol(value: str) -> bool:
    return bool(_SYMBOL.search(value) and re.search(r"[^\W\d_]", value))


def bits_per_character(text: str) -> float:
    """Shannon's entropy of a text's own characters; 0 for an empty one."""
    counts = Counter(text).values()
    return -math.fsum(n / len(text) * math.log2(n / len(text)) for n in counts)
