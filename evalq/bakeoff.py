"""One bake-off from request to result: load, plan, record, publish, follow."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from evalq import conclusion, enqueue, holdout, recovery
from evalq.broker import Broker
from evalq.catalogue import Catalogue, catalogue, pick, resolve, with_models
from evalq.commit import commit_sha
from evalq.definitions.files import LoadedEvalSet, file_sha256, load_evalset, load_task, shown
from evalq.definitions.fit import check_fit
from evalq.definitions.judge import hurried
from evalq.definitions.lookup import find_evalset, find_task, list_evalsets
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem, Unreachable
from evalq.evidence import RunRow
from evalq.grader_choice import choose_graders, named_models, refuse_absent_opponents
from evalq.grading.human import refuse_unrankable
from evalq.grading.judge_model import check_rubric
from evalq.importers import Imported, Importer, TriggerMode, recognise
from evalq.importers.trigger_choice import mixture_warnings, trigger_mode_of
from evalq.plan import Plan, accept_command, apply_scorer, make_plan, refuse_over_cap, refuse_unpriced
from evalq.progress import read_progress
from evalq.results import BakeOffResult, BakeOffState, CiMethod, Progress
from evalq.session import Session
from evalq.settings import Settings
from evalq.store import bakeoffs, calls, retries
from evalq.store.database import Connection, Database

ENDED: tuple[BakeOffState, ...] = ("concluded", "cancelled", "capped", "paused")

_BY_HAND = "by hand"
_POLL_S = 0.25
_REAP_EVERY_S = 2.0
_DRAIN_S = 120.0
_QUIET_POLLS = 3
_AWAY_S = 60.0
"""So long a server may be away before whoever watches is told to come back later."""


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    task: str
    eval_set: str
    judges: Sequence[str] = ()
    scorer: ScorerMode | None = None
    grader_model: str | None = None
    samples: int | None = None
    """Answers per judge and case; None: as a file in another format says, else one."""
    seed: int = 0
    allow_unpriced: bool = False
    only_first_case: bool = False
    look: holdout.Purpose | None = None
    """Why a holdout may be looked at; final-decision or drift_check. Any other set needs no reason."""
    trigger_mode: TriggerMode | None = None
    """How it is decided whether a skill is used; None: as fits the judges."""


def prepare(request: Request, settings: Settings, root: Path) -> Plan:
    """Load and check everything, and price it; nothing is touched but files."""
    importer = recognise(Path(request.eval_set))
    if importer is not None and not (importer.is_guess and request.task):
        _refuse_own_task(request)
        return prepare_imported(_imported(importer, request, settings, root), request, settings)
    task = apply_scorer(load_task(find_task(request.task, root)), request.scorer, request.grader_model)
    path = find_evalset(request.eval_set, task.name, root)
    whole = load_evalset(path)
    _check_look(request, path, eval_set=whole.evalset.name, task=task, root=root)
    imported = Imported(task, _accepted(whole, task.name))
    plan = _planned(imported, request, settings, known=catalogue(settings.judges))
    plan = replace(plan, n_drafts=whole.n_drafts)
    if not holdout.is_holdout(plan.evalset.name):
        return plan
    return replace(plan, look=request.look, set_sha256=file_sha256(path))


def prepare_imported(imported: Imported, request: Request, settings: Settings) -> Plan:
    """Check and price what came in another format; `request` goes over what the file says."""
    _refuse_holdout(imported, request)
    names = (*request.judges, *imported.judges, *named_models(imported.task, imported.evalset.cases))
    chosen = [request.grader_model] if request.grader_model else []
    known = with_models(catalogue(settings.judges), (*names, *chosen))
    wanted = replace(
        request,
        judges=request.judges or imported.judges,
        samples=imported.samples if request.samples is None else request.samples,
    )
    return replace(
        _planned(imported, wanted, settings, known=known), warnings=(*imported.notes, *imported.warnings)
    )


def _planned(imported: Imported, request: Request, settings: Settings, *, known: Catalogue) -> Plan:
    task, loaded = imported.task, imported.loaded
    problems = check_fit(task, loaded)
    if problems:
        raise InputError(*problems)
    cases = loaded.evalset.cases[:1] if request.only_first_case else loaded.evalset.cases
    judges = [
        hurried(judge, imported.deadline_s) for judge in pick(request.judges or task.default_judges, known)
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
    return make_plan(
        task,
        loaded.evalset.model_copy(update={"cases": cases}),
        judges,
        graders=graders,
        seed=_seed(request),
        samples=_samples(request),
    )


def _imported(importer: Importer, request: Request, settings: Settings, root: Path) -> Imported:
    """The file as a task and cases; whether a skill is used is decided as its judges can show it."""
    known = with_models(catalogue(settings.judges), request.judges)
    judges = [known[name] for one in request.judges if (name := resolve(one, known)) is not None]
    mode = request.trigger_mode or trigger_mode_of(judges)
    imported = importer.load(Path(request.eval_set), root, trigger_mode=mode)
    if request.trigger_mode is not None:
        return imported
    mixed = mixture_warnings(judges, imported.evalset.cases)
    return replace(imported, warnings=(*imported.warnings, *mixed))


def _refuse_own_task(request: Request) -> None:
    """A set in another format is its own task: a second one would be passed over in silence."""
    if request.task:
        raise InputError(Problem(f"{request.eval_set} brings its own task", "leave out --task"))
    if request.scorer is not None:
        raise InputError(Problem(f"{request.eval_set} says itself how it is marked", "leave out --scorer"))


def _refuse_holdout(imported: Imported, request: Request) -> None:
    """A holdout is frozen by the hash of one file of cases; other formats are spread over several."""
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


def start(
    session: Session, broker: Broker, plan: Plan, *, cap_usd: Decimal, root: Path, run_type: str = "bake-off"
) -> int:
    """Record a bake-off and publish its first jobs; return its id."""
    terms = bakeoffs.Terms(
        cap_usd, plan.look or run_type, commit_sha(root), session.settings.ambiguous_repeats
    )
    return launch(session, broker, plan, terms=terms, root=root)


def launch(
    session: Session,
    broker: Broker,
    plan: Plan,
    *,
    terms: bakeoffs.Terms,
    root: Path,
    beside: Callable[[Connection, int], None] | None = None,
) -> int:
    """Log a look at a holdout, record the bake-off, then publish its first jobs; return its id.

    What `beside` writes for its id is in the transaction that records it.
    """
    refuse_over_cap(plan, terms.cap_usd)
    if plan.runs_code:
        session.prepare_sandbox()
    _set_daily_caps(session)
    uid = holdout.admit(session.db, root, plan, run_type=terms.run_type)
    with session.db.transaction() as tx:
        bakeoff_id = bakeoffs.add(tx, plan, replace(terms, uid=uid))
        if beside is not None:
            beside(tx, bakeoff_id)
    enqueue.open_chords(session.db, broker, bakeoff_id)
    enqueue.pump_all(session.db, broker)
    return bakeoff_id


def restart(session: Session, broker: Broker, bakeoff_id: int, *, cap_usd: Decimal | None) -> bool:
    """Go on with a stopped bake-off: what has ended stays, the rest is published; False: nothing is left."""
    _set_daily_caps(session)
    _prepare_sandbox(session, bakeoff_id)
    is_open = retries.reopen(session.db, bakeoff_id, cap_usd=cap_usd)
    enqueue.pump_all(session.db, broker)
    return is_open


def retry_errors(
    session: Session, broker: Broker, bakeoff_id: int, *, judges: Sequence[str], cap_usd: Decimal | None
) -> int:
    """Run the errored jobs of some judges again, of all when none is named; return how many they are."""
    run_ids = [run.id for run in _named_runs(session, bakeoff_id, judges)]
    _set_daily_caps(session)
    n_jobs = retries.retry_errors(session.db, bakeoff_id, run_ids=run_ids, cap_usd=cap_usd)
    if n_jobs:
        _prepare_sandbox(session, bakeoff_id)
        enqueue.pump_all(session.db, broker)
    return n_jobs


@dataclass(frozen=True)
class Paused:
    """What was to be paused, whether this made it so, and the state it is in."""

    what: str
    is_new: bool
    state: str


def pause(session: Session, bakeoff_id: int, *, judges: Sequence[str]) -> list[Paused]:
    """Stop a bake-off, or some of its judges while the others go on; what does not run is left as it is."""
    db, runs = session.db, _named_runs(session, bakeoff_id, judges)
    if not judges or bakeoffs.get(db, bakeoff_id).state != "running":
        is_new = not judges and bakeoffs.pause(db, bakeoff_id, _BY_HAND)
        return [Paused(f"bake-off {bakeoff_id}", is_new, bakeoffs.get(db, bakeoff_id).state)]
    stopped = {run.id for run in runs if bakeoffs.pause_run(db, run.id, _BY_HAND)}
    if stopped:
        conclusion.conclude_paused(db, bakeoff_id)
    now = {run.id: run.state for run in bakeoffs.runs(db, bakeoff_id)}
    return [Paused(f"judge {run.judge}", run.id in stopped, now[run.id]) for run in runs]


def follow(
    session: Session,
    broker: Broker,
    bakeoff_id: int,
    *,
    show: Callable[[Progress], None],
    is_interrupted: Callable[[], bool],
) -> BakeOffState:
    """Watch until the bake-off ends or the user interrupts; bring back what gets lost meanwhile.

    A server that is away for a while is waited for: the bake-off goes on when it is back.
    """
    state: BakeOffState = "running"
    last_seen = next_reap = time.monotonic()
    while state not in ENDED and not is_interrupted():
        asked = time.monotonic()
        try:
            progress = read_progress(session.db, bakeoff_id)
            show(progress)
            state = progress.state
            if state not in ENDED and asked >= next_reap:
                recovery.reap(session.db, broker, lost_after_s=session.settings.fleet.lost_after_s)
                next_reap = time.monotonic() + _REAP_EVERY_S
            last_seen = time.monotonic()
        except Unreachable:
            if time.monotonic() - last_seen > _AWAY_S:
                raise
        # Watching a large bake-off must not become the database's main work.
        time.sleep(max(_POLL_S, 4 * min(time.monotonic() - asked, 1.0)) if state not in ENDED else 0)
    return state


def stop_spending(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Pause a bake-off and wait for the calls in flight: they are paid for, their answers are stored."""
    bakeoffs.move(db, bakeoff_id, "paused", from_states=["running"])
    drain(db, bakeoff_id, show=show)


def drain(db: Database, bakeoff_id: int, *, show: Callable[[Progress], None]) -> None:
    """Wait until no call of a stopped bake-off is under way, nor the grading that follows one."""
    deadline, quiet = time.monotonic() + _DRAIN_S, 0
    while quiet < _QUIET_POLLS and time.monotonic() < deadline:
        quiet = 0 if calls.in_flight(db, bakeoff_id) else quiet + 1
        time.sleep(_POLL_S)
        show(read_progress(db, bakeoff_id))


def exit_code(result: BakeOffResult) -> int:
    """0 fine, 3 partial, 4 stopped at the cap."""
    if result.state == "capped":
        return 4
    return 3 if result.is_partial else 0


def result_of(db: Database, bakeoff_id: int, *, ci: CiMethod = "wilson") -> BakeOffResult:
    """What a bake-off has come to."""
    return conclusion.result_of(db, bakeoff_id, ci=ci)


def _check_look(request: Request, path: Path, *, eval_set: str, task: TaskConfig, root: Path) -> None:
    """The guard of holdouts; their names are those of their files, so that none hides behind another."""
    if path.stem != eval_set and (holdout.is_holdout(path.stem) or holdout.is_holdout(eval_set)):
        raise InputError(
            Problem(f"a holdout has the name of its file, not {eval_set!r}", "change its name:", shown(path))
        )
    holdout.check_look(
        eval_set,
        task=task.name,
        judges=request.judges,
        purpose=request.look,
        other_sets=list(list_evalsets(task.name, root)),
    )


def _accepted(whole: LoadedEvalSet, task: str) -> LoadedEvalSet:
    """The set without its drafts; one of drafts alone is refused."""
    loaded = whole.without_drafts()
    if not loaded.evalset.cases:
        remedy = f"edit them, then accept them: {accept_command(whole.evalset.name, task)}"
        raise InputError(Problem(f"all {whole.n_drafts} cases are drafts", remedy, whole.file))
    return loaded


def _named_runs(session: Session, bakeoff_id: int, judges: Sequence[str]) -> list[RunRow]:
    """The runs of the judges named, each once; all of the bake-off's when none is."""
    runs = {run.judge: run for run in bakeoffs.runs(session.db, bakeoff_id)}
    known = catalogue(session.settings.judges)
    found = {name: name if name in runs else resolve(name, known) for name in judges or runs}
    problems = [
        Problem(f"judge {name!r} is not in bake-off {bakeoff_id}", near(name, runs))
        for name, judge in found.items()
        if judge not in runs
    ]
    if problems:
        raise InputError(*problems)
    return [runs[judge] for judge in dict.fromkeys(found.values()) if judge is not None]


def _prepare_sandbox(session: Session, bakeoff_id: int) -> None:
    """For a bake-off that goes on: its graders may have code to run."""
    if session.db.row("runs_code", bakeoff_id=bakeoff_id):
        session.prepare_sandbox()


def _set_daily_caps(session: Session) -> None:
    if session.settings.caps is not None:
        bakeoffs.set_daily_caps(session.db, session.settings.caps.scopes())


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
