"""Whether graders fit a case: it has every input their rubrics name, and what they compare with."""

from collections.abc import Callable, Iterator, Sequence

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.definitions.graders.model_grader import ModelGrader
from evalq.definitions.graders.model_graders import PairwiseGrader
from evalq.definitions.rubric import rubric_names
from evalq.definitions.validation import near

Check = Callable[[EvalCase], tuple[str, str] | None]
"""Message and remedy, or None when the case is fine."""

_GIVEN = {"question", "answer", "finding_json", "expected"}
_GIVEN_OF_TWO = {"question", "answer_a", "answer_b", "expected"}


def grader_checks(graders: Sequence[GraderConfig], place: str = "graders") -> Iterator[Check]:
    """What each case must have for these graders."""
    for number, grader in enumerate(graders):
        yield _suffices(grader)
        if not isinstance(grader, ModelGrader):
            continue
        given = _GIVEN_OF_TWO if isinstance(grader, PairwiseGrader) else _GIVEN
        unknown = (name for name in rubric_names(grader.rubric or "") if name not in given)
        yield from (has_input(name, f"{place}[{number}].rubric") for name in unknown)
        if isinstance(grader, PairwiseGrader) and grader.opponent is None:
            yield _has_reference(f"{place}[{number}]")


def fits_own_graders(case: EvalCase) -> tuple[str, str] | None:
    """What the graders written in a case miss in it."""
    found = (check(case) for check in grader_checks(case.graders))
    return next((wrong for wrong in found if wrong), None)


def _suffices(grader: GraderConfig) -> Check:
    return lambda case: grader.lack(case.expected or {})


def has_input(name: str, template: str) -> Check:
    """The case has an input of this name, which a template uses."""

    def check(case: EvalCase) -> tuple[str, str] | None:
        if name in case.inputs:
            return None
        hint = near(name, case.inputs)
        remedy = f"add {name} to the case's inputs, or change the template" + (f"; {hint}" if hint else "")
        return f"{template} uses {{{name}}}, which is not among the inputs", remedy

    return check


def _has_reference(place: str) -> Check:
    def check(case: EvalCase) -> tuple[str, str] | None:
        answer = (case.expected or {}).get("answer")
        if isinstance(answer, str) and answer.strip():
            return None
        return f"{place} compares with the reference, expected.answer, a text", 'add expected: {answer: "…"}'

    return check
