"""Whether a task and an evalset fit: every name a template uses is there, and what the grading needs."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from evalq.definitions.definition import did_you_mean
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.graders.grader import is_text, is_texts
from evalq.definitions.graders.model import ModelGrader, PairwiseGrader
from evalq.definitions.rubrics import rubric_names
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.definitions.template import check_template, names_builtin_rubric
from evalq.errors import Problem

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
    return lambda case: grader.find_misfit(case.expected or {})


def has_input(name: str, template: str) -> Check:
    """The case has an input of this name, which a template uses."""

    def check(case: EvalCase) -> tuple[str, str] | None:
        if name in case.inputs:
            return None
        hint = did_you_mean(name, case.inputs)
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


RUBRIC_NAMES = ("sources", "finding_json", "answer", "expected")
MAX_CASES = 10
NOTHING_MARKS = "nothing marks the answers"


def check_fit(task: TaskConfig, loaded: LoadedEvalSet) -> list[Problem]:
    """What keeps the task from being asked and graded on this evalset; at most ten cases of each kind."""
    return [problem for check in _checks(task) for problem in _misfits(check, loaded)]


def _misfits(check: Check, loaded: LoadedEvalSet) -> list[Problem]:
    found = [(case, wrong) for case in loaded.evalset.cases if (wrong := check(case))]
    problems = [
        Problem(f"case {case.id!r}: {message}", remedy, loaded.file, loaded.case_lines.get(case.id, 0))
        for case, (message, remedy) in found[:MAX_CASES]
    ]
    rest = len(found) - MAX_CASES
    return (
        [*problems, Problem(f"and {rest} more cases like that", file=loaded.file)] if rest > 0 else problems
    )


def needed_inputs(task: TaskConfig) -> tuple[str, ...]:
    """The names every case must have among its inputs, each once: the template's, then the rubric's."""
    return tuple(dict.fromkeys((*check_template(task.user_template), *_rubric_inputs(task))))


def _checks(task: TaskConfig) -> Iterator[Check]:
    yield from (_asks_for(name) for name in check_template(task.user_template))
    yield from (has_input(name, "scoring.rubric") for name in _rubric_inputs(task))
    if task.scoring is not None and task.scoring.mode == "strict_substring":
        yield _EXPECTED_BY_RULE[task.scoring.pass_rule]
    yield from grader_checks(task.graders)
    yield fits_own_graders
    if not task.marks_every_answer:
        yield _is_marked


def _asks_for(name: str) -> Check:
    """A case that brings its own conversation does not need the task's template."""
    asks = has_input(name, "user_template")
    return lambda case: None if case.messages else asks(case)


def _is_marked(case: EvalCase) -> tuple[str, str] | None:
    if case.graders:
        return None
    return NOTHING_MARKS, "add graders: to the case, or scoring: or graders: to the task"


def _rubric_inputs(task: TaskConfig) -> Iterable[str]:
    """The names a model grader's rubric takes from the case's inputs."""
    scoring = task.scoring
    if scoring is None or scoring.mode != "llm_judge" or names_builtin_rubric(scoring.rubric or ""):
        return ()
    return (name for name in check_template(scoring.rubric or "") if name not in RUBRIC_NAMES)


def _has_answer(case: EvalCase) -> tuple[str, str] | None:
    if is_text((case.expected or {}).get("answer")):
        return None
    return "pass_rule exact_match needs expected.answer, a text", 'add expected: {answer: "…"}, in quotes'


def _has_substring(case: EvalCase) -> tuple[str, str] | None:
    expected = case.expected or {}
    is_fine = is_texts(expected["any_of"]) if "any_of" in expected else is_text(expected.get("answer"))
    if is_fine:
        return None
    return "pass_rule any_substring needs expected.any_of, a list of texts", 'add expected: {any_of: ["…"]}'


def _has_finding(case: EvalCase) -> tuple[str, str] | None:
    if case.expected_type == "negative" or is_texts((case.expected or {}).get("any_of")):
        return None
    remedy = 'add expected: {any_of: ["…"]}, or expected_type: negative where nothing is to be found'
    return "a positive case needs expected.any_of, a list of texts", remedy


_EXPECTED_BY_RULE: dict[str, Check] = {
    "exact_match": _has_answer,
    "any_substring": _has_substring,
    FINDINGS_RULE: _has_finding,
}
