"""CPU and memory of a tree of processes by part, sampled while it runs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

_EVERY_S = 0.2
# Shared pages are divided among their users, which takes the kernel longer than a plain figure.
_MEMORY_EVERY_S = 1.0
_MB = 1024 * 1024
_SUPERVISOR = "evalq.engines.supervisor"

NamePart = Callable[[psutil.Process], str]


def name_evalq_part(process: psutil.Process) -> str:
    """Which part of evalq a process is; workers are forked by the supervisor and keep its command line."""
    name = process.name()
    if name == "postgres":
        return "Postgres"
    if name == "valkey-server":
        return "Valkey"
    words = process.cmdline()
    if _SUPERVISOR in words:
        parent = process.parent()
        is_forked = parent is not None and _SUPERVISOR in parent.cmdline()
        return "workers" if is_forked else "supervisor"
    if "workers.process" in words:
        return "workers"
    return "CLI" if "evalq" in words else "other"


def name_peer_part(process: psutil.Process) -> str:
    """A peer is one part, whatever processes it has."""
    del process
    return "processes"


@dataclass
class TreeMeter:
    """The processes below one process: CPU seconds of each and the peaks of memory."""

    root_pid: int
    name_part: NamePart
    _cpu: dict[tuple[int, float], tuple[str, float]] = field(default_factory=dict)
    _peak_rss: dict[str, int] = field(default_factory=dict)
    _peak_pss: int = 0
    _memory_due: float = 0.0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "TreeMeter":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def cpu_s(self) -> dict[str, float]:
        """CPU seconds by part, as far as the samples saw them."""
        sums: dict[str, float] = {}
        for part, spent in self._cpu.values():
            sums[part] = sums.get(part, 0.0) + spent
        return sums

    @property
    def peak_rss_mb(self) -> dict[str, float]:
        """The largest process of each part."""
        return {part: rss / _MB for part, rss in self._peak_rss.items()}

    @property
    def peak_total_mb(self) -> float:
        """All processes together at the worst moment; pages they share count once."""
        return self._peak_pss / _MB

    def _watch(self) -> None:
        while not self._stopped.wait(_EVERY_S):
            try:
                tree = psutil.Process(self.root_pid).children(recursive=True)
            except psutil.NoSuchProcess:
                return
            is_due = time.monotonic() >= self._memory_due
            total = sum(self._sample(process, with_shared=is_due) for process in tree)
            if is_due:
                self._peak_pss = max(self._peak_pss, total)
                self._memory_due = time.monotonic() + _MEMORY_EVERY_S

    def _sample(self, process: psutil.Process, *, with_shared: bool) -> int:
        """Note one process; returns its share of memory in bytes, 0 unless asked for it or when it ends."""
        try:
            part, spent = self.name_part(process), process.cpu_times()
            self._cpu[process.pid, process.create_time()] = (part, spent.user + spent.system)
            rss = process.memory_info().rss
            self._peak_rss[part] = max(self._peak_rss.get(part, 0), rss)
            return int(process.memory_full_info().pss) if with_shared else 0
        except (psutil.Error, OSError):
            return 0
