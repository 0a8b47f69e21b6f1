"""A task with its cases as every format loads them, evalq's own included, and what a format has to offer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.fit import check_fit
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem

TriggerMode = Literal["tool_calls", "description"]
"""How to decide whether a judge would use a skill: by its first tool call, or by asking it."""


@dataclass(frozen=True)
class LoadedTask:
    """A task and its cases, and how the file wants them run.

    `judges` are those it names, `samples` the answers per case, `deadline_s` the time an answer may take;
    `warnings` lists what of the file evalq cannot represent, `notes` what was guessed.
    """

    task: TaskConfig
    loaded: LoadedEvalSet
    judges: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    samples: int = 1
    deadline_s: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def evalset(self) -> EvalSet:
        """The cases."""
        return self.loaded.evalset


class LoadTask(Protocol):
    """Loads a task and its cases from a file or folder; `root` is the project it is in."""

    def __call__(self, path: Path, root: Path, *, trigger_mode: TriggerMode = ...) -> LoadedTask:
        """Raise InputError with every problem found."""
        ...


@dataclass(frozen=True)
class Format:
    """One file format: how to recognise, load and check its files.

    `is_guess`: with a task named beside it, such a file may also be an evalset of evalq's own.
    """

    name: str
    recognises: Callable[[Path], bool]
    load: LoadTask
    check: Callable[[Path, Path], Sequence[Problem]] | None = None
    is_guess: bool = False

    def problems(self, path: Path, root: Path) -> tuple[Problem, ...]:
        """Everything wrong with a file of this format; nothing when it can be run."""
        if self.check is not None:
            return tuple(self.check(path, root))
        try:
            found = self.load(path, root)
        except InputError as exc:
            return exc.problems
        return tuple(check_fit(found.task, found.loaded))
