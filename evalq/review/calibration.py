"""From a bake-off and the labels of its answers to the whole calibration, warnings included."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalq.bakeoff import run_names
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.holdout import refuse_cases
from evalq.errors import InputError, Problem
from evalq.results import BakeOffResult, RunResult
from evalq.review.calibration_result import (
    Calibration,
    CorrectedJudge,
    Estimate,
    Flip,
    GraderQuality,
    LabelCounts,
    ToLabel,
)
from evalq.review.estimates import Kinds, correct_by_labels, correct_by_quality, flips, grader_quality
from evalq.review.labels import Answer, LabelFile, Shown, contested_cases, votes_of
from evalq.review.next_labels import choose_next
from evalq.store import outcomes
from evalq.store.answers import answer_texts
from evalq.store.database import Connection, Database, transactional
from evalq.store.outcomes import StoredLabel

ENOUGH = 40


@dataclass(frozen=True)
class Labelled:
    """A bake-off with its graded answers, and how many people labelled them."""

    result: BakeOffResult
    answers: tuple[Answer, ...]
    labellers: int = 0

    @property
    def ranked(self) -> tuple[Answer, ...]:
        """The graded answers of judges that have a rank."""
        judges = {run.judge for run in self.result.runs if not run.excluded}
        return tuple(one for one in self.answers if one.is_graded and one.judge in judges)

    @property
    def grader(self) -> str:
        """What marked the answers: the grader model, or the scorer."""
        return self.result.grader or self.result.scorer


@dataclass(frozen=True)
class CalibrationRequest:
    """What the user wants: whose labels count, for which judge, and how many answers to propose."""

    judge: str | None = None
    separate: bool = False
    n_next: int = ENOUGH
    seed: int | None = None


@dataclass(frozen=True)
class Stored:
    """What a label file changed."""

    stored: int = 0
    replaced: int = 0
    unfilled: int = 0


def calibrate(this: Labelled, source: Labelled, asked: CalibrationRequest, stored: Stored) -> Calibration:
    """The grader by the labels of `source`, and the judges of `this` by them; the two may be the same."""
    result, kinds = this.result, Kinds(contested_cases(this.ranked))
    quality = grader_quality(source.ranked, Kinds(contested_cases(source.ranked)))
    judges = _judges(this, quality, kinds, asked)
    to_label = _next(source, asked)
    turned = flips(judges)
    return Calibration(
        id=result.id,
        task=result.task,
        eval_set=result.eval_set,
        scorer=result.scorer,
        grader=this.grader,
        separate=asked.separate,
        labels_from=source.result.id,
        labels=_counts(source, stored),
        quality=quality,
        judges=tuple(judges),
        flips=tuple(turned),
        label_next=tuple(to_label),
        warnings=tuple(_warnings(this, quality, judges, turned)),
        next=tuple(_commands(source.result.id, to_label)),
        ranks=_ranks(judges),
    )


def _judges(
    this: Labelled, quality: GraderQuality | None, kinds: Kinds, asked: CalibrationRequest
) -> list[CorrectedJudge]:
    judges = []
    for run in this.result.runs:
        answers = [one for one in this.ranked if one.judge == run.judge]
        raw = _raw(run, answers)
        if raw is None or asked.judge not in (None, run.judge):
            continue
        if asked.separate:
            judges.append(correct_by_quality(run.judge, answers, quality=quality, raw=raw))
        else:
            judges.append(correct_by_labels(run.judge, answers, kinds=kinds, raw=raw))
    return judges


def _raw(run: RunResult, answers: Sequence[Answer]) -> Estimate | None:
    """The rate as graded; the samples of a case are one of the n behind it."""
    if run.accuracy is None or run.ci_low is None or run.ci_high is None or not answers:
        return None
    return Estimate(
        len({one.case_id for one in answers}), run.accuracy, run.ci_low, run.ci_high, run.ci_method
    )


def _next(source: Labelled, asked: CalibrationRequest) -> list[ToLabel]:
    """Answers of the source: with another bake-off's labels it is that one which wants more of them."""
    answers = source.ranked
    judges = {one.judge for one in answers}
    wanted = [one for one in answers if asked.judge not in judges or one.judge == asked.judge]
    seed = source.result.seed if asked.seed is None else asked.seed
    return choose_next(wanted, contested_cases(answers), count=asked.n_next, seed=seed)


def _counts(source: Labelled, stored: Stored) -> LabelCounts:
    return LabelCounts(
        answers=sum(one.human is not None for one in source.ranked),
        votes=sum(len(one.votes) for one in source.ranked),
        ties=sum(one.is_tied for one in source.ranked),
        labellers=source.labellers,
        stored=stored.stored,
        replaced=stored.replaced,
        unfilled=stored.unfilled,
    )


def _ranks(judges: Sequence[CorrectedJudge]) -> Mapping[str, int]:
    """Places by the corrected rate, best first; equal rates share a place."""
    rates = {one.judge: one.corrected.rate for one in judges if one.corrected}
    return {judge: 1 + sum(other > rate for other in rates.values()) for judge, rate in rates.items()}


def _warnings(
    this: Labelled,
    quality: GraderQuality | None,
    judges: Sequence[CorrectedJudge],
    turned: Sequence[Flip],
) -> Iterator[str]:
    if quality is not None and quality.is_useful is False:
        yield (
            f"{this.grader} is not better than chance by these labels (sensitivity + specificity <= 1): "
            "its verdicts say nothing"
        )
    if quality is not None and quality.weighted:
        yield (
            "some kinds of answers were labelled more often than others: each label counts for the answers "
            "it represents"
        )
    if quality is not None:
        yield from (f"{one.judge} is not corrected: {one.undefined}" for one in judges if one.undefined)
    unsure = [f"{flip.b} over {flip.a}" for flip in turned if not flip.certain]
    if unsure:
        yield f"not certain, since the intervals overlap: {', '.join(unsure)}"
    if this.result.state != "concluded":
        yield f"bake-off {this.result.id} is {this.result.state}: only what is graded so far counts"


def _commands(source_id: int, to_label: Sequence[ToLabel]) -> Iterator[str]:
    if to_label:
        yield f"evalq calibrate {source_id} -o to-label.csv"
        yield f"evalq calibrate {source_id} --labels to-label.csv"
    yield f"evalq inspect {source_id} --disagreements"


def find_target(db: Database, name: str) -> tuple[int, str | None]:
    """The bake-off meant, and the judge if only one is: `ID`, `ID/JUDGE`, or the number of a run.

    A number is a bake-off's if there is one with that number, else a run's.
    """
    target = run_names.find_target(db, name)
    return target.bakeoff_id, target.judge


def gather(db: Database, bakeoff_id: int) -> Labelled:
    """A bake-off with its answers and their labels."""
    refuse_cases(db, bakeoff_id)
    labellers = {label.labeller for label in outcomes.labels(db, bakeoff_id)}
    return Labelled(result_of(db, bakeoff_id), _answers(db, bakeoff_id), len(labellers))


@transactional
def store_labels(tx: Connection, bakeoff_id: int, file: LabelFile) -> Stored:
    """Store the labels of a file for a bake-off's answers: all of them, or none when one is wrong."""
    votes = votes_of(file, _answers(tx, bakeoff_id), bakeoff_id=bakeoff_id)
    known = {(label.job_id, label.labeller) for label in outcomes.labels(tx, bakeoff_id)}
    outcomes.keep_labels(tx, [StoredLabel(vote.job_id, vote.labeller, vote.passed) for vote in votes])
    replaced = sum((vote.job_id, vote.labeller) in known for vote in votes)
    return Stored(len(votes), replaced, file.n_empty)


def refuse_other_grader(this: Labelled, source: Labelled) -> None:
    """Refuse labels that say how good another grader is."""
    if (this.grader, this.result.task) != (source.grader, source.result.task):
        raise InputError(
            Problem(
                f"bake-off {source.result.id} ({source.result.task}) was graded by {source.grader}, "
                f"bake-off {this.result.id} ({this.result.task}) by {this.grader}",
                "give --labels-from a bake-off of the same task and grader",
            )
        )


def shown_texts(db: Database, rows: Sequence[ToLabel]) -> dict[int, Shown]:
    """What people must see of each answer to label it."""
    texts = answer_texts(db, [row.job_id for row in rows])
    return {job_id: Shown(text.inputs, text.expected, text.answer) for job_id, text in texts.items()}


def _answers(db: Database | Connection, bakeoff_id: int) -> tuple[Answer, ...]:
    return tuple(Answer(**vars(answer)) for answer in outcomes.labelled_answers(db, bakeoff_id))
