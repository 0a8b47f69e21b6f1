"""Graded answers with the votes people gave them, and the labels of a file found among them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from evalq.calibration.labels import Label, LabelFile
from evalq.definitions.validation import MAX_PROBLEMS, near
from evalq.errors import InputError, Problem
from evalq.records import Verdict

_Place = tuple[str, str, int]  # judge, case, sample


@dataclass(frozen=True)
class Answer:
    """One answer as the grader marked it; `verdict` is None until then. `votes` are what people said."""

    job_id: int
    judge: str
    case_id: str
    sample: int
    stratum: str
    verdict: Verdict | None
    votes: tuple[bool, ...] = ()

    @property
    def is_graded(self) -> bool:
        """Whether the grader passed or failed it; an error is neither."""
        return self.verdict in ("passed", "failed")

    @property
    def passed(self) -> bool:
        """Whether the grader passed it."""
        return self.verdict == "passed"

    @property
    def human(self) -> bool | None:
        """What most people said; None without a label, and when they are evenly split."""
        ayes = sum(self.votes)
        return None if 2 * ayes == len(self.votes) else 2 * ayes > len(self.votes)

    @property
    def is_tied(self) -> bool:
        """Whether people are evenly split."""
        return bool(self.votes) and self.human is None


@dataclass(frozen=True)
class Vote:
    """A label with the job it belongs to."""

    job_id: int
    labeller: str
    passed: bool


def contested_cases(answers: Iterable[Answer]) -> frozenset[str]:
    """The cases on which the graded verdicts differ."""
    seen: defaultdict[str, set[bool]] = defaultdict(set)
    for answer in answers:
        if answer.is_graded:
            seen[answer.case_id].add(answer.passed)
    return frozenset(case_id for case_id, verdicts in seen.items() if len(verdicts) > 1)


def votes_of(labels: LabelFile, answers: Sequence[Answer], *, bakeoff_id: int) -> list[Vote]:
    """The labels of a file as votes; InputError with every label that belongs to no graded answer.

    Of two labels by one person for one answer the later stands.
    """
    found = {(one.judge, one.case_id, one.sample): one for one in answers}
    votes: dict[tuple[int, str], Vote] = {}
    strays: list[Label] = []
    for label in labels.labels:
        answer = found.get((label.judge, label.case_id, label.sample))
        if answer is not None and answer.is_graded:
            votes[answer.job_id, label.labeller] = Vote(answer.job_id, label.labeller, label.passed)
        else:
            strays.append(label)
    if strays:
        raise InputError(*_complaints(strays, found, labels.file, bakeoff_id))
    return list(votes.values())


def _complaints(
    strays: Sequence[Label], found: Mapping[_Place, Answer], file: str, bakeoff_id: int
) -> list[Problem]:
    """Why each label belongs to no graded answer; only the first are looked at closely."""
    cases: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for judge, case_id, _ in found:
        cases[judge][case_id] = None
    problems = []
    for label in strays[:MAX_PROBLEMS]:
        answer = found.get((label.judge, label.case_id, label.sample))
        message, remedy = _complaint(label, answer, cases, bakeoff_id)
        problems.append(Problem(message, remedy, file, label.line))
    rest = len(strays) - MAX_PROBLEMS
    return [*problems, Problem(f"and {rest} more problems", file=file)] if rest > 0 else problems


def _complaint(
    label: Label, answer: Answer | None, cases: Mapping[str, Collection[str]], bakeoff_id: int
) -> tuple[str, str]:
    """Why a label belongs to no graded answer, and what to do."""
    if answer is not None:
        state = "could not be graded" if answer.verdict else "is not graded yet"
        return f"the answer of {label.judge} to case {label.case_id!r} {state}", "leave this line out"
    if label.judge not in cases:
        return f"judge {label.judge!r} is not in bake-off {bakeoff_id}", near(label.judge, cases)
    if label.case_id not in cases[label.judge]:
        guess = get_close_matches(label.case_id, cases[label.judge], n=1)
        return f"bake-off {bakeoff_id} has no case {label.case_id!r}", "".join(
            f"did you mean {case_id!r}?" for case_id in guess
        )
    return f"{label.judge} gave no answer {label.sample} to case {label.case_id!r}", "the first sample is 1"
