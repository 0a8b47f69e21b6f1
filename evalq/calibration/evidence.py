"""What a calibration is made of, read from Postgres; and the labels of a file, stored there."""

from collections.abc import Sequence

from evalq.calibration.answers import Answer, votes_of
from evalq.calibration.labels import LabelFile
from evalq.calibration.result import ToLabel
from evalq.calibration.summary import Labelled, Stored
from evalq.calibration.template import Shown
from evalq.conclusion import result_of
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem
from evalq.store import bakeoffs, labels
from evalq.store.database import Connection, Database


def find_target(db: Database, name: str) -> tuple[int, str | None]:
    """The bake-off meant, and the judge if only one is: `ID`, `ID:JUDGE`, or the number of a run.

    A number is a bake-off's if there is one with that number, else a run's.
    """
    place, _, judge = name.partition(":")
    if judge:
        bakeoff_id = bakeoffs.find(db, place)
        names = [run.judge for run in bakeoffs.runs(db, bakeoff_id)]
        if judge not in names:
            raise InputError(Problem(f"judge {judge!r} is not in bake-off {bakeoff_id}", near(judge, names)))
        return bakeoff_id, judge
    is_bakeoff = not place.isdecimal() or db.row("bakeoff", bakeoff_id=int(place)) is not None
    run = None if is_bakeoff else labels.run_of(db, int(place))
    return run or (bakeoffs.find(db, place), None)


def gather(db: Database, bakeoff_id: int) -> Labelled:
    """A bake-off with its answers and their labels."""
    labellers = {row["labeller"] for row in labels.label_rows(db, bakeoff_id)}
    return Labelled(result_of(db, bakeoff_id), _answers(db, bakeoff_id), len(labellers))


def store_labels(db: Database, bakeoff_id: int, file: LabelFile) -> Stored:
    """Store the labels of a file for a bake-off's answers: all of them, or none when one is wrong."""
    with db.transaction() as tx:
        votes = votes_of(file, _answers(tx, bakeoff_id), bakeoff_id=bakeoff_id)
        known = {(row["job_id"], row["labeller"]) for row in labels.label_rows(tx, bakeoff_id)}
        labels.keep(tx, [(vote.job_id, vote.labeller, vote.passed) for vote in votes])
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
    found = labels.texts(db, [row.job_id for row in rows])
    return {job_id: Shown(*parts) for job_id, parts in found.items()}


def _answers(db: Database | Connection, bakeoff_id: int) -> tuple[Answer, ...]:
    return tuple(Answer(**row) for row in labels.answer_rows(db, bakeoff_id))
