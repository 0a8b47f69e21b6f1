"""The strict, frozen base of everything users write, and error messages that say where and what to change."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from evalq.definitions.located import Loc, Located
from evalq.errors import InputError, Problem

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
NAME_REMEDY = "use letters, digits, '.', '_' and '-', beginning with a letter or digit, 100 at most"
MAX_PROBLEMS = 50

_MANY_CHOICES = 12
_PATTERN_REMEDIES = {NAME_PATTERN: NAME_REMEDY}

_EXPECTED_KINDS = {
    "string": ("text", "put it in quotes"),
    "int": ("a whole number", "write digits only, without quotes"),
    "float": ("a number", "write a number, without quotes"),
    "decimal": ("a number", "write a number"),
    "finite": ("a finite number", "write a finite number"),
    "bool": ("true or false", "write true or false, without quotes"),
    "list": ("a list", "write it as a list: one '- entry' per line, or [a, b]"),
    "dict": ("a mapping", "write it as 'key: value' pairs"),
    "model": ("a mapping", "write it as 'key: value' pairs"),
    "path": ("a path", "write a path in quotes"),
}
"""By the first word of pydantic's error type: what the value should be, and the remedy."""

_GIVEN_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
    type(None): "empty",
}

Model = TypeVar("Model", bound=BaseModel)


class Definition(BaseModel):
    """Part of a file the user wrote: unknown keys refused, types exact, never changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Absence(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"


ABSENT: Literal[Absence.ABSENT] = Absence.ABSENT
"""A value that was not written at all, where null is a value too."""


def is_absent(value: object) -> bool:
    """True for ABSENT; such fields are left out of a snapshot."""
    return value is ABSENT


def is_unset(value: object) -> bool:
    """True for the value of an optional field that was not written.

    Snapshots leave such fields out, so a field added in a later release does not change old hashes.
    """
    return value is None or value is False or value == [] or value == {}


def is_name(text: str) -> bool:
    """True for a text that can name a task, an evalset or a judge."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def validate(model: type[Model], located: Located, *others: Problem) -> Model:
    """Build the model from a located value; raise InputError with its problems and the `others`."""
    try:
        valid = model.model_validate(located.value)
    except ValidationError as exc:
        raise InputError(*limit_problems([*_problems_of(exc, located, model), *others])) from None
    if others:
        raise InputError(*limit_problems(list(others)))
    return valid


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? (known: x, y)`; without the guess when no name is close, "" without known names."""
    names = list(known)
    parts = [f"did you mean {guess!r}?" for guess in get_close_matches(name, names, n=1)]
    if names:
        parts.append(f"(known: {', '.join(names)})")
    return " ".join(parts)


def split_remedy(text: str) -> tuple[str, str]:
    """Split a ValueError's text, `what is wrong; what to do`, into message and remedy."""
    message, _, remedy = text.partition("; ")
    return message, remedy


def limit_problems(problems: list[Problem]) -> list[Problem]:
    """The first problems, and how many more there are."""
    rest = len(problems) - MAX_PROBLEMS
    if rest <= 0:
        return problems
    return [*problems[:MAX_PROBLEMS], Problem(f"and {rest} more problems", file=problems[0].file)]


@dataclass(frozen=True)
class _Fault:
    """One error of a model, its path as written in the file, and the types along that path."""

    error: ErrorDetails
    loc: Loc
    parent: Any
    expected: Any

    @property
    def place(self) -> str:
        """`scoring.mode`, `cases[3].id`."""
        return _dotted(self.loc) or "the file"


def _problems_of(exc: ValidationError, located: Located, model: type[BaseModel]) -> list[Problem]:
    problems = []
    for error in exc.errors(include_url=False):
        fault = _trace_fault(error, model)
        message, remedy = _DESCRIBERS.get(error["type"], _describe_other)(fault)
        problems.append(located.problem(fault.loc, message, remedy))
    return sorted(problems, key=lambda problem: problem.line)


def _trace_fault(error: ErrorDetails, model: type[BaseModel]) -> _Fault:
    """Follow the error's path through the types, leaving out the parts that are not in the file."""
    loc: Loc = ()
    parent: Any = None
    expected: Any = model
    for part in error["loc"]:
        below, is_written = _step(expected, part)
        parent, expected = expected, below
        if is_written:
            loc = (*loc, part)
    return _Fault(error, loc, parent, expected)


def _step(annotation: Any, part: str | int) -> tuple[Any, bool]:
    """The type under `part`, and whether the part is in the file: the tag that chose a model is not."""
    annotation = _strip(annotation)
    if _is_model(annotation):
        field = _find_field(annotation, part)
        return (field.annotation if field else None), True
    if get_origin(annotation) in (list, dict):
        return get_args(annotation)[-1], True
    for model in get_args(annotation):
        if part in _tags(model):
            return model, False
    return None, True


def _find_field(model: type[BaseModel], key: str | int) -> FieldInfo | None:
    for name, field in model.model_fields.items():
        if key in (name, field.alias, *_other_names(field)):
            return field
    return None


def _other_names(field: FieldInfo) -> list[str]:
    choices = field.validation_alias
    if not isinstance(choices, AliasChoices):
        return []
    return [name for name in choices.choices if isinstance(name, str)]


def _strip(annotation: Any) -> Any:
    """The type without its `Annotated` and its `| None`."""
    if get_origin(annotation) is Annotated:
        return _strip(get_args(annotation)[0])
    others = [one for one in get_args(annotation) if one is not type(None)]
    if type(None) in get_args(annotation) and len(others) == 1:
        return _strip(others[0])
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _tags(model: Any) -> tuple[str, ...]:
    """The words that choose this model in a union: the values of its `type` or `provider`."""
    if not _is_model(model):
        return ()
    for key in ("type", "provider"):
        if key in model.model_fields:
            return get_args(model.model_fields[key].annotation)
    return ()


def _describe_missing(fault: _Fault) -> tuple[str, str]:
    key = fault.loc[-1]
    return f"missing key {key!r}{_inside(fault.loc[:-1])}", f"add {key}: …"


def _describe_extra(fault: _Fault) -> tuple[str, str]:
    key = fault.loc[-1]
    known = []
    if _is_model(fault.parent):
        for name, field in fault.parent.model_fields.items():
            known.append((_other_names(field) or [name])[0])
    return f"unknown key {_quote(key)}{_inside(fault.loc[:-1])}", did_you_mean(str(key), known)


def _describe_choice(fault: _Fault) -> tuple[str, str]:
    return _refuse_choice(fault.place, fault.error["input"], fault.error["ctx"]["expected"])


def _describe_tag(fault: _Fault) -> tuple[str, str]:
    context = fault.error["ctx"]
    place = _dotted((*fault.loc, context["discriminator"].strip("'")))
    return _refuse_choice(place, context["tag"], " or ".join(context["expected_tags"].rsplit(", ", 1)))


def _refuse_choice(place: str, given: object, allowed: str) -> tuple[str, str]:
    message = f"{place} cannot be {_quote(given)}"
    names = re.findall(r"'([^']*)'", allowed)
    close = get_close_matches(str(given), names, n=3)
    if not close:
        return message, f"write {allowed}"
    if len(names) > _MANY_CHOICES:
        return message, f"did you mean {' or '.join(map(repr, close))}?"
    return message, f"write {close[0]!r}; allowed: {allowed}"


def _describe_no_tag(fault: _Fault) -> tuple[str, str]:
    key = fault.error["ctx"]["discriminator"].strip("'")
    tags: list[str] = []
    for model in get_args(_strip(fault.expected)):
        tags += _tags(model)
    return f"missing key {key!r}{_inside(fault.loc)}", f"add {key}: one of {', '.join(tags)}"


def _describe_value(fault: _Fault) -> tuple[str, str]:
    message, remedy = split_remedy(str(fault.error["ctx"]["error"]))
    if fault.loc:
        message = f"{fault.place}: {message}"
    return message, remedy


def _describe_short(fault: _Fault) -> tuple[str, str]:
    return f"{fault.place} is empty", "write at least one entry"


def _describe_pattern(fault: _Fault) -> tuple[str, str]:
    pattern = fault.error["ctx"]["pattern"]
    remedy = _PATTERN_REMEDIES.get(pattern, f"write what matches {pattern}")
    return f"{fault.place} is not of the right form", remedy


def _describe_other(fault: _Fault) -> tuple[str, str]:
    """A wrong type, or a value out of bounds; the value itself is never shown, since it may be a secret."""
    error = fault.error
    kind = _EXPECTED_KINDS.get(error["type"].split("_")[0])
    if kind is None or error["type"].startswith("string_too"):
        return f"{fault.place}: {error['msg'].replace('Input should', 'it should')}", "change the value"
    wanted, remedy = kind
    given = type(error["input"])
    return f"{fault.place} should be {wanted}, but is {_GIVEN_KINDS.get(given, given.__name__)}", remedy


_DESCRIBERS: dict[str, Callable[[_Fault], tuple[str, str]]] = {
    "missing": _describe_missing,
    "extra_forbidden": _describe_extra,
    "literal_error": _describe_choice,
    "union_tag_invalid": _describe_tag,
    "union_tag_not_found": _describe_no_tag,
    "value_error": _describe_value,
    "too_short": _describe_short,
    "string_too_short": _describe_short,
    "string_pattern_mismatch": _describe_pattern,
}


def _dotted(loc: Loc) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _inside(loc: Loc) -> str:
    return f" in {_dotted(loc)}" if loc else ""


def _quote(text: object) -> str:
    """Quoted, on one line, short, and without the password of an address pasted in the wrong place."""
    shown, scheme_end, rest = repr(text).partition("://")
    if "@" in rest:
        rest = "…@" + rest.rpartition("@")[2]
    return f"{shown}{scheme_end}{rest}"[:80]
