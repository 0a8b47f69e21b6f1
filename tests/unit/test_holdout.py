import pytest

from evalq.errors import Refused
from evalq.holdout import is_holdout, refuse_holdout


@pytest.mark.parametrize("name", ["holdout-99", "holdout-30-sample", "holdout-"])
def test_a_holdout_is_refused_with_what_to_type_instead(name: str) -> None:
    assert is_holdout(name)
    with pytest.raises(Refused, match=f"{name}.* is a frozen holdout.*--eval-set dev-93"):
        refuse_holdout(name)


@pytest.mark.parametrize("name", ["dev-93", "personal-93", "my-holdout-9"])
def test_any_other_set_may_be_looked_at(name: str) -> None:
    assert not is_holdout(name)
    refuse_holdout(name)


def test_a_refusal_ends_with_exit_code_five() -> None:
    with pytest.raises(Refused) as refusal:
        refuse_holdout("holdout-99")
    assert refusal.value.exit_code == 5
