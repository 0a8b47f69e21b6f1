"""Drafts on their way: what is asked for whom, the query to the model, the file of drafts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evalq.bakeoff.holdout.guard import is_holdout, refuse_reading, refuse_writing
from evalq.bakeoff.probes import ModelQuery, QueryReplies
from evalq.cases.draft_prompt import (
    DraftCall,
    Stratum,
    drafting_set,
    drafting_task,
    load_strata,
    plan_calls,
    strata_of,
)
from evalq.cases.draft_reply import Drafts, read_drafts
from evalq.definitions.definition import NAME_REMEDY, did_you_mean, is_name
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, LoadedEvalSet, display_path, load_evalset, load_task
from evalq.definitions.fit import check_fit
from evalq.definitions.project import (
    DRAFT_PREFIX,
    definition_files,
    find_evalset,
    find_task,
    is_draft_set,
    list_evalsets,
    task_of_set,
)
from evalq.definitions.task import TaskConfig
from evalq.definitions.writing import accept_drafts, case_fields, refuse_taken, write_evalset
from evalq.errors import InputError, Problem


@dataclass(frozen=True)
class AcceptedDrafts:
    """Which cases of a set lost their mark, and how many have it still."""

    task: str
    eval_set: str
    path: str
    ids: tuple[str, ...]
    left: int


def accept(root: Path, eval_set: str, *, task: str | None, ids: Sequence[str], every: bool) -> AcceptedDrafts:
    """Accept some drafts of a set, or every one; those that do not fit their task are refused."""
    owner = load_task(find_task(task or task_of_set(eval_set, root), root))
    path = find_evalset(eval_set, owner.name, root)
    refuse_writing(path, task=owner.name, root=root)
    loaded = load_evalset(path)
    chosen = _chosen(loaded, ids, every=every)
    _refuse_misfits(owner, loaded, chosen)
    after = accept_drafts(path, chosen)
    left = sum(case.draft for case in after.cases)
    return AcceptedDrafts(owner.name, loaded.evalset.name, display_path(path), tuple(chosen), left)


def _chosen(loaded: LoadedEvalSet, ids: Sequence[str], *, every: bool) -> list[str]:
    """The drafts meant, in the order of the set."""
    cases = loaded.evalset.cases
    if bool(ids) == every:
        raise InputError(Problem("which drafts?", "name their ids, or give --all, not both"))
    known = [case.id for case in cases]
    unknown = [
        Problem(f"no case {one!r}", did_you_mean(one, known), loaded.file) for one in ids if one not in known
    ]
    if unknown:
        raise InputError(*unknown)
    chosen = [case.id for case in cases if case.draft and (every or case.id in ids)]
    if not chosen:
        raise InputError(Problem("none of these cases is a draft", "nothing is to be accepted", loaded.file))
    return chosen


def _refuse_misfits(task: TaskConfig, loaded: LoadedEvalSet, chosen: Sequence[str]) -> None:
    cases = [case for case in loaded.evalset.cases if case.id in chosen]
    problems = check_fit(task, replace(loaded, evalset=loaded.evalset.model_copy(update={"cases": cases})))
    if problems:
        raise InputError(*problems)


SCHEMA = "evalq.drafts/1"


@dataclass(frozen=True)
class StratumCount:
    """A stratum with how many cases it was to get and got."""

    stratum: str
    asked: int
    drafted: int


@dataclass(frozen=True)
class Drafted:
    """Cases drafted by a model; nothing is written yet."""

    task: str
    path: str
    evalset: EvalSet
    questions: tuple[DraftCall, ...]
    drafts: Drafts
    replies: QueryReplies

    @property
    def n_asked(self) -> int:
        """Cases wanted."""
        return sum(question.n for question in self.questions)

    @property
    def exit_code(self) -> int:
        """4 when it stopped at its cap, 3 when there are fewer cases than wanted, else 0."""
        if self.replies.state == "capped":
            return 4
        return 3 if len(self.drafts.cases) < self.n_asked else 0

    def strata(self) -> list[StratumCount]:
        """In the order they were asked for."""
        asked = Counter[str]()
        for question in self.questions:
            asked[question.stratum.name] += question.n
        drafted = Counter(case.stratum_name for case in self.drafts.cases)
        return [StratumCount(name or "all", n, drafted[name]) for name, n in asked.items()]

    def document(self, *, written: bool, next_commands: Sequence[str]) -> dict[str, Any]:
        """The `evalq.drafts/1` document."""
        return {
            "schema": SCHEMA,
            "task": self.task,
            "eval_set": self.evalset.name,
            "path": self.path,
            "judge": self.replies.judge,
            "bakeoff_id": self.replies.bakeoff_id,
            "state": self.replies.state,
            "spent_usd": f"{self.replies.spent_usd:.4f}",
            "kept": self.replies.is_kept,
            "asked": self.n_asked,
            "drafted": len(self.drafts.cases),
            "strata": [asdict(one) for one in self.strata()],
            "dropped": [asdict(one) for one in self.drafts.dropped],
            "cases": [case_fields(case) for case in self.drafts.cases],
            "written": written,
            "next": list(next_commands),
        }


RUN_TYPE = "drafts"


@dataclass(frozen=True)
class DraftOptions:
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
class DraftPlan:
    """Everything decided before a model is asked."""

    order: DraftOptions
    task: TaskConfig
    path: Path
    existing: EvalSet | None
    examples: tuple[EvalCase, ...]
    questions: tuple[DraftCall, ...]

    def query(self) -> ModelQuery:
        """The questions, for the fleet."""
        order = self.order
        asked = drafting_set(self.task, self.path.stem, self.questions, self.examples, seed=order.seed)
        return ModelQuery(
            RUN_TYPE, drafting_task(self.task), asked, order.judge, order.seed, order.allow_unpriced
        )


def plan_drafts(order: DraftOptions, root: Path) -> DraftPlan:
    """Load and check everything; every refusal comes here."""
    task = load_task(find_task(order.task, root))
    path = _target(order, task.name, root)
    refuse_writing(path, task=task.name, root=root)
    existing = load_evalset(path).evalset if order.append and path.exists() else None
    if existing is None:
        refuse_taken(path, list_evalsets(task.name, root).values())
    examples = _examples(order, task.name, root)
    questions = plan_calls(order.n, _strata(order, examples), seed=order.seed)
    return DraftPlan(order, task, path, existing, tuple(examples), tuple(questions))


def collect_drafts(brief: DraftPlan, replies: QueryReplies) -> Drafted:
    """The cases a model drafted, those of the set before them."""
    before = brief.existing.cases if brief.existing else []
    known = [*before, *brief.examples]
    drafts = read_drafts(brief.task, brief.questions, replies.by_case, known=known)
    evalset = brief.existing or EvalSet.model_construct(
        name=brief.path.stem, task=brief.task.name, description=f"Drafted by {replies.judge}.", cases=[]
    )
    whole = evalset.model_copy(update={"cases": [*before, *drafts.cases]})
    return Drafted(brief.task.name, display_path(brief.path), whole, brief.questions, drafts, replies)


def write_drafts(brief: DraftPlan, drafted: Drafted) -> None:
    """Write the drafts; nothing of them counts before they are accepted."""
    write_evalset(brief.path, drafted.evalset)


def _target(order: DraftOptions, task: str, root: Path) -> Path:
    """The file of drafts, under a name that says so; a holdout's name is kept for the guard to refuse."""
    name = order.eval_set or f"{DRAFT_PREFIX}{order.n}"
    if not is_name(name):
        raise InputError(Problem(f"{name!r} cannot name an evalset", NAME_REMEDY))
    if not is_draft_set(name) and not is_holdout(name):
        name = f"{DRAFT_PREFIX}{name}"
    folder = root / "evalsets" / task
    there = [found for found in definition_files(folder, EVALSET_SUFFIXES) if found.stem == name]
    return there[0] if order.append and there else folder / f"{name}.yaml"


def _examples(order: DraftOptions, task: str, root: Path) -> list[EvalCase]:
    """The cases of the set to draft like: the one named, else the task's first; never a holdout's."""
    names = [name for name in list_evalsets(task, root) if not is_holdout(name) and not is_draft_set(name)]
    name = order.like or (names[0] if names else None)
    if name is None:
        return []
    path = find_evalset(name, task, root)
    refuse_reading(path, task=task, root=root)
    return load_evalset(path).without_drafts().evalset.cases


def _strata(order: DraftOptions, examples: Sequence[EvalCase]) -> list[Stratum]:
    return load_strata(order.strata) if order.strata else strata_of(examples)
