import pytest

from evalq.definitions.catalogue import aliases_of, all_judges, pick_judges, resolve_judge
from evalq.definitions.judge import PythonJudge
from evalq.errors import InputError

SHIPPED = all_judges({})


def own(name: str) -> PythonJudge:
    return PythonJudge(name=name, provider="python", callable="m:f")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("haiku-4.5", "haiku-4.5"),
        ("claude-haiku-4.5", "haiku-4.5"),
        ("Claude Haiku 4.5", "haiku-4.5"),
        ("claude-haiku-4-5", "haiku-4.5"),
        ("sonnet-4.6", "sonnet-4.6"),
        ("Sonnet 4.6", "sonnet-4.6"),
        ("claude-sonnet-4.6", "sonnet-4.6"),
        ("claude-sonnet-4-6", "sonnet-4.6"),
        ("opus-4.7", "opus-4.7"),
        ("claude-opus-4.7", "opus-4.7"),
        ("Grok 4-fast-reasoning", "grok-4-fast-reasoning"),
        ("grok-4-fast", "grok-4-fast-reasoning"),
        ("grok-4.3", "grok-4.3"),
        ("grok-4-3", "grok-4.3"),
        ("GPT-5.4-mini", "gpt-5.4-mini"),
        ("Gemini 2.5 Flash", "gemini-2.5-flash"),
        ("gemini-flash", "gemini-2.5-flash"),
    ],
)
def test_a_judge_answers_to_every_name_people_give_it(written: str, meant: str) -> None:
    assert [judge.name for judge in pick_judges([written], SHIPPED)] == [meant]


def test_two_names_of_one_judge_pick_it_once() -> None:
    picked = pick_judges(["claude-haiku-4.5", "grok-4.3", "haiku-4.5", "Grok 4.3"], SHIPPED)
    assert [judge.name for judge in picked] == ["haiku-4.5", "grok-4.3"]


def test_a_judge_of_ones_own_wins_over_an_alias_of_its_name() -> None:
    known = all_judges({"claude-haiku-4.5": own("claude-haiku-4.5")})
    assert resolve_judge("claude-haiku-4.5", known) == "claude-haiku-4.5"
    assert resolve_judge("Claude Haiku 4.5", known) == "claude-haiku-4.5"
    assert resolve_judge("haiku-4.5", known) == "haiku-4.5"


def test_an_alias_means_the_judge_that_took_the_name_it_stands_for() -> None:
    mine = own("haiku-4.5")
    assert pick_judges(["claude-haiku-4.5"], all_judges({"haiku-4.5": mine})) == [mine]


def test_a_spelling_that_could_be_two_judges_is_neither() -> None:
    known = all_judges({"grok-4-3": own("grok-4-3")})
    assert resolve_judge("grok-4-3", known) == "grok-4-3"
    assert resolve_judge("grok-4.3", known) == "grok-4.3"
    assert resolve_judge("Grok 4_3", known) is None


def test_an_alias_of_a_judge_that_is_not_there_is_no_name() -> None:
    assert resolve_judge("gemini-flash", {}) is None


def test_near_names_include_the_aliases() -> None:
    with pytest.raises(InputError, match="did you mean gemini-flash"):
        pick_judges(["gemini-flsh"], SHIPPED)


def test_every_alias_is_another_name_of_one_shipped_judge() -> None:
    named = [(alias, name) for name in SHIPPED for alias in aliases_of(name)]
    assert len({alias for alias, _ in named}) == len(named)
    for alias, name in named:
        assert alias not in SHIPPED
        assert resolve_judge(alias, SHIPPED) == name
