"""Chance that depends on nothing but the words it is drawn from."""

import hashlib
from random import Random

_UNIT = float(1 << 64)


def digest(*words: str) -> str:
    """A fingerprint of the words, in hexadecimal."""
    return hashlib.sha256("\x1f".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def draw(*words: str) -> float:
    """A number from 0 up to, but not including, 1."""
    return int(digest(*words)[:16], 16) / _UNIT


def generator(*words: str) -> Random:
    """A whole generator, where one number is not enough."""
    return Random(digest(*words))  # noqa: S311 - a simulation, not a secret
