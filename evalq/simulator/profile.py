"""A model's profile: how fast it answers, what it says, how it fails; and the file that holds profiles."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition
from evalq.definitions.judged import Share
from evalq.simulator.faults import parse_fault

ANY_MODEL = "*"
"""The profile of this name is that of every model without one of its own."""

Milliseconds = Annotated[FiniteFloat, Field(ge=0, le=600_000)]


class Quantiles(Definition):
    """A log-normal latency by two of its quantiles, in milliseconds; equal ones make it fixed."""

    p50: Milliseconds
    p95: Milliseconds


def _quantiles(value: Any) -> Any:
    if isinstance(value, str | bool | list):
        raise ValueError("not a latency; write milliseconds, or {p50: 300, p95: 900}")
    return {"p50": value, "p95": value} if isinstance(value, int | float) else value


def _text(value: Any) -> Any:
    """YAML reads 500 as a number; as a fault it is a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _known_fault(name: str) -> str:
    parse_fault(name)
    return name


FaultName = Annotated[str, BeforeValidator(_text), AfterValidator(_known_fault)]


class Profile(Definition):
    """One model's behaviour. Everything drawn by chance is drawn from the model and the prompt."""

    latency_ms: Annotated[Quantiles, BeforeValidator(_quantiles)] = Quantiles(p50=0, p95=0)
    answer: Literal["echo", "verdict", "cases"] = "echo"
    fixed: str | None = None
    accuracy: Share = 1.0
    valid: Share = 0.5
    output_tokens: int | None = Field(default=None, ge=0)
    thinking_tokens: int = Field(default=0, ge=0)
    faults: dict[FaultName, Share] = Field(default={})
    schedule: list[FaultName] = Field(default=[])
    require_key: str | None = None
    rpm: int | None = Field(default=None, gt=0)
    input_tpm: int | None = Field(default=None, gt=0)
    refuse_temperature: bool = False

    @model_validator(mode="after")
    def _faults_are_shares_or_a_schedule(self) -> Self:
        if self.faults and self.schedule:
            raise ValueError("faults and schedule exclude each other; keep one of them")
        if sum(self.faults.values()) > 1 + 1e-9:
            raise ValueError("the shares of the faults add up to more than 1; lower them")
        return self


class KnownSet(Definition):
    """An evalset whose prompts the simulator is to recognise, by names or paths."""

    task: str
    eval_set: str


class SimulatorConfig(Definition):
    """A simulator's file: profiles by model, and the evalsets it knows the answers to."""

    profiles: dict[str, Profile] = Field(default={})
    cases: list[KnownSet] = Field(default=[])
