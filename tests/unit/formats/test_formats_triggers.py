"""Whether a skill is used is decided by tool calls where every judge can make some."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import JudgeConfig
from evalq.formats import choose_trigger_mode, makes_tool_calls, mixed_judges_warnings

JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)


def judge(name: str, **fields: Any) -> JudgeConfig:
    return JUDGE.validate_python({"name": name, **fields})


MODEL = judge("m", provider="anthropic", model="m")
TOOLED = judge("t", provider="anthropic", model="m", params={"tools": [{"name": "Skill"}]})
HTTP = judge("h", provider="http", url="http://x")
HTTP_TOOLED = judge("ht", provider="http", url="http://x", tool_calls="$.calls")
PYTHON = judge("p", provider="python", callable="a:b")
COMMAND = judge("c", provider="command", command=["x"])
SIMULATED = judge("s", provider="simulated", model="m")


@pytest.mark.parametrize(
    ("one", "can"),
    [
        (MODEL, False),
        (TOOLED, True),
        (HTTP, False),
        (HTTP_TOOLED, True),
        (PYTHON, True),
        (COMMAND, True),
        (SIMULATED, False),
    ],
)
def test_a_judge_makes_tool_calls_if_it_has_tools(one: JudgeConfig, can: bool) -> None:
    assert makes_tool_calls(one) is can


def test_all_judges_must_have_tools() -> None:
    assert choose_trigger_mode([TOOLED, PYTHON]) == "tool_calls"
    assert choose_trigger_mode([TOOLED, MODEL]) == "description"
    assert choose_trigger_mode([]) == "tool_calls"


def test_judges_with_and_without_tools_are_warned_of() -> None:
    decided = EvalCase.model_validate({"id": "a", "inputs": {}, "graders": [{"type": "decision"}]})
    (warning,) = mixed_judges_warnings([TOOLED, MODEL], [decided])
    assert warning.startswith("t may call tools and m may not: ")
    assert mixed_judges_warnings([TOOLED], [decided]) == ()


def test_without_triggers_there_is_nothing_to_say() -> None:
    plain = EvalCase.model_validate({"id": "a", "inputs": {}, "graders": [{"type": "is_json"}]})
    assert mixed_judges_warnings([TOOLED, MODEL], [plain]) == ()
