"""Words and numbers as the terminal shows them: cleaned of control characters, no finer than their doubt."""

import re
from decimal import Decimal

from rich.cells import cell_len, set_cell_size

NOTHING = "–"
ONE_DECIMAL_BELOW = 1000

# C0 except tab and newline, DEL, C1, bidi controls, lone surrogates: a model may answer with any of them,
# and rich passes them all through, as Text and as escaped markup alike.
_HOSTILE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LINE_ENDS = re.compile(r"\r\n|[\u2028\u2029]")

_ASCII = str.maketrans(
    {
        "·": ".",
        "─": "-",
        "●": "o",
        "━": "#",
        "╌": ".",
        "–": "-",
        "—": "-",
        "−": "-",
        "✓": "+",
        "✗": "x",
        "…": "~",
        "κ": "kappa",
        "Δ": "diff",
        "↔": "<->",
        "\N{REPLACEMENT CHARACTER}": "?",
    }
)


def clean(text: str) -> str:
    """The text with nothing left that moves a cursor, opens a link or reverses the reading order."""
    return _HOSTILE.sub("\N{REPLACEMENT CHARACTER}", _LINE_ENDS.sub("\n", text))


def to_ascii(text: str) -> str:
    """Our own signs in ASCII, for fonts without them; other people's letters stay as they are."""
    return text.translate(_ASCII)


def one_line(text: str, width: int | None = None) -> str:
    """The cleaned text on one line, cut with … to `width` terminal cells (wide letters take two)."""
    line = " ".join(clean(text).split())
    if width is None or cell_len(line) <= width:
        return line
    return set_cell_size(line, max(width - 1, 0)).rstrip() + "…"


def money(amount: Decimal, places: int = 2) -> str:
    """Dollars with `places` decimals, more where those would hide the amount: spent is never 0.00."""
    hidden = bool(amount) and amount.adjusted() < -places
    return f"{amount:.{1 - amount.adjusted() if hidden else places}f}"


def percent(share: float | None, n: int) -> str:
    """A share as a percentage: one decimal below a thousand cases, two from there on."""
    return "n/a" if share is None else f"{share:.{1 + _extra(n)}%}"


def span(low: float | None, high: float | None, n: int) -> str:
    """An interval of shares in percent, 74–89: whole below a thousand cases, one decimal from there on."""
    if low is None or high is None:
        return NOTHING
    return f"{low * 100:.{_extra(n)}f}–{high * 100:.{_extra(n)}f}"


def points(difference: float, n: int) -> str:
    """A difference of shares in signed percentage points, −16 or +3, with a real minus sign."""
    number = f"{difference * 100:+.{_extra(n)}f}"
    return number.replace("-", "−") if float(number) else "0"


def duration(seconds: float | None) -> str:
    """Minutes and seconds, 2:41, with hours in front when there are any."""
    if seconds is None:
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def latency(latency_ms: int | None) -> str:
    """Seconds with three digits, 1.84s; milliseconds where seconds would read 0.00."""
    if latency_ms is None:
        return NOTHING
    if latency_ms < 10:
        return f"{latency_ms}ms"
    places = 2 if latency_ms < 10_000 else 1 if latency_ms < 100_000 else 0
    return f"{latency_ms / 1000:.{places}f}s"


def _extra(n: int) -> int:
    """Decimals that only a large n can carry."""
    return 0 if n < ONE_DECIMAL_BELOW else 1
