"""Turns what a model finds wrong with a file into problems with a place, a reason and a remedy."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from evalq.definitions.located import Loc, Located
from evalq.definitions.task import NAME_PATTERN
from evalq.errors import InputError, Problem

Model = TypeVar("Model", bound=BaseModel)

MAX_PROBLEMS = 50

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
        raise InputError(*_cut([*_problems(exc, located, model), *others])) from None
    if others:
        raise InputError(*_cut(list(others)))
    return valid


def is_name(text: str) -> bool:
    """True for what may name a task, an evalset or a judge."""
    return re.fullmatch(NAME_PATTERN, text) is not None


def near(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? (known: x, y)`, as far as either can be said."""
    names = list(known)
    guess = get_close_matches(name, names, n=1)
    parts = [f"did you mean {guess[0]!r}?"] if guess else []
    return " ".join(parts + ([f"(known: {', '.join(names)})"] if names else []))


def split_remedy(text: str) -> tuple[str, str]:
    """Message and remedy of a ValueError written as `what is wrong; what to do`."""
    message, _, remedy = text.partition("; ")
    return message, remedy


def _cut(problems: list[Problem]) -> list[Problem]:
    rest = len(problems) - MAX_PROBLEMS
    if rest <= 0:
        return problems
    return [*problems[:MAX_PROBLEMS], Problem(f"and {rest} more problems", file=problems[0].file)]


def _problems(exc: ValidationError, located: Located, model: type[BaseModel]) -> list[Problem]:
    problems = [_problem(error, located, model) for error in exc.errors(include_url=False)]
    return sorted(problems, key=lambda problem: problem.line)


def _problem(error: ErrorDetails, located: Located, model: type[BaseModel]) -> Problem:
    describe = _DESCRIBERS.get(error["type"], _describe_other)
    message, remedy = describe(error, located, model)
    return located.problem(error["loc"], message, remedy)


def _describe_missing(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    key = error["loc"][-1]
    return f"missing key {key!r}{_inside(located, error['loc'][:-1])}", f"add {key}: …"


def _describe_extra(error: ErrorDetails, located: Located, model: type[BaseModel]) -> tuple[str, str]:
    *parents, key = error["loc"]
    loc = tuple(parents)
    return f"unknown key {_safe(key)}{_inside(located, loc)}", near(str(key), _known_keys(model, loc))


def _describe_choice(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    expected = error["ctx"]["expected"]
    choices = re.findall(r"'([^']*)'", expected)
    given = error["input"]
    hint = get_close_matches(str(given), choices, n=1)
    remedy = f"write {hint[0]!r}; allowed: {expected}" if hint else f"write {expected}"
    return f"{_place(located, error['loc'])} cannot be {_safe(given)}", remedy


def _describe_tag(error: ErrorDetails, located: Located, model: type[BaseModel]) -> tuple[str, str]:
    key = error["ctx"]["discriminator"].strip("'")
    tags = error["ctx"]["expected_tags"]
    detail = ErrorDetails(
        type="literal_error",
        loc=(*error["loc"], key),
        msg="",
        input=error["ctx"]["tag"],
        ctx={"expected": " or ".join(tags.rsplit(", ", 1))},
    )
    return _describe_choice(detail, located, model)


def _describe_no_tag(error: ErrorDetails, located: Located, model: type[BaseModel]) -> tuple[str, str]:
    key = error["ctx"]["discriminator"].strip("'")
    tags = ", ".join(tag for one in _models_at(model, error["loc"]) for tag in _tags(one))
    return f"missing key {key!r}{_inside(located, error['loc'])}", f"add {key}: one of {tags}"


def _describe_value(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    message, remedy = split_remedy(str(error["ctx"]["error"]))
    place = f"{_place(located, error['loc'])}: " if error["loc"] else ""
    return place + message, remedy


def _describe_short(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    return f"{_place(located, error['loc'])} is empty", "write at least one entry"


def _describe_pattern(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    pattern = error["ctx"]["pattern"]
    remedy = _PATTERNS.get(pattern, f"write what matches {pattern}")
    return f"{_place(located, error['loc'])} is not of the right form", remedy


def _describe_other(error: ErrorDetails, located: Located, _model: type[BaseModel]) -> tuple[str, str]:
    """A wrong type, or a value out of bounds; the value itself is never shown, since it may be a secret."""
    place = _place(located, error["loc"])
    kind = _KINDS.get(error["type"].split("_")[0])
    if kind is None or error["type"].startswith("string_too"):
        return f"{place}: {error['msg'].replace('Input should', 'it should')}", "change the value"
    is_type = type(error["input"])
    return f"{place} should be {kind[0]}, but is {_TYPES.get(is_type, is_type.__name__)}", kind[1]


_Describer = Callable[[ErrorDetails, Located, type[BaseModel]], tuple[str, str]]
_DESCRIBERS: dict[str, _Describer] = {
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


def _place(located: Located, loc: Loc) -> str:
    """`scoring.mode`, `cases[3].id`: the parts that are written, and the last one in any case."""
    parents = located.written(loc[:-1])
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in (*parents, *loc[-1:])]
    return "".join(parts).removeprefix(".") or "the file"


def _inside(located: Located, loc: Loc) -> str:
    path = located.written(loc)
    return f" in {_place(located, path)}" if path else ""


def _safe(text: object) -> str:
    """Quoted, on one line, short, and without the password of an address pasted in the wrong place."""
    return re.sub(r"(://)[^@]*@", r"\1…@", repr(text))[:80]


def _known_keys(model: type[BaseModel], loc: Loc) -> list[str]:
    return list(dict.fromkeys(key for one in _models_at(model, loc) for key in one.model_fields))


def _models_at(model: type[BaseModel], loc: Loc) -> list[type[BaseModel]]:
    """The models that may stand at `loc`: fields lead on, tags choose, indexes and free keys do nothing."""
    models = [model]
    for part in loc:
        annotations = [one.model_fields[part].annotation for one in models if part in one.model_fields]
        tagged = [one for one in models if part in _tags(one)]
        models = _models_in(annotations) if annotations else tagged or models
    return models


def _models_in(annotations: Iterable[Any]) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    for annotation in annotations:
        is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
        found += [annotation] if is_model else _models_in(get_args(annotation))
    return found


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """The words that choose this model in a union: the one value its `type` or `provider` may have."""
    fields = [model.model_fields[key] for key in ("type", "provider") if key in model.model_fields]
    return tuple(tag for field in fields for tag in get_args(field.annotation))
