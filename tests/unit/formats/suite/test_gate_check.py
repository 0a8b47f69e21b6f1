"""What a gate demands: by hand, by its file, by its context, by the suite."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.suite.gate_check import collect_demands, parse_thresholds, samples_for
from evalq.formats.suite.gates import GateForm
from evalq.formats.suite.read import Suite

ASKED = {"id": "a", "input": "x", "expected": "y"}


def form(**fields: object) -> GateForm:
    return GateForm("g", Path("s.yaml"), **{"thresholds": {}, **fields})  # type: ignore[arg-type]


def test_thresholds_of_the_command_override_all_others(make_suite: Callable[..., Suite]) -> None:
    suite = make_suite(ASKED, thresholds={"metrics": {"pass_at_1": 0.1, "pass_rate": 0.2}})
    gate = form(thresholds={"pass_at_1": 0.3, "pass_hat_3": 0.4}, context="development")
    found = collect_demands(gate, suite.thresholds, given={"pass_hat_3": 0.5})
    assert {one.key: one.threshold for one in found} == {
        "pass_at_1": 0.3,
        "pass_at_3": 0.90,
        "pass_hat_3": 0.5,
        "pass_rate": 0.2,
    }


def test_a_context_of_the_command_overrides_the_files(make_suite: Callable[..., Suite]) -> None:
    suite = make_suite(ASKED, thresholds={"k": 5, "metrics": {"pass_at_1": 0.1}})
    gate = form(thresholds={"pass_at_1": 0.3, "pass_hat_5": 0.1})
    found = collect_demands(gate, suite.thresholds, context="production")
    assert {one.label: one.threshold for one in found} == {"pass@1": 0.9, "pass@5": 0.99, "pass^5": 0.8}
    assert samples_for(found) == 5


def test_metrics_without_a_threshold_are_shown() -> None:
    found = collect_demands(form(thresholds={"pass_rate": 0.9}, shown_metrics=("pass@1", "pass^3")), None)
    assert [(one.label, one.threshold) for one in found] == [
        ("pass_rate", 0.9),
        ("pass@1", None),
        ("pass^3", None),
    ]
    assert samples_for(found, 2) == 3


def test_a_gate_that_demands_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is demanded; give --context production"):
        collect_demands(form(shown_metrics=("pass@1",)), None)


@pytest.mark.parametrize("pair", ["pass_at_1", "pass_at_1=x", "accuracy=0.9", "pass@1=1.5"])
def test_a_threshold_of_the_command_is_a_metric_and_a_share(pair: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_thresholds([pair])
