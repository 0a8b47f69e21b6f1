"""Answers to calibrate with."""

from collections.abc import Callable
from typing import Any

import pytest

from evalq.review.labels import Answer

Make = Callable[..., list[Answer]]


@pytest.fixture
def make() -> Make:
    """Makes answers of a judge from pairs: did the grader pass it, and what people said (None: nothing)."""

    def answers(pairs: Any, judge: str = "a") -> list[Answer]:
        return [
            Answer(
                at,
                judge,
                f"c{at:03}",
                1,
                "",
                "passed" if marked else "failed",
                () if said is None else (said,),
            )
            for at, (marked, said) in enumerate(pairs)
        ]

    return answers
