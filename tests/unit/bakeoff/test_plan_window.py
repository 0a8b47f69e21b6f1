"""How many messages of a gate may be out at once."""

import pytest

from evalq.bakeoff.plan import LARGEST_WINDOW, make_plan, window
from evalq.definitions.evalset import CaseMessage, EvalCase, EvalSet
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import ScoringConfig, TaskConfig


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, LARGEST_WINDOW),
        ({"rpm": 600.0}, 200),
        ({"rpm": 30.0}, 10),
        ({"rpm": 1.0}, 4),
        ({"input_tpm": 60_000}, 200),
        ({"output_tpm": 6_000}, 40),
        ({"rpm": 600.0, "output_tpm": 6_000}, 40),
        ({"concurrency": 8}, 16),
        ({"rpm": 1e9}, LARGEST_WINDOW),
    ],
)
def test_a_window_is_twenty_seconds_of_the_tightest_limit(limits: dict[str, float], expected: int) -> None:
    judge = SimulatedJudge(name="j", provider="simulated", model="m", **limits)  # type: ignore[arg-type]
    assert window(judge, input_tokens=100, output_tokens=50) == expected


def test_the_turns_of_a_conversation_count_towards_the_window() -> None:
    judge = SimulatedJudge(name="j", provider="simulated", model="m", input_tpm=60_000)
    task = TaskConfig(
        name="t",
        system_prompt="",
        user_template="{q}",
        scoring=ScoringConfig(mode="strict_substring", pass_rule="exact_match"),
        max_tokens=16,
    )
    talk = [
        CaseMessage(role="user", content="x" * 30_000),
        CaseMessage(role="assistant", content="y"),
        CaseMessage(role="user", content="z"),
    ]
    short = EvalCase(id="a", inputs={"q": "z"}, expected={"answer": "z"})
    long = EvalCase(id="a", inputs={"q": "z"}, expected={"answer": "z"}, messages=talk)
    windows = [
        make_plan(task, EvalSet(name="s", cases=[case]), [judge]).window(judge) for case in (short, long)
    ]
    assert windows[0] > windows[1] == 4
