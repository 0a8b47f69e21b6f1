"""The blocks of an eval file as they are written: inputs, expectations, graders, baselines, comparisons."""

from collections.abc import Mapping
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
from evalq.definitions.located import Loc, Located
from evalq.errors import InputError
from evalq.formats.suite.metrics import read_thresholds

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


def part(located: Located, *loc: str | int) -> Located:
    """What stands at a path, with its own lines."""
    value = located.value
    for step in loc:
        value = value[step]
    size = len(loc)
    lines: dict[Loc, int] = {
        where[size:]: line for where, line in located.lines.items() if where[:size] == loc
    }
    return Located(value, {(): located.line_of(loc), **lines}, located.file)


def entries(located: Located) -> list[Located]:
    """The entries of a list, each with its own lines; the lines are gone through once."""
    lines: dict[str | int, dict[Loc, int]] = {}
    for where, line in located.lines.items():
        if where:
            lines.setdefault(where[0], {})[where[1:]] = line
    return [
        Located(value, {(): located.line_of((at,)), **lines.get(at, {})}, located.file)
        for at, value in enumerate(located.value)
    ]


def completed(located: Located, **values: Any) -> Located:
    """The same mapping with further or other values."""
    return Located({**located.value, **values}, located.lines, located.file)


def without(located: Located, *keys: str) -> Located:
    """The same mapping without some keys."""
    kept = {key: value for key, value in located.value.items() if key not in keys}
    return Located(kept, located.lines, located.file)


def renamed(located: Located, old: str, new: Loc, value: Any) -> Located:
    """The same mapping with `value` at the new place, on the lines of what the old key holds."""
    kept = {key: item for key, item in located.value.items() if key != old}
    lines = {(*new, *loc[1:]) if loc[:1] == (old,) else loc: line for loc, line in located.lines.items()}
    return Located({**kept, str(new[0]): value}, lines, located.file)


def as_mapping(located: Located, what: str) -> Mapping[str, Any]:
    """The mapping that a value must be."""
    if not isinstance(located.value, dict):
        raise InputError(located.problem((), f"{what} is not a mapping", "write it as 'key: value' pairs"))
    return located.value


def text_at(value: Any, *keys: str) -> str:
    """The text at a path of keys; "" where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
