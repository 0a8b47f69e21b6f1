"""Models that other formats call by their providers' names are found, or made, among the judges."""

import pytest

from evalq.calling.pricing import price_of
from evalq.definitions.catalogue import all_judges, pick_judges, with_models
from evalq.definitions.judge import AnthropicJudge, CommandJudge, with_deadline

SHIPPED = all_judges({})


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("claude-haiku-4-5-20251001", "anthropic"),
        ("gpt-4.1-mini", "openai"),
        ("grok-3-mini", "xai"),
        ("gemini-2.0-flash", "google"),
    ],
)
def test_a_model_of_a_known_provider_is_a_judge_of_its_own(name: str, provider: str) -> None:
    (judge,) = pick_judges([name], with_models(SHIPPED, [name]))
    assert (judge.name, judge.provider, judge.model) == (name, provider, name)
    assert price_of(judge) is not None


@pytest.mark.parametrize(
    ("written", "name"), [("claude-opus-4-7", "opus-4.7"), ("claude-sonnet-4.6", "sonnet-4.6")]
)
def test_a_model_in_the_catalogue_is_the_judge_there(written: str, name: str) -> None:
    assert [judge.name for judge in pick_judges([written], with_models(SHIPPED, [written]))] == [name]


def test_a_judge_of_ones_own_with_this_model_is_taken() -> None:
    mine = AnthropicJudge(name="mine", provider="anthropic", model="claude-haiku-4-5-20251001", rpm=5)
    known = with_models(all_judges({"mine": mine}), ["claude-haiku-4-5-20251001"])
    assert pick_judges(["claude-haiku-4-5-20251001"], known) == [mine]


@pytest.mark.parametrize("name", ["llama-4", "my-claude", "claude-", "claude-x/../../y", "o", ""])
def test_a_name_of_no_provider_makes_no_judge(name: str) -> None:
    assert with_models(SHIPPED, [name]) == SHIPPED


def test_a_judge_may_be_given_another_time_to_answer() -> None:
    model = AnthropicJudge(name="m", provider="anthropic", model="m")
    command = CommandJudge(name="c", provider="command", command=["x"])
    assert with_deadline(model, 5.0).deadline_s == 5  # type: ignore[union-attr]
    assert with_deadline(command, 5.0).timeout_s == 5  # type: ignore[union-attr]
    assert with_deadline(model, None) is model
    assert with_deadline(SHIPPED["sim-grader"], 5.0) == SHIPPED["sim-grader"]
