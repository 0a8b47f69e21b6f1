"""Drafts on their way: what is asked for whom, the model's answers as an errand, the file of drafts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, load_evalset, load_task, shown
from evalq.definitions.lookup import (
    DRAFT_PREFIX,
    definition_files,
    find_evalset,
    find_task,
    is_draft_set,
    list_evalsets,
)
from evalq.definitions.task import TaskConfig
from evalq.definitions.validation import NAME_REMEDY, is_name
from evalq.definitions.writing import refuse_taken, write_evalset
from evalq.drafting.asking import Question, drafting_set, drafting_task, make_questions
from evalq.drafting.reading import read_drafts
from evalq.drafting.result import Drafted
from evalq.drafting.strata import Stratum, load_strata, strata_of
from evalq.errand.values import Errand, Replies
from evalq.errors import InputError, Problem
from evalq.holdout.guard import is_holdout
from evalq.holdout.writing import refuse_reading, refuse_writing

RUN_TYPE = "drafts"


@dataclass(frozen=True)
class Order:
    """What the user asked for."""

    task: str
    n: int
    judge: str
    eval_set: str | None = None
    strata: Path | None = None
    like: str | None = None
    seed: int = 0
    append: bool = False
    allow_unpriced: bool = False


@dataclass(frozen=True)
class Brief:
    """Everything decided before a model is asked."""

    order: Order
    task: TaskConfig
    path: Path
    existing: EvalSet | None
    examples: tuple[EvalCase, ...]
    questions: tuple[Question, ...]

    def errand(self) -> Errand:
        """The questions, for the fleet."""
        order = self.order
        asked = drafting_set(self.task, self.path.stem, self.questions, self.examples, seed=order.seed)
        return Errand(
            RUN_TYPE, drafting_task(self.task), asked, order.judge, order.seed, order.allow_unpriced
        )


def make_brief(order: Order, root: Path) -> Brief:
    """Load and check everything; every refusal comes here."""
    task = load_task(find_task(order.task, root))
    path = _target(order, task.name, root)
    refuse_writing(path, task=task.name, root=root)
    existing = load_evalset(path).evalset if order.append and path.exists() else None
    if existing is None:
        refuse_taken(path, list_evalsets(task.name, root).values())
    examples = _examples(order, task.name, root)
    questions = make_questions(order.n, _strata(order, examples), seed=order.seed)
    return Brief(order, task, path, existing, tuple(examples), tuple(questions))


def read_brief(brief: Brief, replies: Replies) -> Drafted:
    """The cases a model drafted, those of the set before them."""
    before = brief.existing.cases if brief.existing else []
    known = [*before, *brief.examples]
    drafts = read_drafts(brief.task, brief.questions, replies.by_case, known=known)
    evalset = brief.existing or EvalSet.model_construct(
        name=brief.path.stem, task=brief.task.name, description=f"Drafted by {replies.judge}.", cases=[]
    )
    whole = evalset.model_copy(update={"cases": [*before, *drafts.cases]})
    return Drafted(brief.task.name, shown(brief.path), whole, brief.questions, drafts, replies)


def write_drafts(brief: Brief, drafted: Drafted) -> None:
    """Write the drafts; nothing of them counts before they are accepted."""
    write_evalset(brief.path, drafted.evalset)


def _target(order: Order, task: str, root: Path) -> Path:
    """The file of drafts, under a name that says so; a holdout's name is kept for the guard to refuse."""
    name = order.eval_set or f"{DRAFT_PREFIX}{order.n}"
    if not is_name(name):
        raise InputError(Problem(f"{name!r} cannot name an evalset", NAME_REMEDY))
    if not is_draft_set(name) and not is_holdout(name):
        name = f"{DRAFT_PREFIX}{name}"
    folder = root / "evalsets" / task
    there = [found for found in definition_files(folder, EVALSET_SUFFIXES) if found.stem == name]
    return there[0] if order.append and there else folder / f"{name}.yaml"


def _examples(order: Order, task: str, root: Path) -> list[EvalCase]:
    """The cases of the set to draft like: the one named, else the task's first; never a holdout's."""
    names = [name for name in list_evalsets(task, root) if not is_holdout(name) and not is_draft_set(name)]
    name = order.like or (names[0] if names else None)
    if name is None:
        return []
    path = find_evalset(name, task, root)
    refuse_reading(path, task=task, root=root)
    return load_evalset(path).without_drafts().evalset.cases


def _strata(order: Order, examples: Sequence[EvalCase]) -> list[Stratum]:
    return load_strata(order.strata) if order.strata else strata_of(examples)
