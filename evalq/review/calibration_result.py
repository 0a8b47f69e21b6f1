"""The result of a calibration, as plain values and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = "evalq.calibration/1"


@dataclass(frozen=True)
class Estimate:
    """A share with its interval and how both were found; `n` answers are behind it, or weigh as many."""

    n: int
    rate: float
    ci_low: float
    ci_high: float
    method: str


@dataclass(frozen=True)
class Agreement:
    """How far grader and people agree beyond chance; kappa is None when one of them never varies."""

    n: int
    share: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    ac1: float
    degenerate: bool


@dataclass(frozen=True)
class GraderQuality:
    """The grader against people. The counts are of labelled answers as they are.

    `weighted` says that the rates count each label by how many answers it represents, since some kinds of
    answers were labelled more often than others. A rate without any answer behind it is None.
    """

    both_passed: int
    only_grader_passed: int
    only_people_passed: int
    both_failed: int
    weighted: bool
    sensitivity: Estimate | None
    specificity: Estimate | None
    agreement: Agreement

    @property
    def n(self) -> int:
        """Labelled answers."""
        return self.both_passed + self.only_grader_passed + self.only_people_passed + self.both_failed

    @property
    def is_useful(self) -> bool | None:
        """Whether the grader is better than chance; None if unknown."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return self.sensitivity.rate + self.specificity.rate > 1


@dataclass(frozen=True)
class CorrectedJudge:
    """A judge's pass rate as graded and as people would have it; `undefined` says why not."""

    judge: str
    n: int
    n_labelled: int
    raw: Estimate
    corrected: Estimate | None
    undefined: str | None = None


@dataclass(frozen=True)
class Flip:
    """Two judges that change places: `a` led as graded, `b` leads as corrected; `certain` if clearly so."""

    a: str
    b: str
    raw_diff: float
    corrected_diff: float
    certain: bool


@dataclass(frozen=True)
class LabelCounts:
    """The labels behind a calibration: answers, votes, ties left out, and what was stored just now."""

    answers: int
    votes: int
    ties: int
    labellers: int
    stored: int = 0
    replaced: int = 0
    unfilled: int = 0


@dataclass(frozen=True)
class ToLabel:
    """An answer worth a label, and why."""

    job_id: int
    judge: str
    case_id: str
    sample: int
    stratum: str
    reason: str


@dataclass(frozen=True)
class BadAnswer:
    """A known-bad answer and its verdict."""

    kind: str
    case_id: str
    verdict: str
    error_kind: str | None = None


@dataclass(frozen=True)
class GraderCheck:
    """How the grader marked known-bad answers, none of which may pass."""

    bakeoff_id: int
    grader: str
    state: str
    spent_usd: str
    answers: tuple[BadAnswer, ...]
    skipped: tuple[str, ...] = ()

    @property
    def passed(self) -> tuple[BadAnswer, ...]:
        """The known-bad answers that the grader took for good ones."""
        return tuple(answer for answer in self.answers if answer.verdict == "passed")

    @property
    def undecided(self) -> tuple[BadAnswer, ...]:
        """Answers without a clear end: not graded, or the grader could not be asked."""
        decided = ("empty", "ungradable")
        return tuple(
            answer
            for answer in self.answers
            if answer.verdict not in ("passed", "failed") and answer.error_kind not in decided
        )

    @property
    def ok(self) -> bool | None:
        """False if any passed, None if some are undecided, else True."""
        if self.passed:
            return False
        return None if self.undecided else True

    def warnings(self) -> list[str]:
        """Each kind of bad answer that passed, with its cases."""
        kinds = dict.fromkeys(answer.kind for answer in self.passed)
        return [
            f"{self.grader} passes a known-bad answer ({kind}) on {', '.join(self._cases(kind))}: "
            "its verdicts cannot be trusted"
            for kind in kinds
        ]

    def _cases(self, kind: str) -> list[str]:
        return [answer.case_id for answer in self.passed if answer.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "ok": self.ok, "warnings": self.warnings()}


@dataclass(frozen=True)
class Calibration:
    """The whole result. Judges are in the order of the bake-off's ranking."""

    id: int
    task: str
    eval_set: str
    scorer: str
    grader: str
    separate: bool
    labels_from: int
    labels: LabelCounts
    quality: GraderQuality | None
    judges: tuple[CorrectedJudge, ...]
    flips: tuple[Flip, ...]
    label_next: tuple[ToLabel, ...]
    warnings: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    check: GraderCheck | None = None
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_inconclusive(self) -> bool:
        """True when there are labels and no judge could be corrected by them."""
        return self.labels.answers > 0 and all(judge.corrected is None for judge in self.judges)

    def to_dict(self) -> dict[str, Any]:
        """The evalq.calibration/1 document."""
        plain = asdict(self)
        quality, check = plain.pop("quality"), plain.pop("check")
        if self.quality is not None:
            quality |= {"n": self.quality.n, "better_than_chance": self.quality.is_useful}
        if self.check is not None:
            check = self.check.to_dict()
        ranking = {
            "changed": bool(self.flips),
            "corrected_ranks": plain.pop("ranks"),
            "flips": plain.pop("flips"),
        }
        return {
            "schema": SCHEMA,
            **plain,
            "grader_quality": quality,
            "ranking": ranking,
            "grader_check": check,
        }
