"""Values as a grader's reason quotes them: a few words, never all of a long answer."""

import json
from collections.abc import Sequence
from typing import Any

LISTED = 5


def shown(value: Any, width: int = 80) -> str:
    """A value as a reason quotes it, cut to about `width` characters."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def listed(values: Sequence[Any]) -> str:
    """The first few of several values."""
    names = ", ".join(shown(value, 40) for value in values[:LISTED])
    return names if len(values) <= LISTED else f"{names} and {len(values) - LISTED} more"
