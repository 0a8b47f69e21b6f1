"""Shared definitions on their own: whether each grader, rubric and scale would do its work."""

from collections.abc import Iterator

from evalq.definitions.located import Located
from evalq.definitions.validation import split_remedy
from evalq.errors import InputError, Problem
from evalq.importers.suite_evals import checked_graders
from evalq.importers.suite_forms import ExpectedForm, GraderForm
from evalq.importers.suite_graders import graders_of
from evalq.importers.suite_library import Library, read_library

_SAMPLE = "x"
_CALL = {"test_cases": [{"input": [1], "output": 1}]}


def shared_problems(located: Located) -> list[Problem]:
    """What is wrong with a file of shared definitions."""
    try:
        library = read_library(located)
    except InputError as exc:
        return list(exc.problems)
    return [*_grader_problems(located, library), *_scale_problems(located, library)]


def _grader_problems(located: Located, library: Library) -> Iterator[Problem]:
    for section in ("graders", "overrides"):
        for name, written in getattr(library, section).items():
            yield from _tried(located, name, GraderForm.model_validate(written), library)


def _scale_problems(located: Located, library: Library) -> Iterator[Problem]:
    for name in library.scales:
        form = GraderForm(type="human", config={"rating_scale": name})
        yield from _tried(located, name, form, library)


def _tried(located: Located, name: str, form: GraderForm, library: Library) -> Iterator[Problem]:
    """The grader with an expectation it would meet in an eval."""
    is_code = {"executor", "function_name"} & form.config.keys()
    expected = (
        ExpectedForm(type="functional", value=_CALL) if is_code else ExpectedForm(type="exact", value=_SAMPLE)
    )
    try:
        checked_graders(located, graders_of([form], expected, library))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        yield located.problem((name,), f"{name}: {message}", remedy)
    except InputError as exc:
        for one in exc.problems:
            yield located.problem((name,), f"{name}: {one.message}", one.remedy)
