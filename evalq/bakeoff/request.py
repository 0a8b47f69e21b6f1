"""Turns a request into a plan: loads, checks and prices everything before the first call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalq.bakeoff import holdout
from evalq.bakeoff.plan import (
    Plan,
    accept_command,
    apply_scorer,
    choose_graders,
    make_plan,
    named_models,
    refuse_absent_opponents,
    refuse_unpriced,
)
from evalq.definitions.catalogue import Catalogue, all_judges, pick_judges, with_models
from evalq.definitions.files import LoadedEvalSet, display_path, file_sha256, load_evalset, load_task
from evalq.definitions.fit import check_fit
from evalq.definitions.judge import with_deadline
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.project import find_evalset, find_task, list_evalsets
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.errors import InputError, Problem
from evalq.grading.people import refuse_unrankable
from evalq.grading.scoring import check_rubric
from evalq.settings import Settings


@dataclass(frozen=True)
class Request:
    """A bake-off as the user asked for it."""

    task: str
    eval_set: str
    judges: Sequence[str] = ()
    scorer: ScorerMode | None = None
    grader_model: str | None = None
    samples: int | None = None
    """Answers per judge and case; None takes the number from another tool's file, or one."""
    seed: int = 0
    allow_unpriced: bool = False
    only_first_case: bool = False
    limit: int | None = None
    """Only so many cases, from the first on; such a bake-off is marked as limited."""
    name: str | None = None
    """What the user calls the bake-off."""
    look: holdout.Purpose | None = None
    """The reason to look at a holdout; other sets need none."""
    notes: str | None = None
    """What the user noted; stored with every run."""
    trigger_mode: TriggerMode | None = None
    """How to decide whether a skill is used; None chooses by the judges."""


def prepare(request: Request, settings: Settings, root: Path) -> Plan:
    """Load, check and price a task and evalset written for evalq; reads files, touches nothing else.

    `formats.prepare` does the same for other tools' files too.
    """
    task = apply_scorer(load_task(find_task(request.task, root)), request.scorer, request.grader_model)
    path = find_evalset(request.eval_set, task.name, root)
    whole = load_evalset(path)
    _check_look(request, path, eval_set=whole.evalset.name, task=task, root=root)
    imported = LoadedTask(task, _accepted(whole, task.name))
    plan = _planned(imported, request, settings, known=all_judges(settings.judges))
    plan = replace(plan, n_drafts=whole.n_drafts)
    if not holdout.is_holdout(plan.evalset.name):
        return plan
    return replace(plan, look=request.look, set_sha256=file_sha256(path))


def prepare_imported(imported: LoadedTask, request: Request, settings: Settings) -> Plan:
    """Check and price a task loaded from another tool's file; the request overrides the file."""
    _refuse_holdout(imported, request)
    names = (*request.judges, *imported.judges, *named_models(imported.task, imported.evalset.cases))
    chosen = [request.grader_model] if request.grader_model else []
    known = with_models(all_judges(settings.judges), (*names, *chosen))
    wanted = replace(
        request,
        judges=request.judges or imported.judges,
        samples=imported.samples if request.samples is None else request.samples,
    )
    return replace(
        _planned(imported, wanted, settings, known=known), warnings=(*imported.notes, *imported.warnings)
    )


def _planned(imported: LoadedTask, request: Request, settings: Settings, *, known: Catalogue) -> Plan:
    task, loaded = imported.task, imported.loaded
    problems = check_fit(task, loaded)
    if problems:
        raise InputError(*problems)
    cases = loaded.evalset.cases[: 1 if request.only_first_case else request.limit]
    judges = [
        with_deadline(judge, imported.deadline_s)
        for judge in pick_judges(request.judges or task.default_judges, known)
    ]
    refuse_absent_opponents(task, cases, judges)
    graders = choose_graders(
        task, cases, judges, known, chosen=request.grader_model, usual=settings.grader_model
    )
    refuse_unrankable(task, cases, len(judges))
    if task.scoring is not None and task.scoring.mode == "llm_judge":
        check_rubric(task, loaded.evalset.cases[0])
    if not request.allow_unpriced:
        refuse_unpriced([*judges, *graders.values()])
    plan = make_plan(
        task,
        loaded.evalset.model_copy(update={"cases": cases}),
        judges,
        graders=graders,
        seed=_seed(request),
        samples=_samples(request),
    )
    is_limited = request.limit is not None and len(cases) < len(loaded.evalset.cases)
    return replace(plan, notes=request.notes, name=request.name, is_limited=is_limited)


def _refuse_holdout(imported: LoadedTask, request: Request) -> None:
    """Refuse a holdout in another format: it is frozen by the hash of one file, and these have several."""
    if holdout.is_holdout(imported.evalset.name):
        message = f"{imported.evalset.name!r} is named like a holdout, which only an evalset of evalq can be"
        raise InputError(Problem(message, "rename it", imported.loaded.file))
    holdout.check_look(
        imported.evalset.name,
        task=imported.task.name,
        judges=request.judges,
        purpose=request.look,
        other_sets=(),
    )


def _check_look(request: Request, path: Path, *, eval_set: str, task: TaskConfig, root: Path) -> None:
    """Guard holdouts; a holdout must be named like its file, so that none hides under another name."""
    if path.stem != eval_set and (holdout.is_holdout(path.stem) or holdout.is_holdout(eval_set)):
        raise InputError(
            Problem(
                f"a holdout has the name of its file, not {eval_set!r}",
                "change its name:",
                display_path(path),
            )
        )
    holdout.check_look(
        eval_set,
        task=task.name,
        judges=request.judges,
        purpose=request.look,
        other_sets=list(list_evalsets(task.name, root)),
    )


def _accepted(whole: LoadedEvalSet, task: str) -> LoadedEvalSet:
    """The set without its drafts; refuse a set that has nothing else."""
    loaded = whole.without_drafts()
    if not loaded.evalset.cases:
        remedy = f"edit them, then accept them: {accept_command(whole.evalset.name, task)}"
        raise InputError(Problem(f"all {whole.n_drafts} cases are drafts", remedy, whole.file))
    return loaded


def _samples(request: Request) -> int:
    samples = 1 if request.samples is None else request.samples
    if not 1 <= samples <= 1000:
        raise InputError(Problem(f"--samples {samples} is out of range", "give 1 to 1000"))
    return samples


def _seed(request: Request) -> int:
    # Postgres keeps it in 8 bytes, and the generator behind the intervals takes no negative one.
    if not 0 <= request.seed < 2**63:
        raise InputError(Problem(f"--seed {request.seed} is out of range", "give 0 to 2^63 - 1"))
    return request.seed
