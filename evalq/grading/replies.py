"""What grader models are to reply, and reading it: strictly, by the last line or as one JSON object."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evalq.errors import UngradableAnswer
from evalq.records import ReplyForm

PARSER_VERSION = 3
"""Part of the cache key: a reply read by another parser is another verdict."""

REASON_CHARACTERS = 1000
"""As much of a grader's reason is kept."""

Value = TypeVar("Value")
Schema = Mapping[str, Any]

_CLOSING_FENCE = re.compile(r"`{3,}")
_OPENING_FENCE = re.compile(r"`{3,}\s*\w*")
_MOST_LISTED = 21


@dataclass(frozen=True)
class GraderReply(Generic[Value]):
    """What a grader model decided, and why."""

    value: Value
    reason: str = ""


@dataclass(frozen=True)
class Form(Generic[Value]):
    """A form of reply: a schema for providers that hold to one, a demand for the others, and its reader."""

    name: ReplyForm
    schema: Schema
    demand: str
    read: Callable[[str], GraderReply[Value]]


def verdict_form() -> Form[str]:
    """VALID or INVALID, alone on the last line."""
    return Form(
        "verdict",
        _schema("verdict", {"type": "string", "enum": ["VALID", "INVALID"]}),
        _demand("VALID", "or, if the rubric is not met,", "INVALID"),
        _read_verdict,
    )


def score_form(low: int, high: int) -> Form[int]:
    """A whole number from low to high."""

    def read(reply: str) -> GraderReply[int]:
        fields = _whole(reply, "score")
        if fields is None:
            number, reason = _line(reply, r"SCORE=(-?(?:0|[1-9][0-9]{0,6})) REASON=(.+)", "SCORE=n REASON=…")
            return GraderReply(_score(int(number), low, high), _cut(reason))
        return GraderReply(_score(fields["score"], low, high), _reason(fields))

    demand = _demand(f"SCORE=<a whole number from {low} to {high}> REASON=<one sentence>")
    return Form("score", _schema("score", _score_schema(low, high)), demand, read)


def criteria_form(names: Sequence[str], low: int, high: int) -> Form[dict[str, int]]:
    """A whole number from low to high for each criterion, as one JSON object."""

    def read(reply: str) -> GraderReply[dict[str, int]]:
        fields = _json_part(reply, "scores")
        scores = fields["scores"]
        if not isinstance(scores, dict) or set(scores) != set(names):
            raise UngradableAnswer("the grader's scores are not those of the criteria")
        return GraderReply({name: _score(scores[name], low, high) for name in names}, _reason(fields))

    one = _score_schema(low, high)
    schema = _schema("scores", _object(dict.fromkeys(names, one)))
    shape = json.dumps(
        {"reason": "<one sentence>", "scores": dict.fromkeys(names, "<n>")}, ensure_ascii=False
    )
    shape = shape.replace('"<n>"', f"<a whole number from {low} to {high}>")
    return Form("criteria", schema, _demand(shape), read)


def category_form(names: Sequence[str]) -> Form[str]:
    """One of the names."""
    return _choice_form("category", "category", "CATEGORY", names)


def boolean_form() -> Form[str]:
    """YES or NO."""
    return _choice_form("boolean", "answer", "ANSWER", ("YES", "NO"))


def preference_form() -> Form[str]:
    """A, B or TIE."""
    return _choice_form("preference", "winner", "WINNER", ("A", "B", "TIE"))


def _choice_form(name: ReplyForm, key: str, word: str, choices: Sequence[str]) -> Form[str]:
    pattern = f"{word}=({'|'.join(map(re.escape, choices))}) REASON=(.+)"

    def read(reply: str) -> GraderReply[str]:
        fields = _whole(reply, key)
        if fields is None:
            choice, reason = _line(reply, pattern, f"{word}={'|'.join(choices)} REASON=…")
            return GraderReply(choice, _cut(reason))
        if fields[key] not in choices:
            raise UngradableAnswer(f"the grader's {key} is none of {', '.join(choices)}")
        return GraderReply(fields[key], _reason(fields))

    schema = _schema(key, {"type": "string", "enum": list(choices)})
    return Form(name, schema, _demand(f"{word}=<{' or '.join(choices)}> REASON=<one sentence>"), read)


def _read_verdict(reply: str) -> GraderReply[str]:
    fields = _whole(reply, "verdict")
    if fields is None:
        # ASCII: elsewhere a dotless i has a capital I, too.
        found = re.fullmatch(r"(VALID|INVALID)\.?", _last_line(reply), re.IGNORECASE | re.ASCII)
        if not found:
            raise UngradableAnswer("the last line of the grader's reply is neither VALID nor INVALID")
        return GraderReply(found[1].upper())
    if fields["verdict"] not in ("VALID", "INVALID"):
        raise UngradableAnswer("the grader's verdict is neither VALID nor INVALID")
    return GraderReply(fields["verdict"], _reason(fields))


def _demand(*lines: str) -> str:
    """The end of a prompt: what the reply has to look like."""
    return "\n".join(
        (
            "If your reply is held to a JSON schema, fill that in. Otherwise you may think aloud first, "
            "briefly; then end with one line of exactly this form, without any markup, and nothing "
            "after it:",
            *lines,
        )
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(key: str, one: Mapping[str, Any]) -> Schema:
    """The reason first, so that the mark follows from it."""
    return _object({"reason": {"type": "string"}, key: one})


def _score_schema(low: int, high: int) -> Schema:
    """Listed where there are few: not every provider knows a minimum."""
    is_short = high - low < _MOST_LISTED
    return {"type": "integer", "enum": list(range(low, high + 1))} if is_short else {"type": "integer"}


def _last_line(reply: str) -> str:
    """Lines end at a line feed alone: a reason may quote any other separator."""
    return reply.rstrip().rpartition("\n")[2].strip()


def _line(reply: str, pattern: str, form: str) -> tuple[str, str]:
    found = re.fullmatch(pattern, _last_line(reply), re.ASCII)
    if not found:
        raise UngradableAnswer(f"the last line of the grader's reply is not {form}")
    return found[1], found[2]


def _whole(reply: str, key: str) -> dict[str, Any] | None:
    """The object a reply is, with just a reason and this key; None for a reply that is no object."""
    fields = _object_in(reply.strip())
    return None if fields is None else _expected(fields, key)


def _json_part(reply: str, key: str) -> dict[str, Any]:
    """The object a reply is or ends with: on its last line, or in a code block that ends it."""
    for text in (reply.strip(), _last_line(reply), _last_block(reply)):
        fields = _object_in(text)
        if fields is not None:
            return _expected(fields, key)
    raise UngradableAnswer("the grader's reply does not end with one JSON object")


def _last_block(reply: str) -> str:
    """What is inside the code block that ends a reply; "" when none does."""
    lines = reply.rstrip().split("\n")
    if not _CLOSING_FENCE.fullmatch(lines[-1].strip()):
        return ""
    opening = (at for at in range(len(lines) - 2, -1, -1) if lines[at].lstrip().startswith("```"))
    start = next(opening, None)
    is_block = start is not None and _OPENING_FENCE.fullmatch(lines[start].strip())
    return "\n".join(lines[start + 1 : -1]).strip() if start is not None and is_block else ""


def _object_in(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a key that is there twice nobody knows which one was meant."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _expected(fields: dict[str, Any], key: str) -> dict[str, Any]:
    if set(fields) != {"reason", key} or not isinstance(fields["reason"], str):
        raise UngradableAnswer(f"the grader's JSON is not an object with reason and {key}")
    return fields


def _score(value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise UngradableAnswer(f"a score of the grader is no whole number from {low} to {high}")
    return value


def _reason(fields: Mapping[str, Any]) -> str:
    return _cut(str(fields["reason"]))


def _cut(reason: str) -> str:
    """As it can be stored: JSON may escape what neither UTF-8 nor Postgres holds."""
    storable = reason.replace("\x00", "").encode(errors="replace").decode()
    return storable.strip()[:REASON_CHARACTERS]
