"""Gives values read from YAML the meaning and the text that they have in JavaScript."""

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

from evalq.definitions.yaml_text import plain_value
from evalq.errors import InputError

WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_INTEGER = re.compile(r"[-+]?[0-9]{1,999}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_INDEX = 2**32 - 2


class Undefined:
    """The type of JavaScript's undefined; null is None."""


UNDEFINED: Final = Undefined()


def yaml_value(text: str) -> Any:
    """Read an unquoted word by YAML 1.2's core schema: a leading zero does not make it text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return plain_value(text)


def is_truthy(value: Any) -> bool:
    """Whether JavaScript takes a value for true; empty lists and mappings are true."""
    if isinstance(value, list | dict):
        return True
    return not isinstance(value, Undefined) and bool(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_text(value: Any) -> str:
    """Return what `${value}` prints."""
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        return "undefined"
    if isinstance(value, list):
        return join(value, ",")
    if isinstance(value, dict):
        return "[object Object]"
    return as_number(value) if is_number(value) else json.dumps(value)


def join(values: list[Any], separator: str) -> str:
    """Return what `values.join(separator)` returns: null and undefined are empty."""
    texts = ["" if value in (None, UNDEFINED) else as_text(value) for value in values]
    return separator.join(texts)


def as_number(number: float) -> str:
    """Write a number with the fewest digits, and with an exponent from 1e21 up and below 1e-6."""
    try:
        double = float(number)
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    if math.isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    minus = "-" if sign and double else ""
    return minus + _place_point(text, len(text) + exponent)


def _place_point(digits: str, point: int) -> str:
    """Put the decimal point before the digit at `point`."""
    if digits == "0":
        return "0"
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def as_json(value: Any) -> str:
    """Return what `JSON.stringify(value)` returns: compact, with whole-number keys first and sorted."""
    if isinstance(value, dict):
        keys = sorted(value, key=_key_order)
        pairs = [f"{as_json(key)}:{as_json(value[key])}" for key in keys]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(as_json(item) for item in value) + "]"
    if is_number(value):
        text = as_number(value)
        return "null" if text.endswith("Infinity") else text
    return json.dumps(value, ensure_ascii=False)


def _key_order(key: str) -> tuple[bool, int]:
    is_index = _INDEX.fullmatch(key) is not None and int(key) <= _MAX_INDEX
    return (False, int(key)) if is_index else (True, 0)


def property_of(owner: Any, key: str) -> Any:
    """Return `owner.key`: undefined on a text or a number, an error on null."""
    if owner is None:
        raise InputError(f"Cannot read properties of null (reading '{key}')")
    return owner.get(key, UNDEFINED) if isinstance(owner, dict) else UNDEFINED
