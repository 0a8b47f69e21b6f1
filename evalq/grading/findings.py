"""Findings: the JSON list an auditing judge answers with, read strictly but fairly."""

import json
import re
from typing import Any

from evalq.errors import UngradableAnswer

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_MAX_CHARS = 1_000_000


def parse_list(answer: str) -> list[Any]:
    """The answer's JSON list, with or without a code fence around it."""
    text = answer[:_MAX_CHARS]
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced.group(1) if fenced else text)
        finding_json(value).encode()  # half a surrogate pair could not be sent on to a grader
    except (ValueError, RecursionError) as exc:
        raise UngradableAnswer("the answer is not a JSON list") from exc
    if not isinstance(value, list):
        raise UngradableAnswer(f"the answer is a JSON {type(value).__name__}, not a list")
    return value


def finding_text(finding: Any) -> str:
    """Everything a finding says, as plain text: JSON escapes must not hide a quote."""
    texts, rest = [], [finding]
    while rest:  # not by recursion: a model may nest deeper than the stack
        value = rest.pop()
        if isinstance(value, dict | list):
            rest += reversed(list(value.values()) if isinstance(value, dict) else value)
        else:
            texts.append(value if isinstance(value, str) else json.dumps(value))
    return "\n".join(texts)


def finding_json(finding: Any) -> str:
    """A finding in one canonical form: what the grader model reads and the cache is keyed by."""
    return json.dumps(finding, ensure_ascii=False, sort_keys=True)
