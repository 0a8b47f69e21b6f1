"""A judge: a model or any other system on trial, and how to reach it."""

from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, TypeAdapter

from evalq.definitions.definition import NAME_PATTERN, Definition, is_unset
from evalq.definitions.money import read_usd
from evalq.definitions.url_secrets import PublicHeaders, PublicUrl

Proportion = Annotated[FiniteFloat, Field(ge=0, le=1)]
Deadline = Annotated[FiniteFloat, Field(gt=0, le=3600)]


def _to_decimal(value: object) -> object:
    """Dollars are exact decimals: a float from YAML is read by its shortest form."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    return read_usd(value)


Dollars = Annotated[Decimal, BeforeValidator(_to_decimal), Field(ge=0)]


class Price(Definition):
    """Dollars per million tokens."""

    input: Dollars
    output: Dollars


class BaseJudge(Definition):
    """A system on trial. A limit left out applies only if the provider's headers name it."""

    name: str = Field(pattern=NAME_PATTERN)
    price: Price | None = None
    api_key_env: str | None = None
    rpm: FiniteFloat | None = Field(default=None, gt=0)
    input_tpm: int | None = Field(default=None, gt=0)
    output_tpm: int | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, gt=0)

    @property
    def vendor(self) -> str:
        """Whose model it is, for the same-provider flag on agreement."""
        return self.provider  # type: ignore[attr-defined, no-any-return]

    @property
    def key_name(self) -> str | None:
        """The environment variable that holds its key, if it needs one."""
        return self.api_key_env

    @property
    def server(self) -> str:
        """The server it is on; "" where the provider implies it."""
        return ""

    @property
    def gate(self) -> str:
        """The one limit all its calls share across the fleet: provider, key, server, model."""
        parts = (self.provider, self.key_name or "-", self.server, self.model)  # type: ignore[attr-defined]
        return "/".join(part for part in parts if part)


class ModelJudge(BaseJudge):
    """A model behind a provider's SDK. `params` go over what evalq would send, if their cost has a bound.

    `neutral_params` names parameters that evalq does not know and that cannot change what a call costs.
    `thinking_tokens`: the room for thinking beside the task's `max_tokens`; by default what suits the model.
    """

    model: str = Field(min_length=1)
    family: str | None = Field(default=None, min_length=1, exclude_if=is_unset)
    """Whose model it is, where the provider does not say: judges of one family may err alike."""
    base_url: PublicUrl | None = Field(default=None, pattern=r"^https?://")
    deadline_s: Deadline = 120.0
    params: dict[str, Any] = Field(default={})
    neutral_params: list[str] = Field(default=[], exclude_if=is_unset)
    thinking_tokens: int | None = Field(default=None, ge=0, le=1_000_000, exclude_if=is_unset)

    @property
    def vendor(self) -> str:
        """Its family; else the provider."""
        return self.family or super().vendor

    @property
    def server(self) -> str:
        """The base URL's host and port: two servers do not share a limit."""
        if not self.base_url:
            return ""
        authority = self.base_url.split("//", 1)[1].split("/", 1)[0]
        return authority.rpartition("@")[2]


class AnthropicJudge(ModelJudge):
    """A Claude model."""

    provider: Literal["anthropic"]

    @property
    def key_name(self) -> str | None:
        """The SDK's own variable unless another is named."""
        return self.api_key_env or "ANTHROPIC_API_KEY"


class OpenAIJudge(ModelJudge):
    """An OpenAI model, or any server that speaks its protocol at `base_url`: vLLM, MLX, Ollama, llama.cpp."""

    provider: Literal["openai"]

    @property
    def vendor(self) -> str:
        """Its family; a server of another than OpenAI is its own: only the protocol is OpenAI's."""
        host = self.server.partition(":")[0]
        is_openai = not host or host == "openai.com" or host.endswith(".openai.com")
        return super().vendor if self.family or is_openai else self.server

    @property
    def key_name(self) -> str | None:
        """A server of the user's own needs no key unless one is named."""
        if self.base_url:
            return self.api_key_env or None
        return self.api_key_env or "OPENAI_API_KEY"


class XaiJudge(ModelJudge):
    """A Grok model, through the OpenAI protocol."""

    provider: Literal["xai"]

    @property
    def key_name(self) -> str | None:
        """The provider's usual variable unless another is named."""
        return self.api_key_env or "XAI_API_KEY"


class GoogleJudge(ModelJudge):
    """A Gemini model."""

    provider: Literal["google"]

    @property
    def key_name(self) -> str | None:
        """The SDK's own variable unless another is named."""
        return self.api_key_env or "GEMINI_API_KEY"


class HttpJudge(BaseJudge):
    """Any JSON endpoint. `body` is JSON whose strings are templates of the inputs, `system` and `user`.

    Beside these there are `inputs`, all of them as one JSON object, and `case_id`.

    `headers_env` names the variables that hold header values. `answer` is a JSONPath into the reply, as
    are `tool_calls`, `usage` and `cost` (dollars) for systems that report them.

    With `exchange` every case has its own `request` among its inputs, to a path below `url`, and the answer
    is the whole response: status, headers, body. `variables_env` names the variables that fill `{{name}}`
    in such a request; their values are never stored.
    """

    provider: Literal["http"]
    url: PublicUrl = Field(pattern=r"^https?://")
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: PublicHeaders = Field(default={})
    headers_env: dict[str, str] = Field(default={})
    body: Any = Field(default={"input": "{user}"})
    answer: str = "$.answer"
    tool_calls: str | None = Field(default=None, exclude_if=is_unset)
    usage: str | None = Field(default=None, exclude_if=is_unset)
    cost: str | None = Field(default=None, exclude_if=is_unset)
    exchange: bool = Field(default=False, exclude_if=is_unset)
    variables_env: dict[str, str] = Field(default={}, exclude_if=is_unset)
    deadline_s: Deadline = 60.0

    @property
    def model(self) -> str:
        """The URL names the system."""
        return self.url


class PythonJudge(BaseJudge):
    """A callable: `module:function`, given the case's inputs, returning the answer's text."""

    provider: Literal["python"]
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")

    @property
    def model(self) -> str:
        """The callable names the system."""
        return self.callable


class CommandJudge(BaseJudge):
    """A program: one JSON object on its standard input, one on its standard output."""

    provider: Literal["command"]
    command: list[str] = Field(min_length=1)
    timeout_s: Deadline = 60.0

    @property
    def model(self) -> str:
        """The program names the system."""
        return self.command[0]


class SimulatedLatency(Definition):
    """A log-normal latency by two of its quantiles, in milliseconds."""

    p50: int = Field(default=300, ge=1)
    p95: int = Field(default=900, ge=1)


class Misbehaviour(Definition):
    """Shares of calls that go wrong, each in its own way; drawn once per call in this order."""

    empty: Proportion = 0.0
    refused: Proportion = 0.0
    malformed: Proportion = 0.0
    truncated: Proportion = 0.0
    slow: Proportion = 0.0
    error: Proportion = 0.0


class SimulatedJudge(BaseJudge):
    """A deterministic stand-in for a model: right or wrong by design, in the task's real format.

    `answers` are fixed answers by case id, whatever its accuracy. As a grader it may `echo` its whole prompt
    before its own reply, and it may follow a JSON schema (`structured`).
    """

    provider: Literal["simulated"]
    model: str
    family: str = "simulated"
    accuracy: Proportion = 0.8
    accuracy_by_stratum: dict[str, Proportion] = Field(default={})
    shared_difficulty: Proportion = 0.45
    family_likeness: Proportion = 0.15
    latency_ms: SimulatedLatency = SimulatedLatency()
    time_scale: FiniteFloat = Field(default=1.0, ge=0, le=10)
    misbehaviour: Misbehaviour = Misbehaviour()
    answers: dict[str, str] = Field(default={})
    echo: bool = Field(default=False, exclude_if=is_unset)
    structured: bool = Field(default=False, exclude_if=is_unset)

    @property
    def vendor(self) -> str:
        """The family it imitates."""
        return self.family


JudgeConfig = Annotated[
    AnthropicJudge
    | OpenAIJudge
    | XaiJudge
    | GoogleJudge
    | HttpJudge
    | CommandJudge
    | PythonJudge
    | SimulatedJudge,
    Field(discriminator="provider"),
]


@cache
def judge_reader() -> TypeAdapter[JudgeConfig]:
    """Reads a judge of any provider; built when the first one is read, since that takes a while."""
    return TypeAdapter(JudgeConfig)


def with_deadline(judge: JudgeConfig, deadline_s: float | None) -> JudgeConfig:
    """The judge with another time limit; None, or a judge without a limit, changes nothing."""
    if not deadline_s:
        return judge
    fields = [name for name in ("deadline_s", "timeout_s") if name in type(judge).model_fields]
    return judge.model_copy(update=dict.fromkeys(fields, deadline_s))
