"""How the judges of a bake-off show that they would use a skill: by their tool calls, or when asked."""

from collections.abc import Iterable, Sequence

from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import HttpJudge, JudgeConfig, ModelJudge, SimulatedJudge
from evalq.errors import Problem
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
