"""Numbers in texts: read as people write them, compared as they mean them."""

import re
from collections.abc import Iterator
from decimal import Decimal

MAX_NUMBER_CHARS = 400

_EXPONENT = r"(?:[eE][-+]?\d{1,4})?"
_NUMBER = re.compile(rf"(?:(?<!\w)[-+−])?(?:\d[\d,.]*\d|[.,]\d+|\d){_EXPONENT}")
_WHOLE = re.compile(rf"[-+]?(?:(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d+)?|\.\d+){_EXPONENT}")


def read_number(text: str, *, decimal: str = ".") -> Decimal | None:
    """The number that is the text, thousands separated or not; None for anything else.

    `decimal` is what stands before the decimals; the other one of point and comma separates thousands.
    """
    plain = text.strip().replace("−", "-")
    if decimal == ",":
        plain = plain.translate(str.maketrans(",.", ".,"))
    if len(plain) > MAX_NUMBER_CHARS or not _WHOLE.fullmatch(plain):
        return None
    return Decimal(plain.replace(",", ""))


def numbers_in(text: str, *, decimal: str = ".", backwards: bool = False) -> Iterator[Decimal]:
    """The numbers in a text, one after the other; a hyphen between letters or digits is no minus."""
    tokens = _NUMBER.findall(text)
    for token in reversed(tokens) if backwards else tokens:
        number = read_number(token, decimal=decimal)
        if number is not None:
            yield number


def is_near(number: Decimal, wanted: float, *, abs_tol: float = 0.0, rel_tol: float = 0.0) -> bool:
    """True within the larger tolerance; `rel_tol` is a share of the wanted number."""
    goal = Decimal(repr(wanted))
    room = max(Decimal(repr(abs_tol)), Decimal(repr(rel_tol)) * abs(goal))
    return abs(number - goal) <= room
