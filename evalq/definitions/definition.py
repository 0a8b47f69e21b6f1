"""What every definition is: a strict, frozen model of something the user wrote."""

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


class Definition(BaseModel):
    """A file the user wrote: unknown keys refused, types exact, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def is_unset(value: object) -> bool:
    """True for what an optional field is when nobody wrote it.

    Fields added after a release are left out of a snapshot in this case: its hash stays what it was.
    """
    return value is None or value is False or value == [] or value == {}


class Absence(Enum):
    """Stands where there is nothing, not even null."""

    ABSENT = "absent"


ABSENT: Literal[Absence.ABSENT] = Absence.ABSENT


def is_absent(value: object) -> bool:
    """True for what nobody wrote, where anything JSON has may be written; it stays out of a snapshot."""
    return value is ABSENT


Model = TypeVar("Model", bound=BaseModel)

MAX_PROBLEMS = 50
_MANY = 12  # choices; the near ones are enough then

_KINDS = {
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
_TYPES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
    type(None): "empty",
}
NAME_REMEDY = "use letters, digits, '.', '_' and '-', beginning with a letter or digit, 100 at most"
_PATTERNS = {NAME_PATTERN: NAME_REMEDY}


def validate(model: type[Model], located: Located, *others: Problem) -> Model:
    """The model of a located value; InputError with all its problems and the `others` found beside them."""
    try:
        valid = model.model_validate(located.value)
    except ValidationError as exc:
        raise InputError(*limit_problems([*_problems(exc, located, model), *others])) from None
    if others:
        raise InputError(*limit_problems(list(others)))
    return valid


def is_name(text: str) -> bool:
    """True for what may name a task, an evalset or a judge."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? (known: x, y)`, as far as either can be said."""
    names = list(known)
    guess = get_close_matches(name, names, n=1)
    parts = [f"did you mean {guess[0]!r}?"] if guess else []
    return " ".join(parts + ([f"(known: {', '.join(names)})"] if names else []))


def split_remedy(text: str) -> tuple[str, str]:
    """Message and remedy of a ValueError written as `what is wrong; what to do`."""
    message, _, remedy = text.partition("; ")
    return message, remedy


def limit_problems(problems: list[Problem]) -> list[Problem]:
    """The first problems, and how many more there are: nobody reads a thousand."""
    rest = len(problems) - MAX_PROBLEMS
    if rest <= 0:
        return problems
    return [*problems[:MAX_PROBLEMS], Problem(f"and {rest} more problems", file=problems[0].file)]


def _problems(exc: ValidationError, located: Located, model: type[BaseModel]) -> list[Problem]:
    problems = []
    for error in exc.errors(include_url=False):
        fault = _fault(error, model)
        message, remedy = _DESCRIBERS.get(error["type"], _describe_other)(fault)
        problems.append(located.problem(fault.loc, message, remedy))
    return sorted(problems, key=lambda problem: problem.line)


@dataclass(frozen=True)
class _Fault:
    """One error of a model, its path as the file has it, and the types along that path."""

    error: ErrorDetails
    loc: Loc
    parent: Any
    expected: Any

    @property
    def place(self) -> str:
        """`scoring.mode`, `cases[3].id`."""
        return _place(self.loc) or "the file"


def _fault(error: ErrorDetails, model: type[BaseModel]) -> _Fault:
    loc: Loc = ()
    parent: Any = None
    expected: Any = model
    for part in error["loc"]:
        below, is_written = _step(expected, part)
        parent, expected = expected, below
        loc = (*loc, part) if is_written else loc
    return _Fault(error, loc, parent, expected)


def _describe_missing(fault: _Fault) -> tuple[str, str]:
    key = fault.loc[-1]
    return f"missing key {key!r}{_inside(fault.loc[:-1])}", f"add {key}: …"


def _describe_extra(fault: _Fault) -> tuple[str, str]:
    key = fault.loc[-1]
    known = _written_names(fault.parent) if _is_model(fault.parent) else ()
    return f"unknown key {_safe(key)}{_inside(fault.loc[:-1])}", did_you_mean(str(key), known)


def _describe_choice(fault: _Fault) -> tuple[str, str]:
    return _refuse_choice(fault.place, fault.error["input"], fault.error["ctx"]["expected"])


def _describe_tag(fault: _Fault) -> tuple[str, str]:
    context = fault.error["ctx"]
    place = _place((*fault.loc, context["discriminator"].strip("'")))
    return _refuse_choice(place, context["tag"], " or ".join(context["expected_tags"].rsplit(", ", 1)))


def _refuse_choice(place: str, given: object, allowed: str) -> tuple[str, str]:
    names = re.findall(r"'([^']*)'", allowed)
    near_names = get_close_matches(str(given), names, n=3)
    if near_names and len(names) > _MANY:
        return f"{place} cannot be {_safe(given)}", f"did you mean {' or '.join(map(repr, near_names))}?"
    remedy = f"write {near_names[0]!r}; allowed: {allowed}" if near_names else f"write {allowed}"
    return f"{place} cannot be {_safe(given)}", remedy


def _describe_no_tag(fault: _Fault) -> tuple[str, str]:
    key = fault.error["ctx"]["discriminator"].strip("'")
    tags = ", ".join(tag for model in get_args(_bare(fault.expected)) for tag in _tags(model))
    return f"missing key {key!r}{_inside(fault.loc)}", f"add {key}: one of {tags}"


def _describe_value(fault: _Fault) -> tuple[str, str]:
    message, remedy = split_remedy(str(fault.error["ctx"]["error"]))
    return (f"{fault.place}: {message}" if fault.loc else message), remedy


def _describe_short(fault: _Fault) -> tuple[str, str]:
    return f"{fault.place} is empty", "write at least one entry"


def _describe_pattern(fault: _Fault) -> tuple[str, str]:
    pattern = fault.error["ctx"]["pattern"]
    remedy = _PATTERNS.get(pattern, f"write what matches {pattern}")
    return f"{fault.place} is not of the right form", remedy


def _describe_other(fault: _Fault) -> tuple[str, str]:
    """A wrong type, or a value out of bounds; the value itself is never shown, since it may be a secret."""
    error = fault.error
    kind = _KINDS.get(error["type"].split("_")[0])
    if kind is None or error["type"].startswith("string_too"):
        return f"{fault.place}: {error['msg'].replace('Input should', 'it should')}", "change the value"
    given = type(error["input"])
    return f"{fault.place} should be {kind[0]}, but is {_TYPES.get(given, given.__name__)}", kind[1]


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


def _place(loc: Loc) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def _inside(loc: Loc) -> str:
    return f" in {_place(loc)}" if loc else ""


def _safe(text: object) -> str:
    """Quoted, on one line, short, and without the password of an address pasted in the wrong place."""
    return re.sub(r"(://)[^@]*@", r"\1…@", repr(text))[:80]


def _step(annotation: Any, part: str | int) -> tuple[Any, bool]:
    """The type under `part`, and whether the part is in the file: the tag that chose among models is not."""
    annotation = _bare(annotation)
    if _is_model(annotation):
        field = _field(annotation, part)
        return (field.annotation if field else None), True
    if get_origin(annotation) in (list, dict):
        return get_args(annotation)[-1], True
    chosen = [model for model in get_args(annotation) if part in _tags(model)]
    return (chosen[0], False) if chosen else (None, True)


def _field(model: type[BaseModel], key: str | int) -> FieldInfo | None:
    """The field written under `key`: by its name or by one of its other names."""
    fields = model.model_fields.items()
    return next((field for name, field in fields if key in (name, field.alias, *_other_names(field))), None)


def _written_names(model: type[BaseModel]) -> list[str]:
    """The keys a user may write, each field under the name it is known by first."""
    return [next(iter(_other_names(field)), name) for name, field in model.model_fields.items()]


def _other_names(field: FieldInfo) -> list[str]:
    choices = field.validation_alias
    return (
        [name for name in choices.choices if isinstance(name, str)]
        if isinstance(choices, AliasChoices)
        else []
    )


def _bare(annotation: Any) -> Any:
    """The type without its `Annotated` and its `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    others = [one for one in get_args(annotation) if one is not type(None)]
    is_optional = type(None) in get_args(annotation) and len(others) == 1
    return _bare(others[0]) if is_optional else annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _tags(model: Any) -> tuple[str, ...]:
    """The words that choose this model in a union: the values its `type` or `provider` may have."""
    fields = model.model_fields if _is_model(model) else {}
    return tuple(
        tag for key in ("type", "provider") if key in fields for tag in get_args(fields[key].annotation)
    )
