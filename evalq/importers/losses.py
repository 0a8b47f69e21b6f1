"""What a file says that evalq has no place for, gathered while it is read."""

from dataclasses import dataclass, field

from evalq.errors import Problem


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
