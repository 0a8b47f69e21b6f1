"""What a look at somebody's files finds: problems, which must be mended, and warnings, which need not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from evalq.definitions.definition import limit_problems
from evalq.errors import InputError, Problem

Severity = Literal["problem", "warning"]
Made = TypeVar("Made")


@dataclass(frozen=True)
class Finding:
    """One thing about a file: where, how bad, what, and what to do."""

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
        """The same as other commands report it."""
        return Problem(self.message, self.remedy, self.file, self.line)


@dataclass
class Notes:
    """Findings as they are made."""

    findings: list[Finding] = field(default_factory=list)

    def problem(self, problem: Problem) -> None:
        """Note what must be mended."""
        self._note("problem", problem)

    def warning(self, problem: Problem) -> None:
        """Note what may be meant."""
        self._note("warning", problem)

    def take(self, make: Callable[[], Made], *, file: str) -> Made | None:
        """What is made; None when it cannot be. Its problems are noted, of `file` if they name none."""
        try:
            return make()
        except InputError as exc:
            for one in exc.problems:
                self.problem(one if one.file else Problem(one.message, one.remedy, file, one.line))
            return None

    def _note(self, severity: Severity, problem: Problem) -> None:
        finding = Finding(severity, problem.message, problem.remedy, problem.file, max(problem.line, 1))
        if finding not in self.findings:
            self.findings.append(finding)


Part = TypeVar("Part")


def gathered(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    """What is made; None when it cannot be, with its problems added to the others."""
    try:
        return make()
    except InputError as exc:
        problems += exc.problems
        return None


def each_made(make: Callable[[Part], Made], parts: Iterable[Part]) -> list[Made]:
    """What is made of every part; InputError with the problems of all of them."""
    problems: list[Problem] = []
    made: list[Made] = []
    for part in parts:
        try:
            made.append(make(part))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*limit_problems(list(dict.fromkeys(problems))))
    return made


@dataclass
class Losses:
    """Everything left behind, each once, in the order it was met."""

    problems: dict[Problem, None] = field(default_factory=dict)

    def note(self, problem: Problem) -> None:
        """Something that is not carried over, or not as it is."""
        self.problems[problem] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One line each, with file and line."""
        return tuple(str(problem) for problem in self.problems)
