"""Frozen evalsets: a holdout is for the final decision, not for looking."""

from evalq.errors import Refused


def is_holdout(eval_set_name: str) -> bool:
    """True for every set named `holdout-…`."""
    return eval_set_name.startswith("holdout-")


def refuse_holdout(eval_set_name: str) -> None:
    """Refuse to spend a look at a frozen set on an ordinary bake-off."""
    if is_holdout(eval_set_name):
        raise Refused(
            f"{eval_set_name!r} is a frozen holdout: each look at it makes it worth less; "
            "iterate on a dev set, for instance --eval-set dev-93"
        )
