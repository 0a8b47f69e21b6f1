"""How the time to scrub a text grows with the text, for every detector, on texts made to slow it down."""

import random
import time
from collections.abc import Callable

from evalq.cases.scrub import DETECTORS
from evalq.cases.scrub.span import Find

# fmt: off
# What the detectors' patterns are made of, again and again: the beginnings of matches that never end.
HOSTILE = (
    "a", "1", "0", "+", "+1", "0 ", "1 ", "1.", "1-", "1:", "::", "a:", "(0", "4000 ", "123-45-", "\n",
    " ", "@", "a@", "a.", "a@a.", "a@a.a", "%40", "a%40a.", "eyJ", "eyJaaaaaaaaaa.", "sk-", "sk-a", "ghp_",
    "xox", "://", "://a@", "a://a:", "password=", "password: ", "password:a&", "pass", "bearer ",
    "authorization: ", "tel ", "tel 1", "DE89 ", "passport a", "born ", "born 1.", "12 Main ", "Aa ",
    "Aa-", "Am Aa ", "1/", "12 đường ", "-----BEGIN PRIVATE KEY-----", "[email-1]",
)
# fmt: on
LENGTH, TIMES = 8_000, 8
AT_ONCE_S = 0.03


def cpu_s(work: Callable[[], object]) -> float:
    """In the processor's own time: what else runs on the machine counts for little."""
    began = time.process_time()
    work()
    return time.process_time() - began


def growth(find: Find, unit: str) -> float:
    """How much longer a text eight times as long takes: 8 if linear, 64 if quadratic; 0 if no time at all."""
    short = (unit * LENGTH)[:LENGTH]
    long = (unit * LENGTH * TIMES)[: LENGTH * TIMES]
    if cpu_s(lambda: list(find(long))) < AT_ONCE_S:
        return 0
    least = min(cpu_s(lambda: list(find(long))) for _ in range(3))
    return least / min(cpu_s(lambda: list(find(short))) for _ in range(3))


def main() -> None:
    """Print the worst growth of each detector over every beginning and over mixtures of them."""
    rng = random.Random(0)
    mixtures = ["".join(rng.choices(HOSTILE, k=rng.randint(2, 6))) for _ in range(40)]
    print(f"a text {TIMES} times as long takes, at worst:")
    for kind, find in DETECTORS.items():
        worst, unit = max((growth(find, unit), unit) for unit in (*HOSTILE, *mixtures))
        print(f"{kind:16} {worst:5.1f} times as long, on {unit!r}")


if __name__ == "__main__":
    main()
