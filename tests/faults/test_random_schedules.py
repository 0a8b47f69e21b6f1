"""Faults in random order, by a seed that is printed and can be given again: --faults-seed N."""

import time
from collections.abc import Callable
from random import Random

import pytest
from fault_oracle import Tally
from fault_scene import Scene
from fault_schedule import perform, schedule

NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

REPEATS = 10
"""A call perhaps billed may be made again so often here: by default once, then its case ends as errored."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        given = metafunc.config.getoption("--faults-seed")
        is_long = metafunc.config.getoption("--faults-long")
        metafunc.parametrize("seed", [given] if given is not None else range(20 if is_long else 2))


def test_any_order_of_faults_keeps_every_promise(
    seed: int, is_long: bool, new_scene: NewScene, judged: Judged
) -> None:
    print(f"seed {seed}: replay with --faults-seed {seed}")
    rng, n_cases = Random(seed), 100 if is_long else 40
    scene = new_scene(n_cases, latency_ms=120, lease_s=5.0)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(n_cases), ambiguous_repeats=REPEATS)
    acts = schedule(rng)
    for _ in range(8 if is_long else 4):
        wanted = max(0, scene.n_outcomes()) + rng.randrange(1, n_cases // 4)
        scene.wait(lambda: scene.n_outcomes() >= min(wanted, 2 * n_cases), reviving=True)  # noqa: B023
        if scene.state(bakeoff_id) == "running":
            perform(scene, next(acts), rng)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="random schedules", same_as=n_cases)


def test_a_large_bake_off_survives_a_kill_every_two_seconds(
    is_long: bool, new_scene: NewScene, judged: Judged
) -> None:
    if not is_long:
        pytest.skip("5,000 jobs belong to the long form: make faults")
    rng, n_cases = Random(5000), 2500
    scene = new_scene(n_cases, latency_ms=150, slots=32, lease_s=5.0)
    scene.start("w1", "w2")
    bakeoff_id = scene.bake(scene.plan(n_cases), ambiguous_repeats=REPEATS, cap_usd=50)
    acts, done = schedule(rng), 0
    began = time.monotonic()
    while scene.state(bakeoff_id) in ("running", "away") and done < 250:
        perform(scene, next(acts), rng)
        done += 1
        time.sleep(max(0.0, began + 2 * done - time.monotonic()))
    assert scene.wait_for_end(bakeoff_id, timeout_s=300) == "concluded"
    judged(scene, bakeoff_id, fault=f"5,000 jobs, {done} faults, one every 2 s", same_as=n_cases)
