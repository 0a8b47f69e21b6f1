"""Other formats as tasks and evalsets: each is known by its files, and loaded as if written for evalq."""

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
from evalq.formats import tables
from evalq.formats.agentv import load as agentv
from evalq.formats.eva import doctor as eva_doctor
from evalq.formats.eva import load as eva
from evalq.formats.promptfoo import load as promptfoo
from evalq.formats.skills import evals_json
from evalq.formats.suite import load as suite
from evalq.settings import Settings

__all__ = ["FORMATS", "Format", "LoadedTask", "TriggerMode", "recognise"]

FORMATS: tuple[Format, ...] = (
    Format("eva", eva.recognises, eva.load, eva_doctor.problems),
    Format("EVAL.yaml", agentv.recognises, agentv.load),
    Format("suite", suite.recognises, suite.load, suite.problems),
    Format("evals.json", evals_json.recognises, evals_json.load),
    Format("promptfoo", promptfoo.recognises, promptfoo.load),
    Format("rows", tables.recognises, tables.load, is_guess=True),
)


def recognise(path: Path) -> Format | None:
    """The importer of a file or folder; None for what is in no format but evalq's own, or not there."""
    try:
        path.stat()
    except (OSError, ValueError):  # not there, or nothing that could be
        return None
    return next((importer for importer in FORMATS if importer.recognises(path)), None)


def prepare(request: Request, settings: Settings, root: Path) -> Plan:
    """Load, check and price what a request names, in whichever format it is; nothing is touched but files."""
    importer = recognise(Path(request.eval_set))
    if importer is None or (importer.is_guess and request.task):
        return prepare_native(request, settings, root)
    _refuse_own_task(request)
    return prepare_imported(_imported(importer, request, settings, root), request, settings)


def prepare_all(requests: Sequence[Request], settings: Settings, root: Path) -> list[Plan]:
    """Prepare every request; the problems of all of them are reported together."""
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


def _imported(importer: Format, request: Request, settings: Settings, root: Path) -> LoadedTask:
    """The file as a task and cases; whether a skill is used is decided as its judges can show it."""
    known = with_models(all_judges(settings.judges), request.judges)
    judges = [known[name] for one in request.judges if (name := resolve_judge(one, known)) is not None]
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


def makes_tool_calls(judge: JudgeConfig) -> bool:
    """Whether a judge can call a tool: a model that is given some, a system that says which it used."""
    if isinstance(judge, ModelJudge):
        return bool(judge.params.get("tools"))
    if isinstance(judge, HttpJudge):
        return judge.tool_calls is not None
    return not isinstance(judge, SimulatedJudge)


def trigger_mode_of(judges: Sequence[JudgeConfig]) -> TriggerMode:
    """By tool calls where every judge can make some: one that has tools and calls none has not triggered."""
    return "tool_calls" if all(makes_tool_calls(judge) for judge in judges) else "description"


def mixture_warnings(judges: Sequence[JudgeConfig], cases: Iterable[EvalCase]) -> tuple[str, ...]:
    """What to say of judges of which some can call tools and others cannot, where skills are decided on."""
    callers = [judge.name for judge in judges if makes_tool_calls(judge)]
    others = [judge.name for judge in judges if judge.name not in callers]
    is_decided = any(grader.type == "decision" for case in cases for grader in case.graders)
    if not (callers and others and is_decided):
        return ()
    message = (
        f"{', '.join(callers)} may call tools and {', '.join(others)} may not: all are asked by the skills' "
        "descriptions whether they would use them, and whoever calls a tool has decided by it"
    )
    return (str(Problem(message, "run them apart to see what each does with its tools alone")),)
