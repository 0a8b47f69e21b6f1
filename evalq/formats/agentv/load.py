"""An EVAL.yaml of agentv as a task and an evalset; what cannot be carried over is listed."""

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
from evalq.formats.agentv.checks import PASSES_AT, Scene, Standing
from evalq.formats.agentv.conversation import Said, called, conversation_of, expected_text, expected_value
from evalq.formats.agentv.eval_file import (
    TRIGGER,
    Assertion,
    EvalFile,
    EvalTest,
    Trigger,
    asked_of,
    text_of,
    triggers_of,
)
from evalq.formats.agentv.graders import by_criteria, graders_of
from evalq.formats.agentv.read import read_eval_yaml
from evalq.formats.build import set_name, task_name, with_own_ids
from evalq.formats.paths import Attachments, repository_of
from evalq.formats.problems import Losses, each_made
from evalq.formats.skills.trigger_cases import ANSWER, Skills, Wanted, decided_cases, short_id
from evalq.formats.sniff import glance


@dataclass
class Workshop:
    """What all tests of a file share."""

    attachments: Attachments
    losses: Losses
    skills: Skills
    trigger_mode: TriggerMode
    threshold: float = PASSES_AT
    """Of the suite; a test may have its own."""


def cases_of(test: EvalTest, shop: Workshop) -> list[EvalCase]:
    """One case; with triggers to be decided by description, one more for each of them."""
    case_id = _case_id(test)
    said = conversation_of(test, shop.attachments)
    triggers = triggers_of(test) if shop.trigger_mode == "description" else []
    graders = _graders(test, shop, has_triggers=any(trigger.skill for trigger in triggers))
    wanted = [_wanted(trigger) for trigger in triggers if trigger.skill]
    query = said[-1].typed or said[-1].content
    decided = decided_cases(case_id, query, wanted, shop.skills, is_all=not graders)
    if decided and not graders:
        return decided
    return [_answered(test, case_id, said, shop=shop, graders=graders, is_one_of_two=bool(decided)), *decided]


def _case_id(test: EvalTest) -> str:
    written = text_of(test.id) if test.id is not None else ""
    return short_id(written) if written else f"test-{test.index}"


def _answered(
    test: EvalTest,
    case_id: str,
    said: Sequence[Said],
    *,
    shop: Workshop,
    graders: list[GraderConfig],
    is_one_of_two: bool,
) -> EvalCase:
    answer = expected_text(test, shop.attachments)
    fields: dict[str, Any] = {"id": case_id, "inputs": {"prompt": said[-1].content}, "graders": graders}
    if answer is not None:
        fields["expected"] = {"answer": answer}
    if len(said) > 1:
        fields["messages"] = [{"role": one.role, "content": one.content} for one in said]
    threshold = test.execution.threshold
    if threshold is not None and threshold != shop.threshold:
        fields["pass_threshold"] = threshold
    if is_one_of_two:
        fields["stratum"] = dict(ANSWER)
    metadata = {**test.metadata, **({"criteria": "\n".join(test.criteria)} if test.criteria else {})}
    return EvalCase.model_validate({**fields, "metadata": metadata} if metadata else fields)


def _graders(test: EvalTest, shop: Workshop, *, has_triggers: bool) -> list[GraderConfig]:
    """The graders of a test's checks, or of its criteria when it has no check that becomes one."""
    scene = Scene(
        test.criteria, expected_value(test), shop.attachments, shop.losses, trigger_mode=shop.trigger_mode
    )
    listed = _assertions(test, scene)
    graders = graders_of(listed, scene)
    if graders or has_triggers:
        return graders
    if not test.criteria:
        message = f"nothing marks the answers to test {called(test)}"
        raise InputError(test.problem(message, "add a check that evalq has, or criteria:"))
    if listed:
        message = f"test {called(test)} is marked by its criteria: none of its checks is carried over"
        shop.losses.note(test.problem(message))
    return Standing().graders(by_criteria(test.criteria, PASSES_AT))


def _assertions(test: EvalTest, scene: Scene) -> list[Assertion]:
    """A test's checks and the suite's; triggers to be decided by description are not among them."""
    written = [*asked_of(test), *test.suite_assertions]
    if scene.trigger_mode == "description":
        for assertion in written:
            if assertion.type == TRIGGER and not _names_skill(assertion, test):
                scene.lose(assertion, "it names no skill: left out", "add skill:")
        return [assertion for assertion in written if assertion.type != TRIGGER]
    kept = {id(trigger.assertion) for trigger in triggers_of(test)}
    return [one for one in written if one.type != TRIGGER or id(one) in kept]


def _names_skill(assertion: Assertion, test: EvalTest) -> bool:
    return all(trigger.skill for trigger in triggers_of(test) if trigger.assertion is assertion)


def _wanted(trigger: Trigger) -> Wanted:
    assertion = trigger.assertion
    described = assertion.fields.get("description")
    return Wanted(
        trigger.skill,
        trigger.should_trigger,
        assertion.file,
        assertion.line,
        described if isinstance(described, str) else "",
    )


MAX_TOKENS = 8192
"""Of an answer; agentv sets no limit."""

MAX_SAMPLES = 1000


_NAME = re.compile(r"(?:.+\.)?eval\.ya?ml", re.IGNORECASE)
_TESTS = ("tests", "eval_cases", "evalcases", "evalCases")
_ASKING = ("input", "input_messages")
_OF_A_TEST = ("assertions", "assert", "criteria", "expected_outcome")
_OF_OTHERS = (
    *("cases", "user_template", "eval_suite", "capability_eval", "regression_eval", "test_cases"),
    *("eval_trigger", "eval_report", "phase"),
)


def recognises(path: Path) -> bool:
    """True for EVAL.yaml and its like by name, and for what has tests with an input in it."""
    if not path.is_file():
        return False
    seen = glance(path)
    if seen.has(*_OF_OTHERS):
        return False
    if _NAME.fullmatch(path.name):
        return True
    if seen.is_list:
        return seen.has(*_ASKING) and seen.has(*_OF_A_TEST) and path.suffix.lower() != ".csv"
    is_of_promptfoo = seen.has("providers", "defaultTest", "scenarios")
    asks = seen.has(*_ASKING) or not seen.inner.isdisjoint((*_ASKING, "turns"))
    return seen.has(*_TESTS) and asks and not is_of_promptfoo


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """The tests of the file for a bake-off; InputError with the problems of all of them."""
    del root  # files are looked for in the file's own repository, wherever we are
    read = read_eval_yaml(path)
    losses = Losses()
    shop = _workshop(read, path, losses, trigger_mode)
    made = each_made(lambda test: [(case, test.problem("")) for case in cases_of(test, shop)], read.tests)
    cases, lines = with_own_ids([pair for pairs in made for pair in pairs], losses)
    if not cases:
        raise InputError(Problem("no tests", "list them under tests:", read.file))
    _note_unused(read, cases, losses)
    return LoadedTask(
        _task(read, path),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), read.file, lines),
        warnings=losses.texts,
        samples=min(_samples(read), MAX_SAMPLES),
    )


def _workshop(read: EvalFile, path: Path, losses: Losses, trigger_mode: TriggerMode) -> Workshop:
    folder = path.parent
    attachments = Attachments((folder, repository_of(folder)), losses)
    threshold = read.execution.threshold
    return Workshop(
        attachments,
        losses,
        Skills(folder, losses, _described(read)),
        trigger_mode,
        PASSES_AT if threshold is None else threshold,
    )


def _described(read: EvalFile) -> dict[str, str]:
    """Skills the file itself describes: `skills: {NAME: description}`."""
    written = read.fields.get("skills")
    pairs = written.items() if isinstance(written, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}


def _task(read: EvalFile, path: Path) -> TaskConfig:
    threshold = read.execution.threshold
    return TaskConfig(
        name=task_name(path, read.name),
        description=read.description or "",
        system_prompt="",
        user_template="{prompt}",
        pass_threshold=PASSES_AT if threshold is None else threshold,
        max_tokens=MAX_TOKENS,
    )


def _samples(read: EvalFile) -> int:
    trials = read.execution.trials
    return trials.count if trials else read.runs_per_query or 1


def _note_unused(read: EvalFile, cases: list[EvalCase], losses: Losses) -> None:
    for message, remedy in _unused(read):
        losses.note(Problem(message, remedy, read.file))
    for test in read.tests:
        for message in _unused_of(test):
            losses.note(test.problem(f"test {called(test)}: {message}"))
    unmarked = sum("criteria" in case.metadata and not _by_model(case) for case in cases)
    if unmarked:
        whose = f"{unmarked} cases" if unmarked > 1 else "one case"
        message = f"the criteria of {whose} are not marked: the checks beside them are, as in agentv"
        losses.note(Problem(message, "add a check of type llm-grader to have them marked", read.file))


def _by_model(case: EvalCase) -> bool:
    """Whether a model marks the case, by its criteria among other things."""
    return any(grader.type == "rubric" for grader in case.graders)


def _unused(read: EvalFile) -> Iterator[tuple[str, str]]:
    execution = read.execution
    if execution.target or execution.targets:
        yield "its targets are not taken over: judges are named on the command line", "give --judges a,b"
    if execution.budget_usd is not None:
        yield "execution.budget_usd is not taken over", f"give --max-cost-usd {execution.budget_usd:g}"
    if execution.trials and execution.trials.strategy:
        yield f"trials.strategy {execution.trials.strategy!r} is not taken over: every answer counts", ""
    if execution.trials and execution.trials.cost_limit_usd is not None:
        yield "trials.cost_limit_usd is not taken over: the cap is the bake-off's", ""
    yield from _unused_beside(read)
    kept_apart = {"workspace": read.workspace, "preprocessors": read.preprocessors, "requires": read.requires}
    for name in (name for name, value in kept_apart.items() if value):
        yield f"{name} is not taken over", ""


def _unused_beside(read: EvalFile) -> Iterator[tuple[str, str]]:
    if _samples(read) > MAX_SAMPLES:
        yield f"{_samples(read)} trials are too many: {MAX_SAMPLES} are run", ""
    if read.trigger_threshold is not None:
        yield "trigger_threshold is not taken over: every answer counts", ""
    for name in ("workers", "cache", "fail_on_error"):
        if getattr(read.execution, name) is not None:
            yield f"execution.{name} is not taken over: it is the fleet's affair", ""


def _unused_of(test: EvalTest) -> Iterator[str]:
    if test.execution.target or test.execution.targets:
        yield "its own targets are not taken over"
    if test.execution.trials:
        yield "its own trials are not taken over: a bake-off asks every case equally often"
    for name in ("workspace", "depends_on"):
        if getattr(test, name):
            yield f"{name} is not taken over"
    if len(test.turns) > 1:
        yield "a conversation: its earlier turns are given as expected, the last is answered"
