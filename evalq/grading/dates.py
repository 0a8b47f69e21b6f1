"""Dates in texts, by the formats people name: YYYY-MM-DD, DD.MM.YYYY."""

import re
from collections.abc import Sequence
from datetime import date, datetime

DATE_FORMATS = (
    "YYYY-MM-DD",
    "YYYY-MM-DDTHH:mm:ss",
    "YYYY-MM-DDTHH:mm:ssZ",
    "DD-MMM-YYYY",
    "DD.MM.YYYY",
    "MM/DD/YYYY",
    "DD/MM/YYYY",
    "MM-DD-YYYY",
    "DD-MM-YYYY",
)
"""Tried in this order: 03/04/2026 is the fourth of March unless the formats say otherwise."""

MAX_CHARS = 64

_TOKENS = {"YYYY": "%Y", "MMM": "%b", "MM": "%m", "DD": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "Z": "%z"}
_TOKEN = re.compile("|".join(_TOKENS))


def read_date(text: str, formats: Sequence[str] = DATE_FORMATS) -> date | None:
    """The day a text names in one of the formats; None when in none of them."""
    for form in formats if len(text) <= MAX_CHARS else ():
        try:
            return datetime.strptime(text.strip(), _directives(form)).date()  # noqa: DTZ007 - only the day counts
        except ValueError:
            continue
    return None


def _directives(form: str) -> str:
    return _TOKEN.sub(lambda token: _TOKENS[token.group()], form.replace("%", "%%"))
