"""Amounts of dollars: read and bounded where they come in, written for people."""

from decimal import Decimal, InvalidOperation

MAX_USD = Decimal(99_999_999)
"""The largest amount the database can store."""


def read_usd(value: object) -> Decimal:
    """Read an exact amount, a float by its shortest form; ValueError with the remedy for anything else."""
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise ValueError(f"{value!r} is not an amount of dollars; write for instance 2.50") from None
    if not amount.is_finite():
        raise ValueError(f"{value!r} is not a finite amount of dollars; write for instance 2.50")
    if not 0 <= amount <= MAX_USD:
        raise ValueError(f"{value!r} is out of range; give 0 to {MAX_USD} dollars")
    return amount


def money(amount: Decimal, places: int = 2) -> str:
    """Dollars with `places` decimals, or more where the amount would read 0.00."""
    if amount and amount.adjusted() < -places:
        places = 1 - amount.adjusted()
    return f"{amount:.{places}f}"
