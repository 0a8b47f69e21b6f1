"""A rubric as a task writes it: the name of a built-in one, plain text, or a template."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from evalq.definitions.rubric_library import CRITERIA, RUBRICS
from evalq.definitions.template import check_template, names_builtin_rubric, render
from evalq.definitions.validation import near

_PLAIN_NAME = re.compile(r"(?<!\{)\{[A-Za-z_]\w*\}(?!\})")


def rubric_names(rubric: str) -> tuple[str, ...]:
    """The names a rubric takes from the case and the answer; none for plain text.

    Braces that hold no name are text as long as no other pair holds one: a rubric may show JSON. One that
    has both must double those that are text; ValueError otherwise.
    """
    try:
        return check_template(rubric)
    except ValueError:
        if _PLAIN_NAME.search(rubric):
            raise
        return ()


def render_rubric(rubric: str, values: Mapping[str, Any]) -> str:
    """The rubric with its names filled in; as it stands when its braces are text."""
    try:
        return render(rubric, values)
    except ValueError:
        return rubric


def _text_of(value: Any) -> Any:
    """A built-in rubric's text for its name: a snapshot of the task says all that was asked."""
    if not isinstance(value, str) or not names_builtin_rubric(value):
        return value
    if value not in RUBRICS:
        raise ValueError(
            f"there is no rubric {value!r}; {near(value, RUBRICS)}, or write the rubric as a sentence"
        )
    return RUBRICS[value]


def _checked(rubric: str) -> str:
    if not rubric.strip():
        raise ValueError("it is empty; write what a good answer is, or the name of a built-in rubric")
    rubric_names(rubric)
    return rubric


def _criteria_of(value: Any) -> Any:
    """A built-in set of criteria for its name."""
    if not isinstance(value, str):
        return value
    if value not in CRITERIA:
        raise ValueError(
            f"there is no set of criteria {value!r}; {near(value, CRITERIA)}, or write a list of criteria"
        )
    return [dict(criterion) for criterion in CRITERIA[value]]


Rubric = Annotated[str, BeforeValidator(_text_of), AfterValidator(_checked)]
NamedCriteria = BeforeValidator(_criteria_of)
