"""Who may look at a frozen set."""

import pytest

from evalq.bakeoff.holdout.guard import check_look, is_holdout
from evalq.errors import InputError, Refused

HOLDOUTS = ["holdout-99", "holdout-30-sample", "holdout-", "HOLDOUT-99"]
OTHERS = ["dev-93", "personal-93", "my-holdout-9", "holdout"]


def look(eval_set: str, purpose: object = None, **about: object) -> None:
    known = {"task": "audit", "judges": ["a", "b"], "other_sets": ["holdout-1", "dev-7"]}
    check_look(eval_set, purpose=purpose, **{**known, **about})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HOLDOUTS)
def test_a_holdout_is_refused_with_exit_code_five(name: str) -> None:
    assert is_holdout(name)
    with pytest.raises(Refused, match="is a frozen holdout") as refusal:
        look(name)
    assert refusal.value.exit_code == 5


def test_a_refusal_says_what_to_type_and_what_that_records() -> None:
    with pytest.raises(Refused) as refusal:
        look("holdout-99")
    said = str(refusal.value)
    assert "iterate on a dev set, for instance --eval-set dev-7\n" in said
    assert "  evalq bake-off --task audit --eval-set holdout-99 --judges a,b --final-decision\n" in said
    assert "in Postgres and in evalsets/audit/holdout-runs.log" in said
    assert "the set's sha256, the judges and the commit" in said
    assert said.endswith("next  evalq holdout log --task audit")


def test_a_refusal_names_no_set_and_no_judge_where_there_is_none() -> None:
    with pytest.raises(Refused) as refusal:
        look("holdout-99", judges=[], other_sets=["holdout-1"])
    assert "iterate on a dev set\n" in str(refusal.value)
    assert "--eval-set holdout-99 --final-decision" in str(refusal.value)


@pytest.mark.parametrize("name", HOLDOUTS)
def test_a_final_decision_may_look(name: str) -> None:
    look(name, "final-decision")


@pytest.mark.parametrize("name", ["holdout-30-sample", "Holdout-x-SAMPLE"])
def test_a_drift_check_may_look_at_a_sample(name: str) -> None:
    look(name, "drift_check")


@pytest.mark.parametrize("name", ["holdout-99", "HOLDOUT-99", "holdout-sample-99", "holdout-99-samples"])
def test_a_drift_check_of_a_whole_holdout_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"each drift check would be a look at it.*--eval-set holdout-9-sample"):
        look(name, "drift_check", other_sets=["dev-1", "holdout-9-sample"])


@pytest.mark.parametrize("purpose", [None, "drift_check"])
@pytest.mark.parametrize("name", OTHERS)
def test_any_other_set_may_be_looked_at(name: str, purpose: str | None) -> None:
    assert not is_holdout(name)
    look(name, purpose)


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_final_about_a_set_that_is_no_holdout(name: str) -> None:
    with pytest.raises(InputError, match=r"is not a holdout.*leave out --final-decision"):
        look(name, "final-decision")
