"""Any value as the text a person would write for it."""

import json
from decimal import Decimal
from typing import Any


def text_of(value: Any) -> str:
    """Text stays as it is, numbers lose needless zeros, lists and mappings become compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number_text(number: float) -> str:
    """Without an exponent or needless zeros: 5, 0.1, 0.0000001."""
    text = f"{Decimal(str(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
