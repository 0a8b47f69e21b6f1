"""The Python API: run a bake-off from a script or a notebook, or load one that was run before."""

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from evalq.api.bakeoff_handle import BakeOff, Origin
from evalq.api.function_judges import Function, name_judges, serve_functions
from evalq.api.inline_definitions import Case, Task, is_inline, load_inline
from evalq.bakeoff import holdout
from evalq.bakeoff.conclude import result_of
from evalq.bakeoff.follow import follow_to_end, is_never_interrupted, show_nothing
from evalq.bakeoff.launch import start
from evalq.bakeoff.plan import Plan, own_graders
from evalq.bakeoff.request import Request, prepare_imported
from evalq.definitions.definition import validate
from evalq.definitions.located import Located
from evalq.definitions.money import read_usd
from evalq.definitions.task import ScorerMode
from evalq.engines.session import open_session
from evalq.errors import InputError, Problem
from evalq.formats import prepare
from evalq.results import Progress
from evalq.settings import Settings, load_settings, project_root
from evalq.store import bakeoffs

__all__ = ["BakeOff", "bake_off", "bake_off_async", "load"]

_Params = ParamSpec("_Params")

_is_interrupted: ContextVar[Callable[[], bool]] = ContextVar("is_interrupted", default=is_never_interrupted)
"""Asked while a bake-off is followed; a task that is cancelled sets it for the thread that works for it."""


def bake_off(
    *,
    task: Task = "",
    eval_set: str | Path | Iterable[Case],
    judges: Sequence[str | Function] | str | Function = (),
    scorer: ScorerMode | None = None,
    grader_model: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    max_cost_usd: Decimal | float | str | None = None,
    final_decision: bool = False,
    notes: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> BakeOff:
    """Run judges (models on trial) on a task and compare them; returns when the last answer is graded.

    `task` is a name, a path, a mapping or TaskConfig, or a prompt such as "Which team? {ticket}".
    `eval_set` is a name, a path, or a list of cases: dictionaries with `inputs` and `expected`, or flat ones
    whose other keys are the inputs. A path in another format, such as an EVAL.yaml, needs no task.
    `judges` are names of `evalq judges` and functions. A function gets a case's inputs as a dictionary and
    returns the answer; it runs in this process, in up to eight threads. Workers of another fleet (settings
    with URLs) import it by its module and name instead.

    Plain and synchronous: usable in a notebook, with or without a running event loop. Settings come from the
    environment and evalq.yaml as for the command line; what that prints as a warning is a Python warning
    here. KeyboardInterrupt pauses the bake-off. A holdout is refused except for a final decision, which is
    recorded for good. Without `samples` each case is answered once, or as often as another tool's file says.
    """
    look: holdout.Purpose | None = "final-decision" if final_decision else None
    request = Request("", "", (), scorer, grader_model, samples, seed, look=look, notes=notes)
    return _run(_Order(task, eval_set, judges, request, max_cost_usd), on_progress or show_nothing)


@dataclass(frozen=True)
class _Order:
    """What `bake_off` was asked for; the request lacks the names of what may be a value."""

    task: Task
    eval_set: str | Path | Iterable[Case]
    judges: Sequence[str | Function] | str | Function
    request: Request
    max_cost_usd: Decimal | float | str | None


def _run(order: _Order, show: Callable[[Progress], None]) -> BakeOff:
    cwd = Path.cwd()
    settings, root = load_settings(cwd, os.environ), project_root(cwd)
    names, functions = name_judges(order.judges)
    cap_usd = settings.max_cost_usd if order.max_cost_usd is None else _read_cap(order.max_cost_usd)
    with ExitStack() as stack:
        served = stack.enter_context(serve_functions(functions, settings))
        with_functions = settings.model_copy(update={"judges": {**settings.judges, **served}})
        plan = _plan(order, replace(order.request, judges=names), with_functions, root)
        for warning in _collect_warnings(plan):
            warnings.warn(warning, stacklevel=3)
        session = stack.enter_context(open_session(settings, fleet=True, providers=plan.providers))
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=root)
        follow_to_end(session, bakeoff_id, show=show, is_interrupted=_is_interrupted.get())
        result = result_of(session.db, bakeoff_id)
        if plan.look:
            holdout.complete_files(session.db, root)
        return BakeOff(result, Origin(settings, cwd))


def _to_async(run: Callable[_Params, BakeOff]) -> Callable[_Params, Coroutine[Any, Any, BakeOff]]:
    """The same function to await: it works in a thread, and a cancelled task pauses the bake-off first."""

    @wraps(run)
    async def bake_off_async(*args: _Params.args, **options: _Params.kwargs) -> BakeOff:
        cancelled = threading.Event()
        _is_interrupted.set(cancelled.is_set)
        work = asyncio.ensure_future(asyncio.to_thread(run, *args, **options))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.wait([work])
            raise

    bake_off_async.__name__ = bake_off_async.__qualname__ = "bake_off_async"
    bake_off_async.__doc__ = (
        "Run `bake_off`, with the same arguments, without holding up the event loop.\n\n"
        "Cancelling the task pauses the bake-off: nothing more is spent, and `evalq resume` goes on with it."
    )
    return bake_off_async


bake_off_async = _to_async(bake_off)


def load(bakeoff: int | str = "last", *, database_url: str | None = None) -> BakeOff:
    """Load a bake-off by its number, as `last` or as `@-2`, from the settings' database or the one given."""
    cwd = Path.cwd()
    settings = load_settings(cwd, os.environ)
    if database_url is not None:
        given = validate(Settings, Located({"database_url": database_url}, {}, "database_url"))
        settings = settings.model_copy(update={"database_url": given.database_url})
    origin = Origin(settings, cwd)
    with origin.open_database() as db:
        return BakeOff(result_of(db, bakeoffs.find(db, str(bakeoff))), origin)


def _plan(order: _Order, request: Request, settings: Settings, root: Path) -> Plan:
    task, eval_set = order.task, order.eval_set
    if is_inline(task, eval_set):
        inline = load_inline(task, eval_set, root, scorer=request.scorer, grader_model=request.grader_model)
        named = replace(request, task=inline.task.name, eval_set=inline.evalset.name)
        return prepare_imported(inline, named, settings)
    return prepare(replace(request, task=str(task), eval_set=str(eval_set)), settings, root)


def _read_cap(given: Decimal | float | str) -> Decimal:
    try:
        return read_usd(given)
    except ValueError as exc:
        raise InputError(Problem(f"max_cost_usd: {exc}")) from None


def _collect_warnings(plan: Plan) -> list[str]:
    """What the user should know before anything is paid for."""
    found = list(plan.warnings)
    if plan.draft_warning:
        found.append(plan.draft_warning)
    for name in own_graders(plan.judges, plan.graders):
        found.append(f"{name} is on trial and grades its own answers; name another grader_model")
    return found
