"""Pseudonyms: the same value has the same stand-in, `[email-1]`, in every text of a file."""

import hashlib
import hmac
import re
from collections import defaultdict
from collections.abc import Iterable

from evalq.scrub import RANKING
from evalq.scrub.span import Kind

STAND_IN = re.compile(rf"\[(?P<kind>{'|'.join(RANKING)})-(?P<number>[1-9]\d{{0,8}}|[0-9a-f]{{12}})\]")

_CASELESS: tuple[Kind, ...] = ("email", "ip", "iban", "address", "birth-date")
_SPACELESS: tuple[Kind, ...] = ("card", "iban", "ssn", "phone", "id-number")


class Pseudonyms:
    """Counts by kind in order of appearance; with a key, stand-ins that are the same in every file."""

    def __init__(self, key: bytes | None = None, *, taken: Iterable[str] = ()) -> None:
        """`taken` are texts whose stand-ins are somebody else's: their numbers are passed over."""
        self._key = key
        self._known: dict[tuple[Kind, str], str] = {}
        self._last: defaultdict[str, int] = defaultdict(int)
        for text in taken:
            for found in STAND_IN.finditer(text):
                if found["number"].isdecimal() and len(found["number"]) < 10:
                    self._last[found["kind"]] = max(self._last[found["kind"]], int(found["number"]))

    def stand_in(self, kind: Kind, value: str) -> str:
        """What stands in for a value; spaces, hyphens and case that change nothing about it do not count."""
        known = (kind, normal_form(kind, value))
        if known not in self._known:
            self._known[known] = f"[{kind}-{self._number(*known)}]"
        return self._known[known]

    def _number(self, kind: Kind, value: str) -> str:
        if self._key is not None:
            return hmac.new(self._key, f"{kind}\n{value}".encode(), hashlib.sha256).hexdigest()[:12]
        self._last[kind] += 1
        return str(self._last[kind])


def normal_form(kind: Kind, value: str) -> str:
    """The value as its kind compares it: a number without its spaces, an address without its case."""
    text = re.sub(r"[\s().\u2010-\u2013/-]", "", value) if kind in _SPACELESS else value
    return text.casefold() if kind in _CASELESS else text


def mask(value: str) -> str:
    """All that may be shown of a value: its first character and how long it is."""
    return f"{value[:1]}…({len(value)})"


def renumbered(text: str, numbers: dict[str, int]) -> str:
    """The text with its stand-ins counted anew by `numbers`, which goes on counting: for comparing texts."""

    def number(found: re.Match[str]) -> str:
        return f"[{found['kind']}-{numbers.setdefault(found[0], len(numbers) + 1)}]"

    return STAND_IN.sub(number, text)
