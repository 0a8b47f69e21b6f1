"""JSON that a terminal may show: letters of every language stay, what a terminal obeys is escaped."""

import json
import re
from typing import Any

# Control and direction characters in model text: a terminal obeys them even inside a JSON string.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_text(value: Any) -> str:
    """Indented JSON."""
    return _escape_unsafe(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def json_line(value: Any) -> str:
    """The same on one line, for JSONL."""
    return _escape_unsafe(json.dumps(value, ensure_ascii=False, default=str)) + "\n"


def _escape_unsafe(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
