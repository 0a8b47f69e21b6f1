"""Which grader models a bake-off asks: those its task and cases name, or those put in their place."""

from collections.abc import Mapping, Sequence

from evalq.catalogue import Catalogue, pick
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders.model_graders import PairwiseGrader
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.task import TaskConfig
from evalq.definitions.validation import near
from evalq.errors import InputError, Problem
from evalq.grading.marking import grader_models, named_graders

SIMULATED_GRADER = "sim-grader"


def choose_graders(
    task: TaskConfig,
    cases: Sequence[EvalCase],
    judges: Sequence[JudgeConfig],
    known: Catalogue,
    *,
    chosen: str | None = None,
    usual: str | None = None,
) -> dict[str, JudgeConfig]:
    """Every grader model by the name it is called, "" for the one that graders leave open.

    `chosen` stands in for all but the members of panels, `usual` for those left open. Simulated answers are
    graded by a simulation, for nothing, unless a grader is chosen.
    """
    names = dict.fromkeys(name or "" for case in cases for name in grader_models(task, case))
    panels = {name for case in cases for name in _panel_members(task, case)}
    is_simulated = all(judge.provider == "simulated" for judge in judges)
    return {
        name: _stand_in(name, known, is_member=name in panels)
        if is_simulated and (name in panels or not chosen)
        else _named((chosen if name not in panels else None) or name or usual, task, known)
        for name in names
    }


def named_models(task: TaskConfig, cases: Sequence[EvalCase]) -> list[str]:
    """The grader models that a task and its cases name, each once."""
    names = dict.fromkeys(name for case in cases for name in grader_models(task, case))
    return [name for name in names if name]


def _panel_members(task: TaskConfig, case: EvalCase) -> Sequence[str]:
    return [name for _, grader in named_graders(task, case) for name in getattr(grader, "models", ())]


def _stand_in(name: str, known: Catalogue, *, is_member: bool) -> JudgeConfig:
    """A simulation: the one named, or the simulated grader; each member of a panel has its own."""
    if name in known and known[name].provider == "simulated":
        return known[name]
    grader = known[SIMULATED_GRADER]
    if not is_member:
        return grader
    return grader.model_copy(update={"name": f"{grader.name}-{name}", "model": f"{grader.model} as {name}"})


def _named(name: str | None, task: TaskConfig, known: Catalogue) -> JudgeConfig:
    if not name:
        raise InputError(
            Problem(
                f"task {task.name!r} has a model grader that names no model",
                "write model: under it, give --grader-model, or set grader_model: in evalq.yaml",
            )
        )
    return pick([name], known)[0]


def refuse_absent_opponents(
    task: TaskConfig, cases: Sequence[EvalCase], judges: Sequence[JudgeConfig]
) -> None:
    """Refuse to compare with the answers of a judge that gives none here."""
    names = [judge.name for judge in judges]
    graders = [grader for case in cases for _, grader in named_graders(task, case)]
    opponents = dict.fromkeys(one.opponent for one in graders if isinstance(one, PairwiseGrader))
    problems = [
        Problem(
            f"a pairwise grader compares with {name!r}, which is not among the judges",
            f"add it to --judges, or name another {near(name, names)}".rstrip(),
        )
        for name in opponents
        if name is not None and name not in names
    ]
    if problems:
        raise InputError(*problems)


def own_graders(judges: Sequence[JudgeConfig], graders: Mapping[str, JudgeConfig]) -> list[str]:
    """The judges on trial that grade too: by name, or as the same model of the same provider."""
    models = {(grader.provider, grader.model) for grader in graders.values()}
    return [judge.name for judge in judges if (judge.provider, judge.model) in models]
