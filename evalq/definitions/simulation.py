"""A simulated judge: how often it is right, how fast, and how it misbehaves."""

from typing import Literal

from pydantic import Field, FiniteFloat

from evalq.definitions.definition import Definition, is_unset
from evalq.definitions.judged import Judged, Share


class Latency(Definition):
    """A log-normal latency by two of its quantiles, in milliseconds."""

    p50: int = Field(default=300, ge=1)
    p95: int = Field(default=900, ge=1)


class Misbehaviour(Definition):
    """Shares of calls that go wrong, each in its own way; drawn once per call in this order."""

    empty: Share = 0.0
    refused: Share = 0.0
    malformed: Share = 0.0
    truncated: Share = 0.0
    slow: Share = 0.0
    error: Share = 0.0


class SimulatedJudge(Judged):
    """A deterministic stand-in for a model: right or wrong by design, in the task's real format.

    `answers` are what it says to single cases, by their ids, whatever its accuracy. As a grader it may `echo`
    all that it was shown before it says its own, and it may be held to a JSON schema (`structured`).
    """

    provider: Literal["simulated"]
    model: str
    family: str = "simulated"
    accuracy: Share = 0.8
    accuracy_by_stratum: dict[str, Share] = Field(default={})
    shared_difficulty: Share = 0.45
    family_likeness: Share = 0.15
    latency_ms: Latency = Latency()
    time_scale: FiniteFloat = Field(default=1.0, ge=0, le=10)
    misbehaviour: Misbehaviour = Misbehaviour()
    answers: dict[str, str] = Field(default={})
    echo: bool = Field(default=False, exclude_if=is_unset)
    structured: bool = Field(default=False, exclude_if=is_unset)

    @property
    def vendor(self) -> str:
        """The family it imitates stands in for the provider."""
        return self.family
