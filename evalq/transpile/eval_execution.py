"""Reads how tests are to be run: target, trials, budget, threshold."""

from typing import Any

from evalq.transpile.eval_file import Execution, Trials
from evalq.transpile.nodes import Node


def read_execution(owner: Node) -> Execution:
    """The execution block of a suite or a test; target, targets and threshold may stand beside it."""
    block = owner.get("execution") or Node(owner.located, owner.loc, {})
    fields = block.mapping()
    workers, cache = block.get("workers"), block.get("cache")
    fail_on_error = block.get("fail_on_error", "failOnError")
    skip_defaults = block.get("skip_defaults", "skipDefaults")
    return Execution(
        target=_target(block) or _target(owner),
        targets=_targets(block) or _targets(owner),
        workers=workers.count() if workers else None,
        skip_defaults=skip_defaults.flag() if skip_defaults else False,
        cache=cache.flag() if cache else None,
        trials=_trials(block) or _trials(owner),
        budget_usd=_number(block, "budget_usd", "budgetUsd"),
        fail_on_error=fail_on_error.flag() if fail_on_error else None,
        threshold=_share(block) if block.get("threshold") else _share(owner),
        fields=fields,
    )


def _target(place: Node) -> str | None:
    """The one target; one written as a mapping is left to `targets`."""
    target = place.get("target")
    return target.value if target and isinstance(target.value, str) else None


def _targets(place: Node) -> tuple[Any, ...]:
    targets = place.get("targets")
    return tuple(item.value for item in targets.items()) if targets else ()


def _trials(place: Node) -> Trials | None:
    block = place.get("trials", "repeat", "runs")
    if block is None:
        return None
    if not isinstance(block.value, dict):
        return Trials(block.count())
    count, strategy = block.get("count"), block.get("strategy")
    if count is None:
        block.refuse(f"{block.name} without a count", "write count: 3")
    return Trials(
        count.count(),
        strategy.text() if strategy else None,
        _number(block, "cost_limit_usd", "costLimitUsd"),
    )


def _share(place: Node) -> float | None:
    threshold = place.get("threshold")
    return threshold.share() if threshold else None


def _number(place: Node, *names: str) -> float | None:
    found = place.get(*names)
    return found.number() if found else None
