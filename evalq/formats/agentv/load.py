"""Loads an EVAL.yaml of agentv as a task and an evalset, with a warning for everything that is lost."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.formats.agentv.checks import PASSES_AT, AssertionContext
from evalq.formats.agentv.conversation import (
    SentMessage,
    build_conversation,
    expected_text,
    expected_value,
    test_label,
)
from evalq.formats.agentv.eval_yaml import (
    TRIGGER,
    Assertion,
    EvalFile,
    EvalTest,
    Execution,
    Trigger,
    final_assertions,
    find_triggers,
)
from evalq.formats.agentv.graders import build_criteria_graders, build_graders
from evalq.formats.agentv.key_check import TEST_KEYS
from evalq.formats.agentv.read import read_eval_yaml
from evalq.formats.build import MAX_SAMPLES, MAX_TOKENS, set_name, short_id, task_name, with_unique_ids
from evalq.formats.document import text_of
from evalq.formats.paths import Attachments, repository_of
from evalq.formats.problems import ImportWarnings, build_each
from evalq.formats.skills.trigger_cases import ANSWER, SkillDescriptions, WantedTrigger, build_trigger_cases
from evalq.formats.sniff import sniff

_NAME = re.compile(r"(?:.+\.)?eval\.ya?ml", re.IGNORECASE)
_INPUT_KEYS = ("input", "input_messages")
_TEST_KEYS = ("assertions", "assert", "criteria", "expected_outcome")
_KEYS_OF_OTHERS = (
    *("cases", "user_template", "eval_suite", "capability_eval", "regression_eval", "test_cases"),
    *("eval_trigger", "eval_report", "phase"),
)


def recognises(path: Path) -> bool:
    """Recognise EVAL.yaml and its like by name, and any file that has tests with an input."""
    if not path.is_file():
        return False
    seen = sniff(path)
    if seen.has(*_KEYS_OF_OTHERS):
        return False
    if _NAME.fullmatch(path.name):
        return True
    if seen.is_list:
        return seen.has(*_INPUT_KEYS) and seen.has(*_TEST_KEYS) and path.suffix.lower() != ".csv"
    is_promptfoo = seen.has("providers", "defaultTest", "scenarios")
    has_input = seen.has(*_INPUT_KEYS) or not seen.inner.isdisjoint((*_INPUT_KEYS, "turns"))
    return seen.has(*TEST_KEYS) and has_input and not is_promptfoo


@dataclass
class FileContext:
    """What all tests of a file share; a test may set its own threshold."""

    attachments: Attachments
    warnings: ImportWarnings
    skills: SkillDescriptions
    trigger_mode: TriggerMode
    threshold: float


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """Load the tests of the file for a bake-off; raise InputError with the problems of all of them."""
    del root  # files are looked for in the file's own folder and repository, wherever we are
    eval_file = read_eval_yaml(path)
    warnings = ImportWarnings()
    context = _build_context(eval_file, path, warnings, trigger_mode)
    cases, lines = with_unique_ids(
        build_each(lambda test: (_build_cases(test, context), test.problem("")), eval_file.tests), warnings
    )
    if not cases:
        raise InputError(Problem("no tests", "list them under tests:", eval_file.file))
    _warn_of_unused(eval_file, cases, warnings)
    task = TaskConfig(
        name=task_name(path, eval_file.name),
        description=eval_file.description or "",
        system_prompt="",
        user_template="{prompt}",
        pass_threshold=context.threshold,
        max_tokens=MAX_TOKENS,
    )
    return LoadedTask(
        task,
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), eval_file.file, lines),
        warnings=warnings.texts,
        samples=min(_wanted_samples(eval_file), MAX_SAMPLES),
    )


def _build_context(
    eval_file: EvalFile, path: Path, warnings: ImportWarnings, trigger_mode: TriggerMode
) -> FileContext:
    folder = path.parent
    skills = eval_file.fields.get("skills")  # `skills: {NAME: description}`
    described = skills if isinstance(skills, dict) else {}
    descriptions = {name: text for name, text in described.items() if isinstance(text, str)}
    threshold = eval_file.execution.threshold
    return FileContext(
        Attachments((folder, repository_of(folder)), warnings),
        warnings,
        SkillDescriptions(folder, warnings, descriptions),
        trigger_mode,
        PASSES_AT if threshold is None else threshold,
    )


def _build_cases(test: EvalTest, context: FileContext) -> list[EvalCase]:
    """Build one case, and one more for each trigger that is decided by description."""
    case_id = _build_case_id(test)
    conversation = build_conversation(test, context.attachments)
    triggers = find_triggers(test) if context.trigger_mode == "description" else []
    wanted = [_as_wanted(trigger) for trigger in triggers if trigger.skill]
    graders = _build_graders(test, context, has_triggers=bool(wanted))
    query = conversation[-1].typed or conversation[-1].content
    trigger_cases = build_trigger_cases(case_id, query, wanted, context.skills, is_all=not graders)
    if trigger_cases and not graders:
        return trigger_cases
    fields = _build_fields(test, case_id, conversation, context)
    if trigger_cases:
        fields["stratum"] = dict(ANSWER)
    return [EvalCase.model_validate({**fields, "graders": graders}), *trigger_cases]


def _build_case_id(test: EvalTest) -> str:
    written = text_of(test.id) if test.id is not None else ""
    return short_id(written) if written else f"test-{test.index}"


def _as_wanted(trigger: Trigger) -> WantedTrigger:
    assertion = trigger.assertion
    description = assertion.fields.get("description")
    return WantedTrigger(
        trigger.skill,
        trigger.should_trigger,
        assertion.file,
        assertion.line,
        description if isinstance(description, str) else "",
    )


def _build_fields(
    test: EvalTest, case_id: str, conversation: Sequence[SentMessage], context: FileContext
) -> dict[str, Any]:
    """Build the fields of a case that is answered, but for its graders and stratum."""
    fields: dict[str, Any] = {"id": case_id, "inputs": {"prompt": conversation[-1].content}}
    answer = expected_text(test, context.attachments)
    if answer is not None:
        fields["expected"] = {"answer": answer}
    if len(conversation) > 1:
        fields["messages"] = [{"role": one.role, "content": one.content} for one in conversation]
    threshold = test.execution.threshold
    if threshold is not None and threshold != context.threshold:
        fields["pass_threshold"] = threshold
    metadata = dict(test.metadata)
    if test.criteria:
        metadata["criteria"] = "\n".join(test.criteria)
    if metadata:
        fields["metadata"] = metadata
    return fields


def _build_graders(test: EvalTest, context: FileContext, *, has_triggers: bool) -> list[GraderConfig]:
    """Build the graders of a test's assertions, or of its criteria if no assertion becomes a grader."""
    about = AssertionContext(
        test.criteria,
        expected_value(test),
        context.attachments,
        context.warnings,
        trigger_mode=context.trigger_mode,
    )
    assertions = _select_assertions(test, about)
    graders = build_graders(assertions, about)
    if graders or has_triggers:
        return graders
    if not test.criteria:
        message = f"nothing marks the answers to test {test_label(test)}"
        raise InputError(test.problem(message, "add a check that evalq has, or criteria:"))
    if assertions:
        message = f"test {test_label(test)} is marked by its criteria: none of its checks is carried over"
        context.warnings.add(test.problem(message))
    return build_criteria_graders(test.criteria, PASSES_AT)


def _select_assertions(test: EvalTest, context: AssertionContext) -> list[Assertion]:
    """Return a test's assertions and the suite's, without triggers that are decided by description."""
    assertions = [*final_assertions(test), *test.suite_assertions]
    triggers = find_triggers(test)
    if context.trigger_mode == "description":
        nameless = {id(trigger.assertion) for trigger in triggers if not trigger.skill}
        for assertion in assertions:
            if id(assertion) in nameless:
                context.warn(assertion, "it names no skill: left out", "add skill:")
        return [one for one in assertions if one.type != TRIGGER]
    kept = {id(trigger.assertion) for trigger in triggers}
    return [one for one in assertions if one.type != TRIGGER or id(one) in kept]


def _wanted_samples(eval_file: EvalFile) -> int:
    trials = eval_file.execution.trials
    return trials.count if trials else eval_file.runs_per_query or 1


def _warn_of_unused(eval_file: EvalFile, cases: Sequence[EvalCase], warnings: ImportWarnings) -> None:
    for problem in eval_file.unknown_keys:
        warnings.add(problem)
    for message, remedy in _unused_settings(eval_file):
        warnings.add(Problem(message, remedy, eval_file.file))
    for test in eval_file.tests:
        for message in _unused_in_test(test):
            warnings.add(test.problem(f"test {test_label(test)}: {message}"))
    n_unmarked = 0
    for case in cases:
        is_marked_by_model = any(grader.type == "rubric" for grader in case.graders)
        if "criteria" in case.metadata and not is_marked_by_model:
            n_unmarked += 1
    if n_unmarked:
        whose = f"{n_unmarked} cases" if n_unmarked > 1 else "one case"
        message = f"the criteria of {whose} are not marked: the checks beside them are, as in agentv"
        remedy = "add a check of type llm-grader to have them marked"
        warnings.add(Problem(message, remedy, eval_file.file))


def _unused_settings(eval_file: EvalFile) -> Iterator[tuple[str, str]]:
    yield from _unused_execution(eval_file.execution)
    if _wanted_samples(eval_file) > MAX_SAMPLES:
        yield f"{_wanted_samples(eval_file)} trials are too many: {MAX_SAMPLES} are run", ""
    if eval_file.trigger_threshold is not None:
        yield "trigger_threshold is not taken over: every answer counts", ""
    for name in ("workspace", "preprocessors", "requires"):
        if getattr(eval_file, name):
            yield f"{name} is not taken over", ""


def _unused_execution(execution: Execution) -> Iterator[tuple[str, str]]:
    trials = execution.trials
    if execution.target or execution.targets:
        yield "its targets are not taken over: judges are named on the command line", "give --judges a,b"
    if execution.budget_usd is not None:
        yield "execution.budget_usd is not taken over", f"give --max-cost-usd {execution.budget_usd:g}"
    if trials and trials.strategy:
        yield f"trials.strategy {trials.strategy!r} is not taken over: every answer counts", ""
    if trials and trials.cost_limit_usd is not None:
        yield "trials.cost_limit_usd is not taken over: the cap is the bake-off's", ""
    for name in ("workers", "cache", "fail_on_error"):
        if getattr(execution, name) is not None:
            yield f"execution.{name} is not taken over: it is the fleet's affair", ""


def _unused_in_test(test: EvalTest) -> Iterator[str]:
    if test.execution.target or test.execution.targets:
        yield "its own targets are not taken over"
    if test.execution.trials:
        yield "its own trials are not taken over: a bake-off asks every case equally often"
    for name in ("workspace", "depends_on"):
        if getattr(test, name):
            yield f"{name} is not taken over"
    if len(test.turns) > 1:
        yield "a conversation: its earlier turns are given as expected, the last is answered"
