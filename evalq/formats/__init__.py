"""Other tools' files as tasks and evalsets: which formats there are, and how a file of one is prepared."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from evalq.bakeoff.plan import Plan
from evalq.bakeoff.request import Request, prepare_imported
from evalq.bakeoff.request import prepare as prepare_native
from evalq.definitions.catalogue import all_judges, resolve_judge, with_models
from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import HttpJudge, JudgeConfig, ModelJudge, SimulatedJudge
from evalq.definitions.loaded import Format, LoadedTask, TriggerMode
from evalq.errors import InputError, Problem
from evalq.settings import Settings

__all__ = ["Format", "LoadedTask", "TriggerMode", "recognise"]


def recognise(path: Path) -> Format | None:
    """Return the importer of a file or folder; None if it is missing or in evalq's own format."""
    try:
        path.stat()
    except (OSError, ValueError):  # missing, or not a valid path
        return None
    # The importers take longer to load than a bake-off in evalq's own format takes to plan.
    from evalq.formats.known_formats import FORMATS

    for importer in FORMATS:
        if importer.recognises(path):
            return importer
    return None


def prepare(request: Request, settings: Settings, root: Path) -> Plan:
    """Load, check and price what a request names, in whichever format it is; only files are read."""
    importer = recognise(Path(request.eval_set))
    if importer is None or (importer.is_guess and request.task):
        return prepare_native(request, settings, root)
    if request.task:
        raise InputError(Problem(f"{request.eval_set} brings its own task", "leave out --task"))
    if request.scorer is not None:
        raise InputError(Problem(f"{request.eval_set} brings its own graders", "leave out --scorer"))
    return prepare_imported(_load(importer, request, settings, root), request, settings)


def prepare_all(requests: Sequence[Request], settings: Settings, root: Path) -> list[Plan]:
    """Prepare every request; report the problems of all of them together."""
    plans: list[Plan] = []
    problems: list[Problem] = []
    for request in requests:
        try:
            plans.append(prepare(request, settings, root))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return plans


def _load(importer: Format, request: Request, settings: Settings, root: Path) -> LoadedTask:
    """Load the file; unless the request sets a trigger mode, choose one that all its judges support."""
    known = with_models(all_judges(settings.judges), request.judges)
    names = [resolve_judge(written, known) for written in request.judges]
    judges = [known[name] for name in names if name is not None]
    mode = request.trigger_mode or choose_trigger_mode(judges)
    imported = importer.load(Path(request.eval_set), root, trigger_mode=mode)
    if request.trigger_mode is not None:
        return imported
    return replace(
        imported, warnings=(*imported.warnings, *mixed_judges_warnings(judges, imported.evalset.cases))
    )


def makes_tool_calls(judge: JudgeConfig) -> bool:
    """Whether a judge can call tools: a model that is given some, or a system that reports its calls."""
    if isinstance(judge, ModelJudge):
        return bool(judge.params.get("tools"))
    if isinstance(judge, HttpJudge):
        return judge.tool_calls is not None
    return not isinstance(judge, SimulatedJudge)


def choose_trigger_mode(judges: Sequence[JudgeConfig]) -> TriggerMode:
    """Decide triggers by tool calls if every judge can make some, else by the skills' descriptions."""
    return "tool_calls" if all(makes_tool_calls(judge) for judge in judges) else "description"


def mixed_judges_warnings(judges: Sequence[JudgeConfig], cases: Iterable[EvalCase]) -> tuple[str, ...]:
    """Warn if triggers are decided by description although some of the judges can call tools."""
    callers = [judge.name for judge in judges if makes_tool_calls(judge)]
    others = [judge.name for judge in judges if judge.name not in callers]
    if not (callers and others and any(_has_decision(case) for case in cases)):
        return ()
    message = (
        f"{', '.join(callers)} may call tools and {', '.join(others)} may not: all are asked by the skills' "
        "descriptions whether they would use them, and a judge that calls a tool has decided by it"
    )
    return (str(Problem(message, "run them apart to see what each does with its tools alone")),)


def _has_decision(case: EvalCase) -> bool:
    return any(grader.type == "decision" for grader in case.graders)
