"""How the judges of a bake-off show that they would use a skill: by their tool calls, or when asked."""

from collections.abc import Iterable, Sequence

from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import HttpJudge, JudgeConfig, ModelJudge, SimulatedJudge
from evalq.errors import InputError, Problem
from evalq.importers.imported import TriggerMode


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


def refuse_mixture(judges: Sequence[JudgeConfig], cases: Iterable[EvalCase]) -> None:
    """Refuse to decide by description for judges of which some would rather show it by their tools."""
    callers = [judge.name for judge in judges if makes_tool_calls(judge)]
    others = [judge.name for judge in judges if judge.name not in callers]
    if callers and others and any(grader.type == "decision" for case in cases for grader in case.graders):
        message = f"{', '.join(callers)} may call tools and {', '.join(others)} may not"
        remedy = "run them apart, or give --trigger-mode tool_calls or description for all"
        raise InputError(Problem(f"whether a skill is used cannot be compared: {message}", remedy))
