"""Whether a task and an evalset fit: every name a template uses is there, and what the grading needs."""

from collections.abc import Iterable, Iterator

from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.grader_fit import Check, fits_own_graders, grader_checks, has_input
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.definitions.template import check_template, names_builtin_rubric
from evalq.errors import Problem

RUBRIC_NAMES = ("sources", "finding_json", "answer", "expected")
MAX_CASES = 10


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


def _checks(task: TaskConfig) -> Iterator[Check]:
    yield from (has_input(name, "user_template") for name in check_template(task.user_template))
    yield from (has_input(name, "scoring.rubric") for name in _rubric_inputs(task))
    if task.scoring is not None and task.scoring.mode == "strict_substring":
        yield _EXPECTED_BY_RULE[task.scoring.pass_rule]
    if any(grader.type in ("hit_at_k", "mrr") for grader in task.graders):
        yield _has_relevant
    yield from grader_checks(task.graders)
    yield fits_own_graders


def _rubric_inputs(task: TaskConfig) -> Iterable[str]:
    """The names a model grader's rubric takes from the case's inputs."""
    scoring = task.scoring
    if scoring is None or scoring.mode != "llm_judge" or names_builtin_rubric(scoring.rubric or ""):
        return ()
    return (name for name in check_template(scoring.rubric or "") if name not in RUBRIC_NAMES)


def _has_answer(case: EvalCase) -> tuple[str, str] | None:
    if _is_text((case.expected or {}).get("answer")):
        return None
    return "pass_rule exact_match needs expected.answer, a text", 'add expected: {answer: "…"}, in quotes'


def _has_substring(case: EvalCase) -> tuple[str, str] | None:
    expected = case.expected or {}
    is_fine = _is_texts(expected["any_of"]) if "any_of" in expected else _is_text(expected.get("answer"))
    if is_fine:
        return None
    return "pass_rule any_substring needs expected.any_of, a list of texts", 'add expected: {any_of: ["…"]}'


def _has_finding(case: EvalCase) -> tuple[str, str] | None:
    if case.expected_type == "negative" or _is_texts((case.expected or {}).get("any_of")):
        return None
    remedy = 'add expected: {any_of: ["…"]}, or expected_type: negative where nothing is to be found'
    return "a positive case needs expected.any_of, a list of texts", remedy


def _has_relevant(case: EvalCase) -> tuple[str, str] | None:
    if _is_texts((case.expected or {}).get("relevant")):
        return None
    return "ranking graders need expected.relevant, a list of ids", 'add expected: {relevant: ["…"]}'


_EXPECTED_BY_RULE: dict[str, Check] = {
    "exact_match": _has_answer,
    "any_substring": _has_substring,
    FINDINGS_RULE: _has_finding,
}


def _is_text(value: object) -> bool:
    """An empty text would occur in every answer."""
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_text(entry) for entry in value)
