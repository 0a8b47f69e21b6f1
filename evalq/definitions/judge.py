"""A judge: a model or any other system on trial, and how to reach it."""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from evalq.definitions.task import NAME_PATTERN, Definition

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


def _decimal(value: object) -> object:
    """Dollars are decimals from the text on: a float in YAML is read by its shortest form."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("not a number of dollars; write a number such as 2.50") from None


Dollars = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0)]


class Price(Definition):
    """Dollars per million tokens."""

    input: Dollars
    output: Dollars


class _Judge(Definition):
    name: str = Field(pattern=NAME_PATTERN)
    price: Price | None = None
    api_key_env: str | None = None

    @property
    def vendor(self) -> str:
        """Whose model it is, for the same-provider flag on agreement."""
        return self.provider  # type: ignore[attr-defined, no-any-return]

    @property
    def gate(self) -> str:
        """The one limit all its calls share across the fleet: provider, key, model."""
        return "/".join((self.provider, self.api_key_env or "-", self.model))  # type: ignore[attr-defined]


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


class SimulatedJudge(_Judge):
    """A deterministic stand-in for a model: right or wrong by design, in the task's real format."""

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

    @property
    def vendor(self) -> str:
        """The family it imitates stands in for the provider."""
        return self.family


class PythonJudge(_Judge):
    """A callable: `module:function`, given the case's inputs, returning the answer's text."""

    provider: Literal["python"]
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")

    @property
    def model(self) -> str:
        """The callable names the system."""
        return self.callable


class CommandJudge(_Judge):
    """A program: one JSON object on its standard input, the answer on its standard output."""

    provider: Literal["command"]
    command: list[str] = Field(min_length=1)
    timeout_s: FiniteFloat = Field(default=60.0, gt=0, le=3600)

    @property
    def model(self) -> str:
        """The program names the system."""
        return self.command[0]


JudgeConfig = Annotated[SimulatedJudge | PythonJudge | CommandJudge, Field(discriminator="provider")]
