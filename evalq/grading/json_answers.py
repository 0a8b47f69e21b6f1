"""JSON in answers, read strictly."""

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from evalq.errors import UngradableAnswer
from evalq.grading.subject import Mark, mark

MAX_DEPTH = 100
MAX_DIGITS = 4_000

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)


def read_json(text: str) -> Any:
    """The one JSON value that is the text; ValueError for what is none.

    Raises UngradableAnswer for JSON that goes deeper or has longer numbers than can be handled.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole_number)
    except RecursionError:
        raise UngradableAnswer("the answer's JSON is nested too deep") from None
    check_depth(value)
    return value


def unfenced(text: str) -> str:
    """The text without the code fence around the whole of it, if there is one."""
    fenced = _FENCE.match(text)
    return fenced.group(1) if fenced else text


def mark_json(text: str, look: Callable[[Any], Mark]) -> Mark:
    """Look at the answer's JSON, a code fence around it or not; an answer that is none has failed."""
    try:
        value = read_json(unfenced(text))
    except ValueError as exc:
        return mark(False, f"the answer is not JSON: {exc}")
    return look(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise UngradableAnswer(f"the answer's JSON has a number of {len(digits):,} digits")
    return int(digits)


def check_depth(value: Any) -> None:
    """UngradableAnswer for a value too deep: what looks at it later does so by recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise UngradableAnswer(f"the answer's JSON is nested deeper than {MAX_DEPTH} levels")
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [
            below for item in containers for below in (item.values() if isinstance(item, dict) else item)
        ]
