"""The guard of frozen sets: who may look at a holdout, and what a refusal says."""

from collections.abc import Sequence
from typing import Literal

from evalq.errors import InputError, Problem, Refused

Purpose = Literal["final-decision", "drift_check"]
"""Why somebody may look: the run type that such a bake-off has."""


def is_holdout(eval_set_name: str) -> bool:
    """True for every set named `holdout-…`; the file system may not tell cases apart, so neither do we."""
    return eval_set_name.lower().startswith("holdout-")


def check_look(
    eval_set: str, *, task: str, judges: Sequence[str], purpose: Purpose | None, other_sets: Sequence[str]
) -> None:
    """Refuse a look nobody decided on, and a final decision on a set that anybody may look at."""
    if is_holdout(eval_set):
        if purpose is None:
            raise Refused(_refusal(eval_set, task, judges, other_sets))
    elif purpose == "final-decision":
        raise InputError(
            Problem(
                f"{eval_set!r} is no holdout, so there is nothing final about it",
                "leave out --final-decision, or name a set called holdout-…",
            )
        )


def _refusal(eval_set: str, task: str, judges: Sequence[str], other_sets: Sequence[str]) -> str:
    dev = next((name for name in other_sets if not is_holdout(name)), None)
    iterate = f", for instance --eval-set {dev}" if dev else ""
    chosen = f" --judges {','.join(judges)}" if judges else ""
    return (
        f"{eval_set!r} is a frozen holdout: each look at it makes it worth less; "
        f"iterate on a dev set{iterate}\n"
        f"for the final decision, the same command with --final-decision:\n"
        f"  evalq bake-off --task {task} --eval-set {eval_set}{chosen} --final-decision\n"
        f"it records the look for good, in Postgres and in evalsets/{task}/holdout-runs.log: before the "
        f"first call the time, the set's sha256, the judges and the commit, at the end each judge's result\n"
        f"next  evalq holdout log --task {task}"
    )
