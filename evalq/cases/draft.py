"""Drafts cases with a model: plan the calls, collect the replies, write the drafts, accept them on review."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evalq.bakeoff.holdout.guard import is_holdout, refuse_reading, refuse_writing
from evalq.bakeoff.probes import ModelQuery, QueryReplies
from evalq.cases.draft_prompt import (
    DraftCall,
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

SCHEMA = "evalq.drafts/1"
RUN_TYPE = "drafts"


@dataclass(frozen=True)
class DraftOptions:
    """The user's request."""

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

    options: DraftOptions
    task: TaskConfig
    path: Path
    existing: EvalSet | None
    examples: tuple[EvalCase, ...]
    calls: tuple[DraftCall, ...]

    def query(self) -> ModelQuery:
        """The calls as a query for the fleet."""
        options = self.options
        evalset = drafting_set(self.task, self.path.stem, self.calls, self.examples, seed=options.seed)
        return ModelQuery(
            RUN_TYPE, drafting_task(self.task), evalset, options.judge, options.seed, options.allow_unpriced
        )


@dataclass(frozen=True)
class StratumCount:
    """How many cases were asked for in a stratum, and how many were drafted."""

    stratum: str
    asked: int
    drafted: int


@dataclass(frozen=True)
class Drafted:
    """Cases drafted by a model; nothing is written yet."""

    task: str
    path: str
    evalset: EvalSet
    calls: tuple[DraftCall, ...]
    drafts: Drafts
    replies: QueryReplies

    @property
    def n_asked(self) -> int:
        """Cases asked for."""
        return sum(call.n for call in self.calls)

    @property
    def exit_code(self) -> int:
        """4 when it stopped at its cap, 3 when there are fewer cases than asked for, else 0."""
        if self.replies.state == "capped":
            return 4
        return 3 if len(self.drafts.cases) < self.n_asked else 0

    def strata(self) -> list[StratumCount]:
        """The strata in the order they were asked for."""
        asked = Counter[str]()
        for call in self.calls:
            asked[call.stratum.name] += call.n
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
            "strata": [asdict(stratum) for stratum in self.strata()],
            "dropped": [asdict(dropped) for dropped in self.drafts.dropped],
            "cases": [case_fields(case) for case in self.drafts.cases],
            "written": written,
            "next": list(next_commands),
        }


@dataclass(frozen=True)
class AcceptedDrafts:
    """The cases of a set that are no longer drafts, and how many drafts are left."""

    task: str
    eval_set: str
    path: str
    ids: tuple[str, ...]
    left: int


def plan_drafts(options: DraftOptions, root: Path) -> DraftPlan:
    """Load and check everything; every refusal happens here, before a model is asked."""
    task = load_task(find_task(options.task, root))
    path = _choose_target(options, task.name, root)
    refuse_writing(path, task=task.name, root=root)
    existing = None
    if options.append and path.exists():
        existing = load_evalset(path).evalset
    else:
        refuse_taken(path, list_evalsets(task.name, root).values())
    examples = _load_examples(options, task.name, root)
    strata = load_strata(options.strata) if options.strata else strata_of(examples)
    calls = plan_calls(options.n, strata, seed=options.seed)
    return DraftPlan(options, task, path, existing, tuple(examples), tuple(calls))


def collect_drafts(plan: DraftPlan, replies: QueryReplies) -> Drafted:
    """Read the drafts from the replies; the existing cases of the set come before them."""
    before = plan.existing.cases if plan.existing else []
    drafts = read_drafts(plan.task, plan.calls, replies.by_case, known=[*before, *plan.examples])
    evalset = plan.existing or EvalSet.model_construct(
        name=plan.path.stem, task=plan.task.name, description=f"Drafted by {replies.judge}.", cases=[]
    )
    extended = evalset.model_copy(update={"cases": [*before, *drafts.cases]})
    return Drafted(plan.task.name, display_path(plan.path), extended, plan.calls, drafts, replies)


def write_drafts(plan: DraftPlan, drafted: Drafted) -> None:
    """Write the drafts; none is used before it is accepted."""
    write_evalset(plan.path, drafted.evalset)


def accept(root: Path, eval_set: str, *, task: str | None, ids: Sequence[str], every: bool) -> AcceptedDrafts:
    """Accept some drafts of a set, or every one; refuse those that do not fit their task."""
    owner = load_task(find_task(task or task_of_set(eval_set, root), root))
    path = find_evalset(eval_set, owner.name, root)
    refuse_writing(path, task=owner.name, root=root)
    loaded = load_evalset(path)
    chosen = _choose_drafts(loaded, ids, every=every)
    _refuse_misfits(owner, loaded, chosen)
    after = accept_drafts(path, chosen)
    left = sum(case.draft for case in after.cases)
    return AcceptedDrafts(owner.name, loaded.evalset.name, display_path(path), tuple(chosen), left)


def _choose_target(options: DraftOptions, task: str, root: Path) -> Path:
    """The file for the drafts, its name prefixed; a holdout's name is kept for the guard to refuse."""
    name = options.eval_set or f"{DRAFT_PREFIX}{options.n}"
    if not is_name(name):
        raise InputError(Problem(f"{name!r} cannot name an evalset", NAME_REMEDY))
    if not is_draft_set(name) and not is_holdout(name):
        name = f"{DRAFT_PREFIX}{name}"
    folder = root / "evalsets" / task
    if options.append:
        for path in definition_files(folder, EVALSET_SUFFIXES):
            if path.stem == name:
                return path
    return folder / f"{name}.yaml"


def _load_examples(options: DraftOptions, task: str, root: Path) -> list[EvalCase]:
    """The cases of the set named by `like`, else of the task's first set; never of a holdout."""
    name = options.like
    if name is None:
        names = [one for one in list_evalsets(task, root) if not is_holdout(one) and not is_draft_set(one)]
        if not names:
            return []
        name = names[0]
    path = find_evalset(name, task, root)
    refuse_reading(path, task=task, root=root)
    return load_evalset(path).without_drafts().evalset.cases


def _choose_drafts(loaded: LoadedEvalSet, ids: Sequence[str], *, every: bool) -> list[str]:
    """The ids of the drafts to accept, in the order of the set."""
    if bool(ids) == every:
        raise InputError(Problem("which drafts?", "name their ids, or give --all, not both"))
    cases = loaded.evalset.cases
    known = [case.id for case in cases]
    problems = []
    for case_id in ids:
        if case_id not in known:
            problems.append(Problem(f"no case {case_id!r}", did_you_mean(case_id, known), loaded.file))
    if problems:
        raise InputError(*problems)
    chosen = [case.id for case in cases if case.draft and (every or case.id in ids)]
    if not chosen:
        raise InputError(Problem("none of these cases is a draft", "there is nothing to accept", loaded.file))
    return chosen


def _refuse_misfits(task: TaskConfig, loaded: LoadedEvalSet, chosen: Sequence[str]) -> None:
    cases = [case for case in loaded.evalset.cases if case.id in chosen]
    problems = check_fit(task, replace(loaded, evalset=loaded.evalset.model_copy(update={"cases": cases})))
    if problems:
        raise InputError(*problems)
