"""Checks that a task fits an evalset: its cases have all that prompts and graders use."""

from collections.abc import Callable, Iterator, Sequence

from evalq.definitions.definition import did_you_mean
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.graders.grader import Misfit, is_text, is_texts
from evalq.definitions.graders.model import ModelGrader, PairwiseGrader
from evalq.definitions.rubrics import rubric_names
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.definitions.template import check_template, names_builtin_rubric
from evalq.errors import Problem

NOTHING_MARKS = "nothing marks the answers"
MAX_CASES = 10

_IN_SCORING_RUBRIC = {"sources", "finding_json", "answer", "expected"}
_IN_GRADER_RUBRIC = {"question", "answer", "finding_json", "expected"}
_IN_PAIRWISE_RUBRIC = {"question", "answer_a", "answer_b", "expected"}
"""Names that a rubric may use and no case has to have."""

CaseCheck = Callable[[EvalCase], Misfit | None]
"""The message and remedy for a case, or None when it is fine."""


def check_fit(task: TaskConfig, loaded: LoadedEvalSet) -> list[Problem]:
    """What keeps the task from being run and graded on this evalset; at most ten cases of each kind."""
    problems: list[Problem] = []
    for check in _checks_of(task):
        n_found = 0
        for case in loaded.evalset.cases:
            misfit = check(case)
            if misfit is None:
                continue
            n_found += 1
            if n_found <= MAX_CASES:
                message, remedy = misfit
                line = loaded.case_lines.get(case.id, 0)
                problems.append(Problem(f"case {case.id!r}: {message}", remedy, loaded.file, line))
        if n_found > MAX_CASES:
            problems.append(Problem(f"and {n_found - MAX_CASES} more cases like that", file=loaded.file))
    return problems


def needed_inputs(task: TaskConfig) -> tuple[str, ...]:
    """The inputs every case must have, each once: the template's, then the rubric's."""
    return tuple(dict.fromkeys((*check_template(task.user_template), *_scoring_rubric_inputs(task))))


def _checks_of(task: TaskConfig) -> Iterator[CaseCheck]:
    for name in check_template(task.user_template):
        yield _has_template_input(name)
    for name in _scoring_rubric_inputs(task):
        yield _has_input(name, "scoring.rubric")
    if task.scoring is not None and task.scoring.mode == "strict_substring":
        yield _EXPECTED_BY_RULE[task.scoring.pass_rule]
    yield from _grader_checks(task.graders)
    yield _fits_own_graders
    if not task.marks_every_answer:
        yield _has_graders


def _scoring_rubric_inputs(task: TaskConfig) -> list[str]:
    """The names the scoring rubric takes from the case's inputs."""
    scoring = task.scoring
    if scoring is None or scoring.mode != "llm_judge" or names_builtin_rubric(scoring.rubric or ""):
        return []
    return [name for name in check_template(scoring.rubric or "") if name not in _IN_SCORING_RUBRIC]


def _grader_checks(graders: Sequence[GraderConfig]) -> Iterator[CaseCheck]:
    for number, grader in enumerate(graders):
        yield _fits_grader(grader)
        if not isinstance(grader, ModelGrader):
            continue
        is_pairwise = isinstance(grader, PairwiseGrader)
        given = _IN_PAIRWISE_RUBRIC if is_pairwise else _IN_GRADER_RUBRIC
        for name in rubric_names(grader.rubric or ""):
            if name not in given:
                yield _has_input(name, f"graders[{number}].rubric")
        if isinstance(grader, PairwiseGrader) and grader.opponent is None:
            yield _has_reference(f"graders[{number}]")


def _fits_grader(grader: GraderConfig) -> CaseCheck:
    return lambda case: grader.find_misfit(case.expected or {})


def _fits_own_graders(case: EvalCase) -> Misfit | None:
    for check in _grader_checks(case.graders):
        misfit = check(case)
        if misfit is not None:
            return misfit
    return None


def _has_graders(case: EvalCase) -> Misfit | None:
    if case.graders:
        return None
    return NOTHING_MARKS, "add graders: to the case, or scoring: or graders: to the task"


def _has_template_input(name: str) -> CaseCheck:
    """A case with its own conversation does not need the task's template."""
    check = _has_input(name, "user_template")
    return lambda case: None if case.messages else check(case)


def _has_input(name: str, template: str) -> CaseCheck:
    def check(case: EvalCase) -> Misfit | None:
        if name in case.inputs:
            return None
        remedy = f"add {name} to the case's inputs, or change the template"
        hint = did_you_mean(name, case.inputs)
        if hint:
            remedy = f"{remedy}; {hint}"
        return f"{template} uses {{{name}}}, which is not among the inputs", remedy

    return check


def _has_reference(place: str) -> CaseCheck:
    def check(case: EvalCase) -> Misfit | None:
        if is_text((case.expected or {}).get("answer")):
            return None
        return f"{place} compares with the reference, expected.answer, a text", 'add expected: {answer: "…"}'

    return check


def _has_answer(case: EvalCase) -> Misfit | None:
    if is_text((case.expected or {}).get("answer")):
        return None
    return "pass_rule exact_match needs expected.answer, a text", 'add expected: {answer: "…"}, in quotes'


def _has_substring(case: EvalCase) -> Misfit | None:
    expected = case.expected or {}
    if is_texts(expected.get("any_of")):
        return None
    if "any_of" not in expected and is_text(expected.get("answer")):
        return None
    return "pass_rule any_substring needs expected.any_of, a list of texts", 'add expected: {any_of: ["…"]}'


def _has_finding(case: EvalCase) -> Misfit | None:
    if case.expected_type == "negative" or is_texts((case.expected or {}).get("any_of")):
        return None
    remedy = 'add expected: {any_of: ["…"]}, or expected_type: negative where there is nothing to find'
    return "a positive case needs expected.any_of, a list of texts", remedy


_EXPECTED_BY_RULE: dict[str, CaseCheck] = {
    "exact_match": _has_answer,
    "any_substring": _has_substring,
    FINDINGS_RULE: _has_finding,
}
