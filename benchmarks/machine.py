"""The machine that figures come from: its name, its cores, and how fast it is at the moment."""

import os
import platform
import time
from pathlib import Path

LOOPS = 5


def time_loop() -> float:
    """Wall time of a fixed piece of work, to compare machines by."""
    started = time.perf_counter()
    sum(number * number for number in range(3_000_000))
    return time.perf_counter() - started


def measure_speed() -> float:
    """Seconds of the fixed loop, the best of a few: what the machine can do, not what others leave of it."""
    return min(time_loop() for _ in range(LOOPS))


def describe_machine() -> str:
    """Cores, processor, memory, Python."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores ({_processor()}), {memory_gb:.0f} GB, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"
