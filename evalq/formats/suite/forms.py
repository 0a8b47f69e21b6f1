"""The blocks of eval and suite files as people write them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    field_validator,
)

from evalq.definitions.definition import Definition
from evalq.formats.suite.metrics import read_thresholds

EvalType = Literal["capability", "regression"]
GraderType = Literal["code", "model", "human"]
Criticality = Literal["critical", "high", "medium", "low"]
ExpectedType = Literal[
    "exact", "contains", "pattern", "semantic", "functional", "numeric", "structural", "none"
]
ComparisonType = Literal["exact", "semantic", "numeric", "structural"]

ReportFormat = Literal["json", "markdown", "html"]

_FORMAT_SPELLINGS = {"md": "markdown", "htm": "html", "yaml": "json"}


def _as_list(value: Any) -> Any:
    """A single text is read as a list of one."""
    return [value] if isinstance(value, str) else value


def _as_formats(value: Any) -> Any:
    """A single format is read as a list of one, and `md` as Markdown."""
    listed = _as_list(value)
    if not isinstance(listed, list):
        return listed
    return [_FORMAT_SPELLINGS.get(one, one) if isinstance(one, str) else one for one in listed]


def _check_moment(value: str) -> str:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("not a point in time; write one such as 2024-01-20T14:00:00Z") from None
    return value


Id = Annotated[str, Field(min_length=1, max_length=150)]
Texts = Annotated[list[str], BeforeValidator(_as_list)]
ReportFormats = Annotated[list[ReportFormat], BeforeValidator(_as_formats)]
Moment = Annotated[str, AfterValidator(_check_moment)]


class InputForm(Definition):
    """What the system gets: a prompt, the text of a file, or a request."""

    type: Literal["prompt", "file", "api_call"] = "prompt"
    content: Any
    context: dict[str, Any] | str | None = None


class ExpectedForm(Definition):
    """The answer a good system gives."""

    type: ExpectedType
    value: Any = None
    alternatives: list[Any] = Field(default=[])


class GraderForm(Definition):
    """What grades the answer; `config` depends on the type and its method."""

    type: GraderType
    config: dict[str, Any] = Field(default={})
    name: str | None = None
    weight: FiniteFloat | None = Field(default=None, ge=0)
    required: bool | None = None


class MetadataForm(Definition):
    """Facts about an eval beside its content; unknown keys are kept."""

    model_config = ConfigDict(extra="allow")

    difficulty: str | None = None
    tags: Texts = Field(default=[])
    timeout_seconds: FiniteFloat | None = Field(default=None, gt=0, le=3600)
    retries: int | None = Field(default=None, ge=0, le=20)
    weight: FiniteFloat = Field(default=1.0, ge=0)
    criticality: Criticality | None = None
    last_passed: Moment | None = None
    failure_count: int = Field(default=0, ge=0)


class CapabilityForm(Definition):
    """One capability eval. `expected_output` is an older word for `expected`."""

    id: Id
    name: str = ""
    description: str = ""
    category: str = ""
    input: InputForm
    expected: ExpectedForm | None = None
    graders: list[GraderForm] = Field(default=[])
    metadata: MetadataForm = MetadataForm()


class BaselineForm(Definition):
    """The known-good output; None until a baseline is captured."""

    output: Any = Field(default=None, validation_alias=AliasChoices("output", "response"))
    version: str | None = None
    captured_at: str | None = None
    environment: dict[str, Any] = Field(default={})


class ExecutionForm(Definition):
    """How the current version is run: over http, as a named skill of a judge, or as a plain prompt."""

    type: Literal["http", "skill", "prompt"]
    base_url: str | None = None
    skill_name: str | None = None
    parameters: dict[str, Any] = Field(default={})


class CurrentForm(Definition):
    """The input to reproduce, and how to run it."""

    input: Any
    execution: ExecutionForm | None = None


class OptionsForm(Definition):
    """Which parts of a structure are compared."""

    ignore_values: Texts = Field(default=[])
    ignore_fields: Texts = Field(default=[])
    require_keys: Texts = Field(default=[])
    allow_additional_fields: bool | None = None
    allow_field_reordering: bool | None = None
    strict: bool | None = None


class ComparisonForm(Definition):
    """How the current output is compared with the baseline."""

    type: ComparisonType
    tolerance: dict[str, Any] = Field(default={})
    ignore_fields: Texts = Field(default=[])
    options: OptionsForm = OptionsForm()


class RegressionForm(Definition):
    """One regression eval."""

    id: Id
    name: str = ""
    description: str = ""
    category: str = ""
    baseline_version: str | None = None
    baseline: BaselineForm = BaselineForm()
    current: CurrentForm
    comparison: ComparisonForm = ComparisonForm(type="structural")
    graders: list[GraderForm] = Field(default=[])
    metadata: MetadataForm = MetadataForm()


class SuiteConfig(Definition):
    """How the evals of a suite, or of one file, are run.

    `model` and `judges` are used when the command line names no judges; `base_url` is the address of the
    tested system, for requests without one of their own.
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
        """How often a failed eval runs again, unless it sets its own number."""
        return 0 if self.retry_failed is False else self.retry_count

    @property
    def at_once(self) -> int | None:
        """Calls at once per judge; None for as many as the judge allows."""
        return self.max_workers if self.parallel_execution else 1

    @property
    def named_judges(self) -> tuple[str, ...]:
        """The judges the file names."""
        if self.judges:
            return tuple(self.judges)
        return (self.model,) if self.model else ()


class Reporting(Definition):
    """Which reports to write after a run, and where."""

    format: ReportFormats = Field(default=["json", "markdown", "html"])
    output_dir: str = "results"
    include_details: bool = True
    notify_on_failure: bool = False


class Thresholds(Definition):
    """What a gate demands of each metric, in general and by context; `k` is that of `pass_at_k`."""

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
