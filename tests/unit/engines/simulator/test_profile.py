"""What a profile may say, and what it is told when it says something else."""

import pytest
from pydantic import ValidationError

from evalq.engines.simulator.profile import BILLED, KINDS, Fault, Profile, SimulatorConfig, parse_fault


def test_every_kind_of_fault_can_be_named() -> None:
    assert [parse_fault(kind).kind for kind in KINDS] == list(KINDS)  # type: ignore[union-attr]
    assert set(KINDS) > BILLED


def test_ok_is_no_fault() -> None:
    assert parse_fault("ok") is None


@pytest.mark.parametrize(
    ("name", "form", "seconds"),
    [
        ("429", "seconds", 1.0),
        ("429:seconds=3", "seconds", 3.0),
        ("429:date=3", "date", 3.0),
        ("429:ms=1500", "ms", 1.5),
        ("429:none", "", 0.0),
    ],
)
def test_a_429_says_when_to_come_back(name: str, form: str, seconds: float) -> None:
    assert parse_fault(name) == Fault(name, "429", form, seconds)


@pytest.mark.parametrize("name", ["", "501", "429:soon", "429:seconds=", "429:seconds=-1", "500:seconds=3"])
def test_a_fault_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"write|known"):
        parse_fault(name)


def test_a_number_is_a_fixed_latency() -> None:
    profile = Profile.model_validate({"latency_ms": 200})
    assert (profile.latency_ms.p50, profile.latency_ms.p95) == (200, 200)


def test_a_schedule_may_be_written_in_numbers() -> None:
    assert Profile.model_validate({"schedule": [500, "ok"]}).schedule == ["500", "ok"]


@pytest.mark.parametrize(
    "written",
    [
        {"latency_ms": "fast"},
        {"latency_ms": {"p50": 3}},
        {"faults": {"500": 0.6, "503": 0.6}},
        {"faults": {"500": 0.1}, "schedule": ["500"]},
        {"faults": {"nonsense": 0.1}},
        {"schedule": [True]},
        {"answer": "guess"},
        {"rpm": 0},
        {"unknown": 1},
    ],
)
def test_a_wrong_profile_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Profile.model_validate(written)


def test_a_config_survives_its_way_to_the_child_process() -> None:
    config = SimulatorConfig.model_validate(
        {
            "profiles": {"m": {"latency_ms": {"p50": 3, "p95": 9}, "faults": {"429:ms=5": 0.5}}},
            "cases": [{"task": "knowledge_audit", "eval_set": "dev-93"}],
        }
    )
    assert SimulatorConfig.model_validate_json(config.model_dump_json()) == config
