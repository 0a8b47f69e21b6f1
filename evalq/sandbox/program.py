"""A program to be run in the sandbox: its calls, its limits, and what came of each call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Isolation = Literal["strong", "weak"]
"""strong: namespaces of its own for everything · weak: a process with limits, by explicit setting only."""

End = Literal[
    "returned",
    "raised",
    "unloadable",
    "unreadable",
    "timed_out",
    "out_of_memory",
    "too_much_output",
    "died",
]
"""How a call ended.

returned: a value came back · raised: the function did · unloadable: the code does not compile, fails at its
top level or lacks the function · unreadable: the value is not one that JSON has, or is too large ·
timed_out · out_of_memory · too_much_output: on stdout and stderr · died: the process ended without a word.
"""


@dataclass(frozen=True)
class Limits:
    """What a call may use. Memory, files and open files count per process."""

    memory_mb: int = 512
    processes: int = 16
    file_mb: int = 16
    open_files: int = 64
    output_kb: int = 64
    value_kb: int = 256


@dataclass(frozen=True)
class Call:
    """The arguments of one call: values that JSON has."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """Code that defines `function`, and the calls to make; each starts from the code anew."""

    source: str
    function: str
    calls: tuple[Call, ...]
    timeout_per_case_s: float = 5.0
    limits: Limits = Limits()


@dataclass(frozen=True)
class CallResult:
    """What came of one call. `output` is the head of what it wrote on stdout and stderr, taken together.

    `raised` has the exception's type and its bases, nearest first, when the end is raised, out_of_memory or
    unloadable.
    """

    end: End
    value: Any = None
    raised: tuple[str, ...] = ()
    message: str = ""
    output: str = ""
    wall_ms: int = 0


@dataclass(frozen=True)
class ProgramRun:
    """The results in the order of the calls, and how they were obtained."""

    results: tuple[CallResult, ...]
    isolation: Isolation
    python: str = ""
    wall_ms: int = 0
