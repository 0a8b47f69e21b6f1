"""A judge: a model or any other system on trial, and how to reach it."""

from typing import Annotated, Any, Literal

from pydantic import Field, FiniteFloat

from evalq.definitions.definition import is_unset
from evalq.definitions.judged import Dollars, Judged, Price, Share
from evalq.definitions.simulation import Latency, Misbehaviour, SimulatedJudge

__all__ = [
    "AnthropicJudge",
    "CommandJudge",
    "Dollars",
    "GoogleJudge",
    "HttpJudge",
    "JudgeConfig",
    "Latency",
    "Misbehaviour",
    "ModelJudge",
    "OpenAIJudge",
    "Price",
    "PythonJudge",
    "Share",
    "SimulatedJudge",
    "XaiJudge",
]

Deadline = Annotated[FiniteFloat, Field(gt=0, le=3600)]


class ModelJudge(Judged):
    """A model behind a provider's SDK. `params` are sent as they are, over what evalq would send."""

    model: str = Field(min_length=1)
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    deadline_s: Deadline = 120.0
    params: dict[str, Any] = Field(default={})

    @property
    def server(self) -> str:
        """The base URL's host and port: two servers do not share a limit."""
        return self.base_url.split("//", 1)[1].split("/", 1)[0].rpartition("@")[2] if self.base_url else ""


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
    def key_name(self) -> str | None:
        """A server of the user's own needs no key unless one is named."""
        return self.api_key_env or (None if self.base_url else "OPENAI_API_KEY")


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


class HttpJudge(Judged):
    """Any JSON endpoint. `body` is JSON whose strings are templates of the inputs, `system` and `user`.

    `headers_env` names the variables that hold header values; `answer` is a JSONPath into the reply, so is
    `tool_calls` for systems that say which tools they used.

    With `exchange` every case has its own `request` among its inputs, to a path below `url`, and the answer
    is the whole response: status, headers, body. `variables_env` names the variables that fill `{{name}}`
    in such a request; what they hold is in no row.
    """

    provider: Literal["http"]
    url: str = Field(pattern=r"^https?://")
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: dict[str, str] = Field(default={})
    headers_env: dict[str, str] = Field(default={})
    body: Any = Field(default={"input": "{user}"})
    answer: str = "$.answer"
    tool_calls: str | None = Field(default=None, exclude_if=is_unset)
    exchange: bool = Field(default=False, exclude_if=is_unset)
    variables_env: dict[str, str] = Field(default={}, exclude_if=is_unset)
    deadline_s: Deadline = 60.0

    @property
    def model(self) -> str:
        """The URL names the system."""
        return self.url


class PythonJudge(Judged):
    """A callable: `module:function`, given the case's inputs, returning the answer's text."""

    provider: Literal["python"]
    callable: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")

    @property
    def model(self) -> str:
        """The callable names the system."""
        return self.callable


class CommandJudge(Judged):
    """A program: one JSON object on its standard input, one on its standard output."""

    provider: Literal["command"]
    command: list[str] = Field(min_length=1)
    timeout_s: Deadline = 60.0

    @property
    def model(self) -> str:
        """The program names the system."""
        return self.command[0]


def hurried(judge: "JudgeConfig", deadline_s: float | None) -> "JudgeConfig":
    """The judge with another time to answer; None, or a judge that has none, leaves it as it is."""
    fields = [name for name in ("deadline_s", "timeout_s") if name in type(judge).model_fields]
    return judge.model_copy(update=dict.fromkeys(fields, deadline_s)) if deadline_s else judge


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
