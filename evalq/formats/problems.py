"""Collects what is wrong with other people's files: problems to fix, and warnings that may be ignored."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeVar

from evalq.definitions.definition import limit_problems
from evalq.errors import InputError, Problem

Severity = Literal["problem", "warning"]
T = TypeVar("T")
PartT = TypeVar("PartT")


def collect_problems(build: Callable[[], T], problems: list[Problem]) -> T | None:
    """Return what `build` returns; on InputError add its problems to the list and return None."""
    try:
        return build()
    except InputError as exc:
        problems += exc.problems
        return None


def build_each(build: Callable[[PartT], T], parts: Iterable[PartT]) -> list[T]:
    """Build something of every part; raise InputError with the problems of all parts."""
    problems: list[Problem] = []
    built: list[T] = []
    for part in parts:
        try:
            built.append(build(part))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*limit_problems(list(dict.fromkeys(problems))))
    return built


@dataclass
class ImportWarnings:
    """What an import leaves out or changes, each once, in the order found."""

    problems: dict[Problem, None] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Add a warning unless it is there already."""
        self.problems[problem] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One line each, with file and line."""
        return tuple(str(problem) for problem in self.problems)


def build_readable(
    build: Callable[[PartT], T], parts: Iterable[PartT], warnings: ImportWarnings, *, what: str
) -> list[T]:
    """Build something of every part that can be read, and warn of the others, which are left out.

    Raises InputError with the problems of all parts if none can be read.
    """
    problems: list[Problem] = []
    built: list[T] = []
    for part in parts:
        result = collect_problems(partial(build, part), problems)
        if result is not None:
            built.append(result)
    unique = list(dict.fromkeys(problems))
    if not built and unique:
        raise InputError(*limit_problems(unique))
    for problem in unique:
        warnings.add(replace(problem, message=f"{what} is left out: {problem.message}"))
    return built


@dataclass(frozen=True)
class FileFinding:
    """One finding about a file: its severity, what is wrong, what to do, and where."""

    severity: Severity
    message: str
    remedy: str
    file: str
    line: int = 1

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.file}:{self.line}: {self.severity}: {self.message}{remedy}"

    @property
    def problem(self) -> Problem:
        """The finding as other commands report it."""
        return Problem(self.message, self.remedy, self.file, self.line)


@dataclass
class FileFindings:
    """Findings in the order made, each once."""

    found: list[FileFinding] = field(default_factory=list)

    def add_problem(self, problem: Problem) -> None:
        """Add something that must be fixed."""
        self._add("problem", problem)

    def add_warning(self, problem: Problem) -> None:
        """Add something that may be intended."""
        self._add("warning", problem)

    def attempt(self, build: Callable[[], T], *, file: str) -> T | None:
        """Return what `build` returns; on InputError add its problems, in `file` if they name none."""
        try:
            return build()
        except InputError as exc:
            for problem in exc.problems:
                if not problem.file:
                    problem = Problem(problem.message, problem.remedy, file, problem.line)
                self.add_problem(problem)
            return None

    def _add(self, severity: Severity, problem: Problem) -> None:
        finding = FileFinding(severity, problem.message, problem.remedy, problem.file, max(problem.line, 1))
        if finding not in self.found:
            self.found.append(finding)
