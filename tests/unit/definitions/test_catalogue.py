import pytest

from evalq.calling.pricing import price_of
from evalq.definitions.catalogue import aliases_of, all_judges, pick_judges, resolve_judge
from evalq.definitions.judge import PythonJudge, SimulatedJudge
from evalq.errors import InputError

SHIPPED = all_judges({})
OWN = PythonJudge(name="mine", provider="python", callable="m:f")


def problems(names: list[str]) -> list[str]:
    with pytest.raises(InputError) as caught:
        pick_judges(names, SHIPPED)
    return [str(problem) for problem in caught.value.problems]


def test_seven_simulated_judges_a_simulated_grader_and_a_retriever_are_shipped() -> None:
    simulated = [name for name, judge in SHIPPED.items() if isinstance(judge, SimulatedJudge)]
    assert len(simulated) == 8
    assert "sim-grader" in simulated
    assert isinstance(SHIPPED["bm25"], PythonJudge)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_judge_has_its_name_a_price_and_a_gate(name: str) -> None:
    assert SHIPPED[name].name == name
    assert price_of(SHIPPED[name]) is not None
    assert SHIPPED[name].gate.startswith(f"{SHIPPED[name].provider}/")


def test_one_shipped_judge_is_broken_on_purpose() -> None:
    broken = SHIPPED["sim-gemini-2.5-flash"]
    assert isinstance(broken, SimulatedJudge)
    assert broken.misbehaviour.empty == 1.0


def test_a_judge_of_ones_own_is_added() -> None:
    assert all_judges({"mine": OWN})["mine"] is OWN
    assert all_judges({"mine": OWN}).keys() - SHIPPED.keys() == {"mine"}


def test_a_judge_of_ones_own_overrides_the_shipped_one_of_its_name() -> None:
    mine = OWN.model_copy(update={"name": "bm25"})
    assert all_judges({"bm25": mine})["bm25"] is mine


def test_judges_are_picked_in_order_and_each_once() -> None:
    picked = pick_judges(["sim-opus-4.7", "bm25", "sim-opus-4.7"], SHIPPED)
    assert [judge.name for judge in picked] == ["sim-opus-4.7", "bm25"]


@pytest.mark.parametrize("written", ["SIM-Opus-4.7", "sim opus 4.7", "sim_opus_4_7", " sim-opus-4.7 "])
def test_a_name_may_be_spelt_a_little_differently(written: str) -> None:
    assert [judge.name for judge in pick_judges([written], SHIPPED)] == ["sim-opus-4.7"]


def test_a_judge_may_be_called_by_its_other_name_and_is_still_picked_once() -> None:
    assert aliases_of("opus-4.7") == ["claude-opus-4.7"]
    picked = pick_judges(["claude-opus-4.7", "opus-4.7"], SHIPPED)
    assert [judge.name for judge in picked] == ["opus-4.7"]


def test_a_spelling_that_may_mean_two_judges_means_none() -> None:
    known = {name: OWN.model_copy(update={"name": name}) for name in ("my-rag", "my.rag")}
    assert resolve_judge("my.rag", known) == "my.rag"
    assert resolve_judge("my rag", known) is None


def test_every_other_name_stands_for_a_judge_and_is_none_itself() -> None:
    aliases = [alias for name in SHIPPED for alias in aliases_of(name)]
    assert aliases
    assert not set(aliases) & set(SHIPPED)
    assert all(resolve_judge(alias, SHIPPED) in SHIPPED for alias in aliases)


def test_another_name_of_a_judge_that_is_not_known_is_unknown() -> None:
    assert resolve_judge("claude-opus-4.7", {"mine": OWN}) is None


def test_an_unknown_judge_is_answered_with_the_near_ones() -> None:
    [problem] = problems(["sim-grok-4.4"])
    assert problem.startswith("there is no judge 'sim-grok-4.4'; did you mean sim-grok-4.3")
    assert "`evalq judges` lists them" in problem


def test_a_name_like_no_other_gets_no_guess() -> None:
    [problem] = problems(["xyzzy"])
    assert "did you mean" not in problem


def test_every_unknown_judge_is_named_at_once() -> None:
    assert len(problems(["x", "bm25", "y"])) == 2


def test_naming_no_judge_is_a_mistake() -> None:
    assert problems([]) == ["no judge is named; give --judges a,b or default_judges in the task"]
