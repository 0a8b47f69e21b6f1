"""What a run in the sandbox costs: three cases, beside a bare interpreter, alone and four at once."""

import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from evalq.grading.sandbox.program import FunctionCall, Isolation, Program
from evalq.grading.sandbox.running import interpreter, run

RUNS = 60
AT_ONCE = 4
SOURCE = """
import math

def solve(n):
    return sum(math.isqrt(i) for i in range(n))
"""
PROGRAM = Program(SOURCE, "solve", (FunctionCall((10,)), FunctionCall((100,)), FunctionCall((1000,))))


def bare() -> None:
    """The interpreter alone, doing nothing."""
    subprocess.run([interpreter().executable, "-I", "-S", "-B", "-c", "pass"], env={}, check=True)


def sandboxed(isolation: Isolation) -> Callable[[], None]:
    """One run of three cases."""

    def once() -> None:
        ends = [result.end for result in run(PROGRAM, isolation=isolation).results]
        assert ends == ["returned"] * 3, ends

    return once


def milliseconds(once: Callable[[], None]) -> float:
    """Wall time of one."""
    started = time.perf_counter()
    once()
    return (time.perf_counter() - started) * 1000


def times(once: Callable[[], None], at_once: int) -> list[float]:
    """Wall times of many, so many at once."""
    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda _: milliseconds(once), range(RUNS)))


def report(name: str, once: Callable[[], None], *, base: float, at_once: int = 1) -> float:
    """Print median and p95, and the ratio to the bare interpreter; the median."""
    taken = times(once, at_once)
    median, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    ratio = f", {median / base:.1f} × bare" if base else ""
    print(f"{name}: median {median:.0f} ms, p95 {p95:.0f} ms{ratio}")
    return median


def main() -> None:
    """Print all of it."""
    print(f"{RUNS} runs of three cases each, {interpreter().executable}")
    base = report("bare interpreter, no case", bare, base=0)
    report("strong", sandboxed("strong"), base=base)
    report("weak", sandboxed("weak"), base=base)
    base = report(f"bare interpreter, {AT_ONCE} at once", bare, base=0, at_once=AT_ONCE)
    report(f"strong, {AT_ONCE} at once", sandboxed("strong"), base=base, at_once=AT_ONCE)


if __name__ == "__main__":
    main()
