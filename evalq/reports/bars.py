"""Bars drawn with characters: an interval on the axis 0–100, and a share done."""


def interval_bar(low: float, point: float, high: float, width: int) -> str:
    """The interval and its point on an axis from 0 to 1: ············──●──· (`to_ascii` for plain fonts)."""
    first, middle, last = (_position(share, width) for share in (low, point, high))
    axis = ["─" if first <= place <= last else "·" for place in range(width)]
    axis[middle] = "●"
    return "".join(axis)


def progress_bar(share: float, width: int) -> str:
    """How much is done: ━━━━╌╌. Full only when everything is, never past its ends."""
    full = int(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)


def _position(share: float, width: int) -> int:
    """The character a share falls on; 1.0 belongs to the last one."""
    return min(max(int(share * width), 0), width - 1)
