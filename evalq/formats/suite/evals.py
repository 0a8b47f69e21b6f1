"""One eval of a file: its case, who answers it, and for a regression what it is compared with."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.definition import split_remedy
from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.paths import Place
from evalq.formats.suite.forms import (
    CapabilityForm,
    EvalType,
    ExecutionForm,
    ExpectedForm,
    InputForm,
    MetadataForm,
    RegressionForm,
)
from evalq.formats.suite.graders import as_text, graders_of, types_of
from evalq.formats.suite.library import Library
from evalq.formats.suite.requests import SystemRequest, read_request

Read = Callable[[str], str]
"""The text of a file by its written path."""

_INSTRUCTIONS = ("prompt", "instruction", "instructions", "question")
_FILE_NAME = re.compile(r"[\w.~/-]*/[\w.~-]+\.[A-Za-z0-9]{1,8}")


def prompt_of(form: InputForm, title: str, read: Read) -> str:
    """The prompt of an input; `title` says what is to be done where the input itself does not."""
    context = form.context if isinstance(form.context, dict) else {}
    said = form.context if isinstance(form.context, str) else ""
    if form.type == "file":
        instruction = next((str(context[key]) for key in _INSTRUCTIONS if key in context), title)
        shown = {key: value for key, value in context.items() if key not in _INSTRUCTIONS}
        files = form.content if isinstance(form.content, list) else [form.content]
        parts = [instruction, said, context_text(shown), *(_file(path, read) for path in files)]
    else:
        parts = [as_text(form.content), said, context_text(context)]
    return "\n\n".join(text for text in parts if text)


def context_text(context: Mapping[str, Any]) -> str:
    """The context, an entry a line; "" for none."""
    lines = [f"- {name}: {_value(value)}" for name, value in context.items()]
    return "\n".join(["Context:", *lines]) if lines else ""


def skill_prompt(execution: ExecutionForm | None, value: Any, read: Read) -> str:
    """The prompt of a regression that a judge answers: the skill to use, its parameters, the input."""
    name = execution.skill_name if execution else None
    parameters = execution.parameters if execution else {}
    opening = f"Use the skill {name}." if name else ""
    stated = "\n".join(["Parameters:", *(f"- {key}: {_value(item)}" for key, item in parameters.items())])
    return "\n\n".join(
        text for text in (opening, stated if parameters else "", _input_text(value, read)) if text
    )


def shape_text(baseline: Any) -> str:
    """What the reply has to look like, for outputs that are compared by their parts; "" for plain text."""
    if not isinstance(baseline, dict | list):
        return ""
    shape = json.dumps(_shape(baseline), ensure_ascii=False, indent=2)
    return f"Reply with JSON of this form and nothing else:\n{shape}"


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    names = {bool: "true or false", int: "number", float: "number", str: "text", type(None): "null"}
    return f"<{names.get(type(value), 'value')}>"


def _input_text(value: Any, read: Read) -> str:
    if isinstance(value, str):
        return read(value) if _FILE_NAME.fullmatch(value) else value
    if not isinstance(value, dict):
        return as_text(value)
    return "\n\n".join(f"{name}:\n{_named(item, read)}" for name, item in value.items())


def _named(value: Any, read: Read) -> str:
    """An entry of an input; one that is a path of a file is what the file holds."""
    if isinstance(value, dict) and value.get("type") == "file" and isinstance(value.get("content"), str):
        return read(value["content"])
    if isinstance(value, str):
        return read(value) if _FILE_NAME.fullmatch(value) else value
    return as_text(value)


def _file(path: Any, read: Read) -> str:
    if not isinstance(path, str):
        raise ValueError("content of a file input is no path; write the path of a file, or a list of paths")
    return f"File {PurePath(path).name}:\n{read(path)}"


def _value(value: Any) -> str:
    """Texts as they are, plain lists with commas, everything else as JSON."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(as_text(item) for item in value)
    return as_text(value)


_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)
TIMEOUT = "timeout"
"""The name of the grader that holds an eval to its own time limit."""


@dataclass(frozen=True)
class EvalContext:
    """What surrounds an eval: the shared definitions, how its files are read, and what its file presets."""

    library: Library
    read: Read
    read_if_there: Read
    timeout_seconds: float | None = None
    retries: int | None = None
    base_url: str | None = None


@dataclass(frozen=True)
class EvalSource:
    """Where an eval is written and what surrounds it: enough to make its case anew."""

    located: Located
    setting: EvalContext


@dataclass(frozen=True)
class SuiteEval:
    """One eval. A regression's case is complete once it has a baseline: see `regression`."""

    case: EvalCase
    eval_type: EvalType
    grader_types: tuple[str, ...]
    place: Place
    request: SystemRequest | None = None
    base_url: str | None = None
    regression: RegressionForm | None = None
    source: EvalSource | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """Its id, unique in the suite."""
        return self.case.id

    @property
    def about(self) -> Mapping[str, Any]:
        """What is known of it: name, category, tags, difficulty, weight."""
        return self.case.metadata

    def with_case(self, **changes: Any) -> "SuiteEval":
        """The same eval with another prompt, expectation or graders."""
        return replace(self, case=self.case.model_copy(update=changes))

    def with_types(self, types: tuple[str, ...]) -> "SuiteEval":
        """The same eval marked by graders of these types."""
        return replace(self, grader_types=types)


def build_capability_eval(located: Located, form: CapabilityForm, setting: EvalContext) -> SuiteEval:
    """Build a capability eval; raise InputError with file and line for invalid parts."""
    with errors_at(located, "input"):
        request, base_url, prompt = _asked(form, setting)
    with errors_at(located, "graders"):
        graders = graders_of(form.graders, form.expected, setting.library)
    made = EvalCase(
        id=form.id,
        inputs={"prompt": prompt, **({"request": request.document()} if request else {})},
        expected=expectation(form.expected),
        stratum={"category": form.category or "capability"},
        graders=checked_graders(located, [*graders, *time_limit(form.metadata, setting)]),
        metadata=metadata_of(form, "capability", setting, types_of(form.graders, graders)),
    )
    place = Place(located.file, located.line_of(()))
    types = tuple(types_of(form.graders, graders))
    return SuiteEval(
        made,
        "capability",
        types,
        place,
        request,
        base_url or setting.base_url,
        source=EvalSource(located, setting),
    )


def _asked(form: CapabilityForm, setting: EvalContext) -> tuple[SystemRequest | None, str | None, str]:
    title = form.description or form.name or form.id
    if form.input.type != "api_call":
        return None, None, prompt_of(form.input, title, setting.read)
    request, base_url = read_request(form.input.content)
    context = form.input.context if isinstance(form.input.context, dict) else {}
    return request, base_url or cast(str | None, context.get("base_url")), request.text()


def expectation(form: ExpectedForm | None) -> dict[str, Any] | None:
    """What a case expects, for reference: the answer, and what else is as good."""
    if form is None or form.type in ("none", "functional"):
        return None
    if form.type == "pattern":
        return {"pattern": form.value}
    if form.type == "semantic" and isinstance(form.value, dict):
        wanted = form.value.get("must_include")
        texts = [as_text(one) for one in wanted] if isinstance(wanted, list) else []
        return {"answer": "\n".join(texts), **form.value}
    if form.type == "contains" and isinstance(form.value, list):
        return {"answer": "\n".join(as_text(one) for one in form.value)}
    others = [as_text(one) for one in form.alternatives]
    return {"answer": as_text(form.value), **({"alternatives": others} if others else {})}


def metadata_of(
    form: CapabilityForm | RegressionForm, eval_type: EvalType, setting: EvalContext, types: list[str]
) -> dict[str, Any]:
    """What is known of an eval beside its content; what nobody wrote is left out."""
    own = form.metadata
    known = {
        "eval_type": eval_type,
        "name": form.name or form.id,
        "description": form.description,
        "category": form.category,
        "grader_types": types,
        **own.model_dump(mode="json"),
        "timeout_seconds": own.timeout_seconds or setting.timeout_seconds,
        "retries": own.retries if own.retries is not None else setting.retries,
    }
    return {key: value for key, value in known.items() if value not in (None, "", [])}


def time_limit(own: MetadataForm, setting: EvalContext) -> list[dict[str, Any]]:
    """The grader that fails an answer that took longer than the eval allows."""
    seconds = own.timeout_seconds or setting.timeout_seconds
    if seconds is None:
        return []
    return [{"type": "latency", "name": TIMEOUT, "threshold": seconds * 1000, "weight": 0.0}]


def checked_graders(located: Located, written: list[dict[str, Any]]) -> list[GraderConfig]:
    """The graders, validated; every problem is placed at the eval's graders."""
    made: list[GraderConfig] = []
    problems: list[Problem] = []
    for one in written:
        try:
            made.append(_GRADER.validate_python(one))
        except ValidationError as exc:
            problems += [
                _grader_problem(located, one, dict(error)) for error in exc.errors(include_url=False)
            ]
    if problems:
        raise InputError(*problems)
    return made


def _grader_problem(located: Located, one: Mapping[str, Any], error: dict[str, Any]) -> Problem:
    keys = [str(part) for part in error["loc"] if part != one.get("type")]
    reason = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    message, _, remedy = reason.partition("; ")
    where = f"grader {one.get('type')!r}" + (f", {'.'.join(keys)}" if keys else "")
    return located.problem(("graders",), f"{where}: {message}", remedy or "see docs/formats.md")


@contextmanager
def errors_at(located: Located, *loc: str) -> Iterator[None]:
    """Turn a ValueError of the block into an InputError at this place of the file."""
    try:
        yield
    except ValueError as exc:
        raise InputError(located.problem(loc, *split_remedy(str(exc)))) from None


def grader_forms(value: Any, library: Library) -> list[Any]:
    """The graders an eval names, each written out: in place, by a shared name, or by `$ref`."""
    listed = value if isinstance(value, list) else [value]
    return [_written_out(one, library) for one in listed]


def _written_out(value: Any, library: Library) -> Any:
    name = value if isinstance(value, str) else value.get("$ref") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return value
    found = library.grader(name.rpartition("#")[2].rpartition("/")[2])
    own = {key: item for key, item in value.items() if key != "$ref"} if isinstance(value, dict) else {}
    config = {**found.get("config", {}), **own.pop("config", {})}
    return {**found, **own, "config": config}
