"""Where agentv 4's transpiler differs from its first version."""

from pathlib import Path
from typing import Any

import pytest

from evalq.formats.agentv.compat import load_as_agentv, transpile_as_agentv
from evalq.formats.agentv.compat_four import FOUR, describe_four


def instruction(name: str, about: str = "") -> str:
    return (
        f"Run `agentv eval assert {name} --agent-output <agent_output> --agent-input <original_prompt>` and "
        f"check the result.{about} The command accepts --agent-output (the agent's full response text) and "
        '--agent-input (the original user prompt). It returns JSON on stdout: {"score": 0-1, "reasoning": '
        '"..."}. A score >= 0.5 means pass (exit 0); below 0.5 means fail (exit 1).'
    )


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ({"type": "contains", "value": "a"}, ["Output contains 'a'"]),
        ({"type": "rubrics", "criteria": "R"}, ["R"]),
        ({"type": "llm-grader", "prompt": "P"}, ["P"]),
        ({"type": "llm_grader", "prompt": "P", "rubrics": [{"outcome": "O"}, {"id": "I"}, "x"]}, ["O", "I"]),
        ({"type": "llm-grader"}, []),
        ({"type": "llm-judge", "prompt": "P"}, ["P"]),
        ({"type": "llm-judge"}, ["llm-judge assertion"]),
        ({"type": "trigger-judge", "skill": "s"}, ["trigger-judge assertion"]),
        ({"type": "code-grader"}, [instruction("code-grader")]),
        ({"type": "code_grader", "name": "n", "command": ["a.ts"]}, [instruction("n")]),
        (
            {"type": "code-grader", "command": ["bun", "run", ".x/format-check.ts"]},
            [instruction("format-check")],
        ),
        ({"type": "code-grader", "command": ["python", "a.py"]}, [instruction("code-grader")]),
        ({"type": "code-grader", "command": "a.ts"}, [instruction("code-grader")]),
        ({"type": "code-grader", "command": ["x.mts", "y.js"]}, [instruction("x")]),
        (
            {"type": "code-grader", "description": "Checks {it}"},
            [instruction("code-grader", " This grader: Checks {it}.")],
        ),
        ({"type": "code-grader", "description": ""}, [instruction("code-grader")]),
        ({"type": "code-grader", "name": None, "command": ["a.mjs"]}, [instruction("a")]),
        ({"type": "my-own", "command": ["dir/own.ts"], "description": "d"}, [instruction("own")]),
        ({"type": "my-own", "command": None, "prompt": "P"}, [instruction("my-own")]),
        ({"type": "code-judge", "command": ["a.ts"]}, [instruction("a")]),
        ({"type": "my-own", "prompt": "P"}, ["P"]),
        ({"command": ["a.ts"]}, []),
        ("text", []),
    ],
)
def test_an_assertion_is_said_as_version_four_says_it(assertion: Any, said: list[str]) -> None:
    assert describe_four(assertion) == said


def test_a_skill_trigger_decides_and_a_trigger_judge_does_not() -> None:
    tests = [
        {
            "id": "a",
            "input": "x",
            "assertions": [{"type": "skill-trigger", "skill": "s", "should_trigger": False}],
        },
        {"id": "b", "input": "y", "assertions": [{"type": "trigger-judge", "skill": "t"}]},
    ]
    (document,) = transpile_as_agentv({"tests": tests}, "EVAL.yaml", FOUR).documents.values()
    assert document.content() == {
        "skill_name": "s",
        "evals": [
            {"id": 1, "prompt": "x", "assertions": [], "should_trigger": False},
            {"id": 2, "prompt": "y", "assertions": ["trigger-judge assertion"]},
        ],
    }


def test_merge_keys_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "EVAL.yaml"
    path.write_text("base: &b {input: hello}\ntests:\n  - {<<: *b, id: a}\n")
    assert load_as_agentv(path, FOUR)["tests"] == [{"input": "hello", "id": "a"}]
    assert "<<" in load_as_agentv(path)["tests"][0]
