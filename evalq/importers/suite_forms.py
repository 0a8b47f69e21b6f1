"""The blocks of an eval file as they are written: inputs, expectations, graders, baselines, comparisons."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, ConfigDict, Field, FiniteFloat

from evalq.definitions.definition import Definition

EvalType = Literal["capability", "regression"]
GraderType = Literal["code", "model", "human"]
Criticality = Literal["critical", "high", "medium", "low"]
ExpectedType = Literal[
    "exact", "contains", "pattern", "semantic", "functional", "numeric", "structural", "none"
]
ComparisonType = Literal["exact", "semantic", "numeric", "structural"]

Id = Annotated[str, Field(min_length=1, max_length=150)]


def _listed(value: Any) -> Any:
    """One text stands for a list of one."""
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_listed)]


def _moment(value: str) -> str:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("not a point in time; write one such as 2024-01-20T14:00:00Z") from None
    return value


Moment = Annotated[str, AfterValidator(_moment)]


class InputForm(Definition):
    """What is put to the system: a prompt, a file's text, or a request."""

    type: Literal["prompt", "file", "api_call"] = "prompt"
    content: Any
    context: dict[str, Any] | str | None = None


class ExpectedForm(Definition):
    """What a good answer is."""

    type: ExpectedType
    value: Any = None
    alternatives: list[Any] = Field(default=[])


class GraderForm(Definition):
    """What marks the answer; `config` depends on the type and its method."""

    type: GraderType
    config: dict[str, Any] = Field(default={})
    name: str | None = None
    weight: FiniteFloat | None = Field(default=None, ge=0)
    required: bool | None = None


class MetadataForm(Definition):
    """What is known about an eval beside its content; further keys are kept as they are."""

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
    """The known-good output; none yet for a baseline that is still to be captured."""

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
    """What of a structure counts."""

    ignore_values: Texts = Field(default=[])
    ignore_fields: Texts = Field(default=[])
    require_keys: Texts = Field(default=[])
    allow_additional_fields: bool | None = None
    allow_field_reordering: bool | None = None
    strict: bool | None = None


class ComparisonForm(Definition):
    """How the current output is held against the baseline."""

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
