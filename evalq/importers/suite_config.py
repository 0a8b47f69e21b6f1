"""How a suite is run and reported: workers, time limits, retries, formats, thresholds."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, FiniteFloat, field_validator

from evalq.definitions.definition import Definition
from evalq.importers.suite_forms import Texts
from evalq.importers.suite_metrics import read_thresholds

Format = Literal["json", "markdown", "html"]

_SPELLINGS = {"md": "markdown", "htm": "html", "yaml": "json"}


def _formats(value: Any) -> Any:
    """One format stands for a list of one; `md` is Markdown."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return listed
    return [_SPELLINGS.get(one, one) if isinstance(one, str) else one for one in listed]


class SuiteConfig(Definition):
    """How the evals of a suite, or of one file, are run.

    `model` and `judges` name who is asked when the command line does not; `base_url` is where the tested
    system is, for requests that name no other.
    """

    parallel_execution: bool = Field(
        default=True, validation_alias=AliasChoices("parallel_execution", "parallel")
    )
    max_workers: int | None = Field(
        default=None, ge=1, le=1024, validation_alias=AliasChoices("max_workers", "workers")
    )
    timeout_global: FiniteFloat | None = Field(default=None, gt=0)
    timeout_seconds: FiniteFloat | None = Field(default=None, gt=0, le=3600)
    retry_failed: bool | None = None
    retry_count: int = Field(default=0, ge=0, le=20, validation_alias=AliasChoices("retry_count", "retries"))
    samples: int | None = Field(default=None, ge=1, le=1000)
    model: str | None = None
    judges: Texts = Field(default=[])
    grader_model: str | None = None
    base_url: str | None = None
    system_prompt: str = ""
    max_tokens: int = Field(default=2048, ge=1, le=1_000_000)
    temperature: FiniteFloat | None = Field(default=None, ge=0, le=2)

    @property
    def retries(self) -> int:
        """How often a failed eval is run again, unless it says otherwise itself."""
        return 0 if self.retry_failed is False else self.retry_count

    @property
    def at_once(self) -> int | None:
        """Calls at once per judge; None for as many as the judge allows."""
        return self.max_workers if self.parallel_execution else 1

    @property
    def named_judges(self) -> tuple[str, ...]:
        """The judges the file itself names."""
        return tuple(self.judges) or ((self.model,) if self.model else ())


class Reporting(Definition):
    """What is written after a run, and where."""

    format: Annotated[list[Format], BeforeValidator(_formats)] = Field(default=["json", "markdown", "html"])
    output_dir: str = "results"
    include_details: bool = True
    notify_on_failure: bool = False


class Thresholds(Definition):
    """What a gate demands: by metric, and by metric for each named context. `k` is that of `pass_at_k`."""

    k: int = Field(default=3, ge=1, le=100)
    metrics: dict[str, float] = Field(default={})
    contexts: dict[str, dict[str, float]] = Field(default={})

    @field_validator("metrics", mode="before")
    @classmethod
    def _are_metrics(cls, value: Any) -> Any:
        return read_thresholds(value)

    @field_validator("contexts", mode="before")
    @classmethod
    def _are_contexts(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: read_thresholds(demands) for name, demands in value.items()}


class SuiteForm(Definition):
    """The `eval_suite` block."""

    name: str = Field(min_length=1)
    version: str = ""
    description: str = ""
    config: SuiteConfig = SuiteConfig()
    evals: list[Any] | None = None
    reporting: Reporting = Reporting()
    thresholds: Thresholds = Thresholds()
