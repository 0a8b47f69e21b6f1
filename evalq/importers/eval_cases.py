"""Tests of an EVAL.yaml as cases: what is asked, what is expected, and what marks the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import GraderConfig
from evalq.errors import InputError
from evalq.importers.attachments import Attachments
from evalq.importers.eval_conversation import Said, called, conversation_of, expected_text, expected_value
from evalq.importers.eval_graders import graders_of
from evalq.importers.eval_prompts import by_criteria
from evalq.importers.eval_scene import PASSES_AT, Scene, Standing
from evalq.importers.imported import TriggerMode
from evalq.importers.losses import Losses
from evalq.importers.trigger_cases import ANSWER, Skills, Wanted, decided_cases
from evalq.importers.triggering import short_id
from evalq.transpile.eval_file import Assertion, EvalTest
from evalq.transpile.triggers import TRIGGER, Trigger, asked_of, triggers_of
from evalq.transpile.value_text import text_of


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
