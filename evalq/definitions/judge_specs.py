"""Judges written on the command line: a program, a Python function or an address, without any YAML."""

import re
import shlex
from collections.abc import Container, Iterable

from pydantic import ValidationError

from evalq.definitions.definition import is_name
from evalq.definitions.judge import JudgeConfig, judge_reader
from evalq.errors import InputError, Problem

FORMS = "command:./answer.sh, python:module:function or http://host:port/path"

_FORM = re.compile(r"(?:(?P<name>[A-Za-z0-9][\w.-]{0,99})=)?(?P<form>command:|python:|https?://)", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST_NAME = 60
_NO_PRICE = {"input": 0, "output": 0}


def is_spec(text: str) -> bool:
    """Whether a text says how to reach a judge, rather than naming one."""
    return _FORM.match(text) is not None


def split_judges(values: Iterable[str], known: Container[str] = ()) -> list[str]:
    """The judges of several values of an option: each a list of names by commas, or one program as it is.

    A comma inside a command belongs to it, unless a `known` judge or one that is written out follows.
    """
    judges = []
    for value in values:
        parts = value.split(",")
        at = 0
        while at < len(parts):
            text = parts[at].strip()
            at += 1
            found = _FORM.match(text)
            if found and found["form"] == "command:":
                while at < len(parts) and not _is_judge(parts[at].strip(), known):
                    text += f",{parts[at]}"
                    at += 1
            if text:
                judges.append(text)
    return judges


def _is_judge(text: str, known: Container[str]) -> bool:
    return is_spec(text) or text in known


def read_spec(text: str) -> JudgeConfig:
    """The judge that is written out; its name is before a `=`, or made from the rest. It costs nothing."""
    found = _FORM.match(text)
    if found is None:
        raise InputError(Problem(f"{text!r} is not a judge", f"write {FORMS}"))
    form, rest = found["form"], text[found.end() :]
    try:
        fields = _read_fields(form, rest)
        name = found["name"] or _make_name(form, rest)
        return judge_reader().validate_python({"name": name, "price": _NO_PRICE, **fields})
    except (ValueError, ValidationError) as exc:
        reason = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
        raise InputError(Problem(f"judge {text!r}: {reason}", f"write {FORMS}")) from None


def _read_fields(form: str, rest: str) -> dict[str, object]:
    if not rest.strip() or not rest.isprintable():
        raise ValueError("nothing follows that could be reached")
    if form == "command:":
        return {"provider": "command", "command": shlex.split(rest)}
    if form == "python:":
        return {"provider": "python", "callable": rest.strip()}
    body = {"input": "{user}", "system": "{system}"}
    return {"provider": "http", "url": f"{form}{rest.strip()}", "body": body}


def _make_name(form: str, rest: str) -> str:
    """A name that tells the judge from others: `answer.sh`, `mod.fn`, `127.0.0.1-9000-answer`."""
    text = rest.strip().removeprefix("./")
    if form == "python:":
        text = text.replace(":", ".")
    name = _NOT_IN_NAMES.sub("-", text).strip("-._")[:_LONGEST_NAME].rstrip("-._")
    return name if is_name(name) else "judge"
