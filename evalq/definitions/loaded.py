"""What an importer makes of another format: a task and an evalset as if they had been written for evalq."""

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
"""How it is decided whether a judge would use a skill: by its first tool call, or by asking it."""


@dataclass(frozen=True)
class LoadedTask:
    """A task and its cases, and what else the file says about how to run them.

    `judges` are those it names, `samples` the answers it wants per case, `deadline_s` how long one may take;
    `warnings` is what of it evalq has no place for, `notes` what was guessed.
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
    """Makes a task and its cases of a file or folder, and the root of the project it is in."""

    def __call__(self, path: Path, root: Path, *, trigger_mode: TriggerMode = ...) -> LoadedTask:
        """InputError with every problem there is."""
        ...


@dataclass(frozen=True)
class Format:
    """One format: how to know it, how to load it, and what to say of one that is not right.

    `is_guess`: files of this kind may as well be evalsets of evalq, if a task is named beside them.
    """

    name: str
    recognises: Callable[[Path], bool]
    load: LoadTask
    check: Callable[[Path, Path], Sequence[Problem]] | None = None
    is_guess: bool = False

    def problems(self, path: Path, root: Path) -> tuple[Problem, ...]:
        """Everything that is wrong with a file of this format; nothing when it can be run."""
        if self.check is not None:
            return tuple(self.check(path, root))
        try:
            imported = self.load(path, root)
        except InputError as exc:
            return exc.problems
        return tuple(check_fit(imported.task, imported.loaded))
