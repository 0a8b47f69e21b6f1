"""A cached verdict is replayed only for the same question to the same grader, read the same way."""

from collections.abc import Callable
from dataclasses import replace
from types import FunctionType

import pytest

from evalq.bakeoff.verdict_cache import verdict_key
from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import AnthropicJudge, SimulatedJudge
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.grading.replies import PARSER_VERSION
from evalq.grading.scoring import verdict_prompt
from evalq.records import Prompt

CASE = EvalCase(id="c1", inputs={"sources": "[A] x\n\n[B] y"}, expected={"any_of": ["x"]})
GRADER = AnthropicJudge.model_validate(
    {"name": "g", "provider": "anthropic", "model": "m-1", "price": {"input": 3, "output": 15}}
)


def task(rubric: str = "knowledge_audit", name: str = "t") -> TaskConfig:
    scoring = {"mode": "llm_judge", "judge_model": "g", "rubric": rubric, "pass_rule": FINDINGS_RULE}
    return TaskConfig.model_validate(
        {"name": name, "system_prompt": "s", "user_template": "{sources}", "scoring": scoring}
    )


PROMPT = verdict_prompt(task(), CASE, '{"quote": "x"}')
KEY = verdict_key(PROMPT, GRADER)


def test_the_same_question_has_the_same_key() -> None:
    assert verdict_key(verdict_prompt(task(), CASE, '{"quote": "x"}'), GRADER) == KEY
    assert len(KEY) == 64


@pytest.mark.parametrize(
    "prompt",
    [
        verdict_prompt(task(), CASE, '{"quote": "y"}'),
        verdict_prompt(task(rubric="Is {finding_json} right?"), CASE, '{"quote": "x"}'),
        verdict_prompt(task(name="u"), CASE, '{"quote": "x"}'),
        verdict_prompt(task(), CASE.model_copy(update={"id": "c2"}), '{"quote": "x"}'),
        verdict_prompt(task(), CASE.model_copy(update={"inputs": {"sources": "[A] z"}}), '{"quote": "x"}'),
        replace(PROMPT, system="Be lenient."),
        replace(PROMPT, max_tokens=17),
        replace(PROMPT, temperature=0.0),
    ],
    ids=["answer", "rubric", "task", "case", "inputs", "system prompt", "max tokens", "temperature"],
)
def test_another_question_has_another_key(prompt: Prompt) -> None:
    assert verdict_key(prompt, GRADER) != KEY


@pytest.mark.parametrize(
    "change",
    [{"model": "m-2"}, {"params": {"thinking": "high"}}, {"base_url": "http://127.0.0.1:8000/v1"}],
    ids=lambda change: next(iter(change)),
)
def test_another_grader_has_another_key(change: dict[str, object]) -> None:
    assert verdict_key(PROMPT, GRADER.model_copy(update=change)) != KEY


def test_another_provider_has_another_key() -> None:
    simulated = SimulatedJudge(name="g", provider="simulated", model="m-1", accuracy=0.5)
    better = simulated.model_copy(update={"accuracy": 0.9})
    assert len({KEY, verdict_key(PROMPT, simulated), verdict_key(PROMPT, better)}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": "renamed"},
        {"price": None},
        {"api_key_env": "OTHER_KEY"},
        {"rpm": 60.0},
        {"input_tpm": 1000},
        {"output_tpm": 1000},
        {"concurrency": 8},
        {"deadline_s": 30.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_grader_costs_is_called_or_may_do_a_minute_changes_no_verdict(
    change: dict[str, object],
) -> None:
    assert verdict_key(PROMPT, GRADER.model_copy(update=change)) == KEY


def test_a_verdict_read_by_another_parser_is_another_verdict() -> None:
    def key_with(parser_version: int) -> str:
        names = {**verdict_key.__globals__, "PARSER_VERSION": parser_version}
        copy: Callable[..., str] = FunctionType(verdict_key.__code__, names)
        return copy(PROMPT, GRADER)

    assert key_with(PARSER_VERSION) == KEY
    assert key_with(PARSER_VERSION + 1) != KEY


@pytest.mark.parametrize("about", [{"sample": 2}, {"seed": 9}, {"attempt": 3}])
def test_a_repeated_question_is_answered_from_the_cache(about: dict[str, int]) -> None:
    asked = replace(PROMPT, about=replace(PROMPT.about, **about))
    assert verdict_key(asked, GRADER) == KEY
