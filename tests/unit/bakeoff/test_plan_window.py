"""How many messages of a gate may be out at once."""

import pytest

from evalq.bakeoff.plan import LARGEST_WINDOW, window
from evalq.definitions.judge import SimulatedJudge


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
