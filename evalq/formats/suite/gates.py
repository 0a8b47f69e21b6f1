"""Gates in files: the eval steps of a phase, an eval trigger, or a suite with thresholds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat, field_validator

from evalq.definitions.definition import Definition, validate
from evalq.definitions.files import display_path
from evalq.definitions.located import Located
from evalq.errors import InputError
from evalq.formats.paths import Place, resolve_inside
from evalq.formats.suite.forms import Texts
from evalq.formats.suite.metrics import read_metric, read_thresholds
from evalq.formats.suite.parts import part_at, require_mapping, split_entries
from evalq.formats.suite.read import RUNNABLE, load_file
from evalq.formats.suite.shapes import shape_of

_STOPS = ("block", "fail", "stop")


class StepConfig(Definition):
    """The `config` of an eval step."""

    suite: str = Field(min_length=1)
    required_pass_rate: FiniteFloat | None = Field(default=None, ge=0, le=1)
    blocking: bool = True
    metrics: Texts = Field(default=[])
    thresholds: dict[str, float] = Field(default={})
    context: str | None = None
    categories: Texts = Field(default=[])
    tags: Texts = Field(default=[])

    @field_validator("thresholds", mode="before")
    @classmethod
    def _are_metrics(cls, value: Any) -> Any:
        return read_thresholds(value)

    @field_validator("metrics")
    @classmethod
    def _are_known(cls, names: list[str]) -> list[str]:
        for name in names:
            read_metric(name)
        return names


class StepForm(Definition):
    """One step of a phase; steps of other types are ignored."""

    model_config = ConfigDict(extra="allow")

    type: str
    description: str = ""
    config: Any = None


class TriggerFilters(Definition):
    """Which evals a trigger runs."""

    categories: Texts = Field(default=[])
    tags: Texts = Field(default=[])
    difficulty: Texts = Field(default=[])
    grader_type: Literal["code", "model", "human"] | None = None


class OnFailure(Definition):
    """What to do after a failure."""

    action: Literal["block", "fail", "stop", "warn", "continue"] = "block"
    notification: bool = False
    report_path: str | None = None


class OnSuccess(Definition):
    """What to do after a success."""

    action: Literal["continue", "proceed"] = "continue"
    archive_results: bool = False
    notification: bool = False


class TriggerForm(Definition):
    """The `eval_trigger` block."""

    when: str = ""
    suite: str = Field(min_length=1)
    filters: TriggerFilters = TriggerFilters()
    thresholds: dict[str, float] = Field(default={})
    context: str | None = None
    on_failure: OnFailure = OnFailure()
    on_success: OnSuccess = OnSuccess()

    @field_validator("thresholds", mode="before")
    @classmethod
    def _are_metrics(cls, value: Any) -> Any:
        return read_thresholds(value)


@dataclass(frozen=True)
class GateForm:
    """One gate: its suite, which evals to run, what it demands, and what to do afterwards."""

    title: str
    suite: Path
    thresholds: dict[str, float]
    shown_metrics: tuple[str, ...] = ()
    context: str | None = None
    filters: TriggerFilters = TriggerFilters()  # noqa: RUF009 - frozen, like every definition
    blocking: bool = True
    report_path: str | None = None
    notify_on_failure: bool = False
    notify_on_success: bool = False
    archive: bool = False


def read_gates(path: Path) -> list[GateForm]:
    """The gates of a file; a suite is a gate by itself."""
    located = load_file(path)
    shape = shape_of(located.value)
    if shape == "trigger":
        return [_read_trigger(part_at(located, "eval_trigger"), path)]
    if shape == "phase":
        return _read_phase(part_at(located, "phase"), path)
    if path.is_dir() or shape in RUNNABLE:
        return [GateForm(path.stem, path, {})]
    message = "neither a phase with an eval step, an eval_trigger, nor a suite"
    raise InputError(located.problem((), message, "write one of them"))


def _read_trigger(located: Located, path: Path) -> GateForm:
    form = validate(TriggerForm, located)
    report_path = form.on_failure.report_path
    if report_path and not _is_inside(report_path, path):
        message = "report_path leads out of its folder"
        raise InputError(located.problem(("on_failure", "report_path"), message, "write a path inside it"))
    return GateForm(
        form.when or "eval_trigger",
        _resolve_suite(form.suite, path, located, "suite"),
        form.thresholds,
        tuple(form.thresholds),
        form.context,
        form.filters,
        blocking=form.on_failure.action in _STOPS,
        report_path=report_path,
        notify_on_failure=form.on_failure.notification,
        notify_on_success=form.on_success.notification,
        archive=form.on_success.archive_results,
    )


def _read_phase(located: Located, path: Path) -> list[GateForm]:
    steps = require_mapping(located, "a phase").get("steps")
    if not isinstance(steps, list):
        raise InputError(located.problem(("steps",), "a phase without steps", "list them under steps"))
    gates = []
    for step in split_entries(part_at(located, "steps")).values():
        if validate(StepForm, step).type == "eval":
            gates.append(_read_step(step, path))
    if not gates:
        raise InputError(located.problem(("steps",), "no step of type eval", "add one, with its suite"))
    return gates


def _read_step(step: Located, path: Path) -> GateForm:
    if "config" not in step.value:
        raise InputError(step.problem((), "an eval step without config", "add config, with its suite"))
    form = validate(StepConfig, part_at(step, "config"))
    thresholds = dict(form.thresholds)
    if form.required_pass_rate is not None:
        thresholds["pass_rate"] = form.required_pass_rate
    return GateForm(
        str(step.value.get("description") or "eval"),
        _resolve_suite(form.suite, path, step, "config", "suite"),
        thresholds,
        tuple(form.metrics),
        form.context,
        TriggerFilters(categories=form.categories, tags=form.tags),
        blocking=form.blocking,
    )


def _is_inside(written: str, path: Path) -> bool:
    """Whether a path to write to lies inside the gate's folder or the working directory."""
    here = path.resolve().parent
    whole = (here / written).resolve()
    return any(whole.is_relative_to(root) for root in (here, Path.cwd().resolve()))


def _resolve_suite(written: str, path: Path, located: Located, *loc: str) -> Path:
    """The suite's file, inside the gate's folder or the working directory."""
    place = Place(display_path(path), located.line_of(loc))
    return resolve_inside(written, [path.resolve().parent, Path.cwd()], place=place)
