"""One eval of a file as a case: its prompt or request, its graders, and its metadata."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

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

TIMEOUT = "timeout"
"""The name of the grader that holds an eval to its own time limit."""

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)
_INSTRUCTIONS = ("prompt", "instruction", "instructions", "question")
_FILE_NAME = re.compile(r"[\w.~/-]*/[\w.~-]+\.[A-Za-z0-9]{1,8}")
_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "number",
    float: "number",
    str: "text",
    type(None): "null",
}


@dataclass(frozen=True)
class EvalContext:
    """What an eval is built with: shared definitions, access to its files, and defaults of its file."""

    library: Library
    read: Read
    read_if_there: Read
    timeout_seconds: float | None = None
    retries: int | None = None
    base_url: str | None = None


@dataclass(frozen=True)
class EvalSource:
    """Where an eval is written and its context: enough to build its case again."""

    located: Located
    context: EvalContext


@dataclass(frozen=True)
class SuiteEval:
    """One eval. The case of a regression has graders only once it has a baseline."""

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
    def skill(self) -> str | None:
        """The skill that answers it, if it names one."""
        execution = self.regression.current.execution if self.regression else None
        return execution.skill_name if execution and execution.type == "skill" else None

    @property
    def about(self) -> Mapping[str, Any]:
        """Its metadata: name, category, tags, difficulty, weight."""
        return self.case.metadata

    def with_case(self, **changes: Any) -> "SuiteEval":
        """The same eval with another prompt, expectation or graders."""
        return replace(self, case=self.case.model_copy(update=changes))

    def with_types(self, types: tuple[str, ...]) -> "SuiteEval":
        """The same eval with other grader types."""
        return replace(self, grader_types=types)


def build_capability_eval(located: Located, form: CapabilityForm, context: EvalContext) -> SuiteEval:
    """Build a capability eval; raise InputError with file and line for invalid parts."""
    request, base_url = None, None
    with errors_at(located, "input"):
        if form.input.type == "api_call":
            request, base_url = read_request(form.input.content)
            prompt = request.text()
        else:
            prompt = prompt_of(form.input, form.description or form.name or form.id, context.read)
    if request and isinstance(form.input.context, dict):
        base_url = base_url or form.input.context.get("base_url")
    with errors_at(located, "graders"):
        graders = graders_of(form.graders, form.expected, context.library)
    types = types_of(form.graders, graders)
    case = EvalCase(
        id=form.id,
        inputs=case_inputs(prompt, request),
        expected=expectation(form.expected),
        stratum={"category": form.category or "capability"},
        graders=checked_graders(located, [*graders, *time_limit(form.metadata, context)]),
        metadata=metadata_of(form, "capability", context, types),
    )
    return SuiteEval(
        case,
        "capability",
        tuple(types),
        Place(located.file, located.line_of(())),
        request,
        base_url or context.base_url,
        source=EvalSource(located, context),
    )


@contextmanager
def errors_at(located: Located, *loc: str) -> Iterator[None]:
    """Turn a ValueError of the block into an InputError at this place of the file."""
    try:
        yield
    except ValueError as exc:
        raise InputError(located.problem(loc, *split_remedy(str(exc)))) from None


def case_inputs(
    prompt: str, request: SystemRequest | None, skill: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The inputs of a case: the prompt, and the request or the skill to run if there is one."""
    inputs: dict[str, Any] = {"prompt": prompt}
    if request:
        inputs["request"] = request.document()
    if skill:
        inputs["skill"] = dict(skill)
    return inputs


def prompt_of(form: InputForm, title: str, read: Read) -> str:
    """The prompt of an input; `title` is the instruction for files that come without one."""
    context = form.context if isinstance(form.context, dict) else {}
    background = form.context if isinstance(form.context, str) else ""
    if form.type != "file":
        return _join([as_text(form.content), background, _bullets("Context", context)])
    instruction = title
    for key in _INSTRUCTIONS:
        if key in context:
            instruction = str(context[key])
            break
    others = {key: value for key, value in context.items() if key not in _INSTRUCTIONS}
    paths = form.content if isinstance(form.content, list) else [form.content]
    files = [_file_text(path, read) for path in paths]
    return _join([instruction, background, _bullets("Context", others), *files])


def skill_prompt(execution: ExecutionForm | None, value: Any, read: Read) -> str:
    """The prompt of a regression that a judge answers: the skill to use, its parameters, the input."""
    if execution is None:
        return _input_text(value, read)
    opening = f"Use the skill {execution.skill_name}." if execution.skill_name else ""
    return _join([opening, _bullets("Parameters", execution.parameters), _input_text(value, read)])


def skill_call(execution: ExecutionForm | None, value: Any, read: Read) -> dict[str, Any] | None:
    """What a program gets that runs the skill: its name, its parameters, its input with files as texts."""
    if execution is None or execution.type != "skill" or not execution.skill_name:
        return None
    given: Any = _entry_text(value, read)
    if isinstance(value, dict):
        given = {name: _entry_text(item, read) for name, item in value.items()}
    return {"name": execution.skill_name, "parameters": execution.parameters, "input": given}


def shape_text(baseline: Any) -> str:
    """What form the reply must have, for outputs compared part by part; "" for plain text."""
    if not isinstance(baseline, dict | list):
        return ""
    shape = json.dumps(_shape(baseline), ensure_ascii=False, indent=2)
    return f"Reply with JSON of this form and nothing else:\n{shape}"


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return f"<{_TYPE_NAMES.get(type(value), 'value')}>"


def _input_text(value: Any, read: Read) -> str:
    """The input as text; a path is replaced by the content of the file."""
    if not isinstance(value, dict):
        return _entry_text(value, read)
    return "\n\n".join(f"{name}:\n{_entry_text(item, read)}" for name, item in value.items())


def _entry_text(value: Any, read: Read) -> str:
    if isinstance(value, str) and _FILE_NAME.fullmatch(value):
        return read(value)
    if isinstance(value, dict) and value.get("type") == "file" and isinstance(value.get("content"), str):
        return read(value["content"])
    return as_text(value)


def _file_text(path: Any, read: Read) -> str:
    if not isinstance(path, str):
        raise ValueError(
            "content of a file input is not a path; write the path of a file, or a list of paths"
        )
    return f"File {PurePath(path).name}:\n{read(path)}"


def _bullets(heading: str, values: Mapping[str, Any]) -> str:
    """The values as a list under a heading, lists of plain values with commas; "" for none."""
    if not values:
        return ""
    lines = [f"{heading}:"]
    for name, value in values.items():
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
            lines.append(f"- {name}: {', '.join(as_text(item) for item in value)}")
        else:
            lines.append(f"- {name}: {as_text(value)}")
    return "\n".join(lines)


def _join(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def expectation(form: ExpectedForm | None) -> dict[str, Any] | None:
    """What a case expects, for reference: the answer and its alternatives."""
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
    answer: dict[str, Any] = {"answer": as_text(form.value)}
    if form.alternatives:
        answer["alternatives"] = [as_text(one) for one in form.alternatives]
    return answer


def metadata_of(
    form: CapabilityForm | RegressionForm, eval_type: EvalType, context: EvalContext, types: list[str]
) -> dict[str, Any]:
    """The metadata of an eval's case; empty values are left out."""
    own = form.metadata
    known = {
        "eval_type": eval_type,
        "name": form.name or form.id,
        "description": form.description,
        "category": form.category,
        "grader_types": types,
        **own.model_dump(mode="json"),
        "timeout_seconds": own.timeout_seconds or context.timeout_seconds,
        "retries": own.retries if own.retries is not None else context.retries,
    }
    return {key: value for key, value in known.items() if value not in (None, "", [])}


def time_limit(own: MetadataForm, context: EvalContext) -> list[dict[str, Any]]:
    """The grader that fails answers slower than the eval allows; none without a limit."""
    seconds = own.timeout_seconds or context.timeout_seconds
    if seconds is None:
        return []
    return [{"type": "latency", "name": TIMEOUT, "threshold": seconds * 1000, "weight": 0.0}]


def checked_graders(located: Located, written: list[dict[str, Any]]) -> list[GraderConfig]:
    """The graders, validated; InputError with all their problems."""
    graders: list[GraderConfig] = []
    problems: list[Problem] = []
    for one in written:
        try:
            graders.append(_GRADER.validate_python(one))
        except ValidationError as exc:
            for error in exc.errors(include_url=False):
                problems.append(_grader_problem(located, one, dict(error)))
    if problems:
        raise InputError(*problems)
    return graders


def _grader_problem(located: Located, one: Mapping[str, Any], error: dict[str, Any]) -> Problem:
    keys = [str(part) for part in error["loc"] if part != one.get("type")]
    reason = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    message, remedy = split_remedy(reason)
    where = f"grader {one.get('type')!r}"
    if keys:
        where += f", {'.'.join(keys)}"
    return located.problem(("graders",), f"{where}: {message}", remedy or "see docs/formats.md")


def grader_forms(value: Any, library: Library) -> list[Any]:
    """The graders of an eval with shared ones, named or given by `$ref`, written out."""
    listed = value if isinstance(value, list) else [value]
    return [_expand_grader(one, library) for one in listed]


def _expand_grader(value: Any, library: Library) -> Any:
    own = {"$ref": value} if isinstance(value, str) else value
    if not isinstance(own, dict) or not isinstance(own.get("$ref"), str):
        return value
    shared = library.grader(own["$ref"].rpartition("#")[2].rpartition("/")[2])
    changes = {key: item for key, item in own.items() if key != "$ref"}
    config = changes.pop("config", None)
    if not isinstance(config, dict | None):
        raise ValueError("config of a grader is not a mapping; write it as 'key: value' pairs")
    return {**shared, **changes, "config": {**shared.get("config", {}), **(config or {})}}
