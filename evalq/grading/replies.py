"""The replies that grader models must give, and their strict parsing: a last line or one JSON object."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evalq.errors import UngradableAnswer
from evalq.records import ReplyForm

PARSER_VERSION = 3
"""Part of the cache key: another parser may read another verdict in the same reply."""

REASON_CHARACTERS = 1000
"""How much of a grader's reason is kept."""

Value = TypeVar("Value")
Schema = Mapping[str, Any]

_CLOSING_FENCE = re.compile(r"`{3,}")
_OPENING_FENCE = re.compile(r"`{3,}\s*\w*")
_MOST_LISTED = 21


@dataclass(frozen=True)
class GraderReply(Generic[Value]):
    """A grader model's decision, and why."""

    value: Value
    reason: str = ""


@dataclass(frozen=True)
class Form(Generic[Value]):
    """A form of reply: a schema for providers that enforce one, a demand for the others, and its parser."""

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
        fields = _read_object(reply, "score")
        if fields is not None:
            return GraderReply(_check_score(fields["score"], low, high), _storable(fields["reason"]))
        pattern = r"SCORE=(-?(?:0|[1-9][0-9]{0,6})) REASON=(.+)"
        number, reason = _read_last_line(reply, pattern, "SCORE=n REASON=…")
        return GraderReply(_check_score(int(number), low, high), _storable(reason))

    demand = _demand(f"SCORE=<a whole number from {low} to {high}> REASON=<one sentence>")
    return Form("score", _schema("score", _score_schema(low, high)), demand, read)


def criteria_form(names: Sequence[str], low: int, high: int) -> Form[dict[str, int]]:
    """A whole number from low to high for each criterion, as one JSON object."""

    def read(reply: str) -> GraderReply[dict[str, int]]:
        fields = _read_closing_object(reply, "scores")
        scores = fields["scores"]
        if not isinstance(scores, dict) or set(scores) != set(names):
            raise UngradableAnswer("the grader's scores are not those of the criteria")
        checked = {name: _check_score(scores[name], low, high) for name in names}
        return GraderReply(checked, _storable(fields["reason"]))

    scores = _object_schema(dict.fromkeys(names, _score_schema(low, high)))
    example = {"reason": "<one sentence>", "scores": dict.fromkeys(names, "<n>")}
    shape = json.dumps(example, ensure_ascii=False)
    shape = shape.replace('"<n>"', f"<a whole number from {low} to {high}>")
    return Form("criteria", _schema("scores", scores), _demand(shape), read)


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
        fields = _read_object(reply, key)
        if fields is None:
            choice, reason = _read_last_line(reply, pattern, f"{word}={'|'.join(choices)} REASON=…")
            return GraderReply(choice, _storable(reason))
        if fields[key] not in choices:
            raise UngradableAnswer(f"the grader's {key} is none of {', '.join(choices)}")
        return GraderReply(fields[key], _storable(fields["reason"]))

    schema = _schema(key, {"type": "string", "enum": list(choices)})
    return Form(name, schema, _demand(f"{word}=<{' or '.join(choices)}> REASON=<one sentence>"), read)


def _read_verdict(reply: str) -> GraderReply[str]:
    fields = _read_object(reply, "verdict")
    if fields is None:
        # ASCII: otherwise a dotless i would match a capital I.
        found = re.fullmatch(r"(VALID|INVALID)\.?", _last_line(reply), re.IGNORECASE | re.ASCII)
        if not found:
            raise UngradableAnswer("the last line of the grader's reply is neither VALID nor INVALID")
        return GraderReply(found[1].upper())
    if fields["verdict"] not in ("VALID", "INVALID"):
        raise UngradableAnswer("the grader's verdict is neither VALID nor INVALID")
    return GraderReply(fields["verdict"], _storable(fields["reason"]))


def _demand(*lines: str) -> str:
    """The end of a prompt: what the reply must look like."""
    return "\n".join(
        (
            "If your reply is held to a JSON schema, fill that in. Otherwise you may think aloud first, "
            "briefly; then end with one line of exactly this form, without any markup, and nothing "
            "after it:",
            *lines,
        )
    )


def _object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(key: str, one: Mapping[str, Any]) -> Schema:
    """The reason comes first, so that the mark follows from it."""
    return _object_schema({"reason": {"type": "string"}, key: one})


def _score_schema(low: int, high: int) -> Schema:
    """A short scale is an enum: not every provider supports minimum and maximum."""
    if high - low < _MOST_LISTED:
        return {"type": "integer", "enum": list(range(low, high + 1))}
    return {"type": "integer"}


def _last_line(reply: str) -> str:
    """The last line; only a line feed ends a line, since a reason may quote any other separator."""
    return reply.rstrip().rpartition("\n")[2].strip()


def _read_last_line(reply: str, pattern: str, form: str) -> tuple[str, str]:
    found = re.fullmatch(pattern, _last_line(reply), re.ASCII)
    if not found:
        raise UngradableAnswer(f"the last line of the grader's reply is not {form}")
    return found[1], found[2]


def _read_object(reply: str, key: str) -> dict[str, Any] | None:
    """The reply as an object with just a reason and this key; None if it is not an object."""
    fields = _parse_object(reply.strip())
    if fields is None:
        return None
    return _check_fields(fields, key)


def _read_closing_object(reply: str, key: str) -> dict[str, Any]:
    """The object that is the reply or ends it: on its last line, or in a code block at its end."""
    for text in (reply.strip(), _last_line(reply), _last_block(reply)):
        fields = _parse_object(text)
        if fields is not None:
            return _check_fields(fields, key)
    raise UngradableAnswer("the grader's reply does not end with one JSON object")


def _last_block(reply: str) -> str:
    """The content of the code block that ends a reply; "" without one."""
    lines = reply.rstrip().split("\n")
    if not _CLOSING_FENCE.fullmatch(lines[-1].strip()):
        return ""
    for start in range(len(lines) - 2, -1, -1):
        line = lines[start].strip()
        if line.startswith("```"):
            is_opening = _OPENING_FENCE.fullmatch(line)
            return "\n".join(lines[start + 1 : -1]).strip() if is_opening else ""
    return ""


def _parse_object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A repeated key makes the reply ambiguous."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _check_fields(fields: dict[str, Any], key: str) -> dict[str, Any]:
    if set(fields) != {"reason", key} or not isinstance(fields["reason"], str):
        raise UngradableAnswer(f"the grader's JSON is not an object with reason and {key}")
    return fields


def _check_score(value: object, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise UngradableAnswer(f"a score of the grader is not a whole number from {low} to {high}")
    return value


def _storable(reason: str) -> str:
    """The reason without what neither UTF-8 nor Postgres can store: JSON may escape such characters."""
    storable = reason.replace("\x00", "").encode(errors="replace").decode()
    return storable.strip()[:REASON_CHARACTERS]
