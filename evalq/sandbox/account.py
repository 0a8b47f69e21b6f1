"""Whom the sandbox runs as: root runs it as a user that owns nothing, another one for every run.

The limit on processes counts per user and does not hold for root, so code may never run as root, and two runs
at a time should not share a user.
"""

import os
from collections.abc import Callable
from pathlib import Path

# Neither range is given to people, services or containers (systemd's UIDS-GIDS.md); the small one is for
# containers in which only the first 65,536 users exist.
_RANGES = (range(1_900_000_000, 1_900_000_000 + 2**24), range(60_706, 61_184))

_EVERY_USER = "0 0 4294967295"


def sandbox_uid(draw: Callable[[int], int]) -> int | None:
    """The user (and group) to run as; None for oneself. `draw(n)` gives a random number below n."""
    if os.geteuid() != 0:
        return None
    known = Path("/proc/self/uid_map")
    return choose_uid(known.read_text() if known.exists() else _EVERY_USER, draw)


def choose_uid(uid_map: str, draw: Callable[[int], int]) -> int | None:
    """A random user among those that exist by /proc/self/uid_map.

    None where none of ours does: such a root is root of a single-user namespace, an ordinary user outside it.
    """
    known = [_mapped(line) for line in uid_map.splitlines()]
    for ours in _RANGES:
        if any(ours.start in users and ours[-1] in users for users in known):
            return ours[draw(len(ours))]
    return None


def _mapped(line: str) -> range:
    inside, _, count = (int(number) for number in line.split())
    return range(inside, inside + count)
