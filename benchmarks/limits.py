"""The limiter under load: how close it comes to a limit, named or not, and what a slow judge costs others."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.echo_project import TASK, clean_environment, write_cases
from benchmarks.unnamed_limits import measure
from evalq.engines.simulator.process import Simulator, running_simulator

SECONDS = 30
RPM, TPM = 600, 60_000
BURST_S = 1.0
CASES = 300
UNNAMED = [
    (60, 120, "retry-after"),
    (300, 60, "retry-after"),
    (3000, 40, "retry-after"),
    (300, 60, "retry-info"),
    (300, 60, "silent"),
]


def bake_off(folder: Path, judges: dict[str, Any], *, cases: int) -> "subprocess.Popen[bytes]":
    """Start one bake-off in a folder of its own."""
    folder.mkdir(parents=True)
    (folder / "tasks").mkdir()
    (folder / "tasks" / "echo.yaml").write_text(TASK)
    write_cases(folder, cases)
    settings = {"judges": judges, "fleet": {"processes": 2, "slots": 32}}
    (folder / "evalq.yaml").write_text(json.dumps(settings))
    argv = [
        sys.executable,
        "-m",
        "evalq",
        "bake-off",
        "--task",
        "echo",
        "--eval-set",
        "dev",
        "--display",
        "none",
    ]
    return subprocess.Popen(
        [*argv, "--judges", ",".join(judges)],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def judge(simulator: Simulator, model: str, **limits: Any) -> dict[str, Any]:
    """A judge of the OpenAI protocol."""
    price = {"input": 0, "output": 0}
    return {"provider": "openai", "model": model, "base_url": f"{simulator.url}/v1", "price": price, **limits}


def rate(folder: Path, simulator: Simulator, name: str, limit: dict[str, int], unit: str) -> None:
    """Half a minute at a limit: the most in any window of a second or more, and the share used."""
    a_second = next(iter(limit.values())) / 60
    cases = RPM * SECONDS // 60 if unit == "requests" else 3 * RPM * SECONDS // 60
    bake_off(folder, {name: judge(simulator, name, **limit)}, cases=cases).wait()
    made = [call for call in simulator.calls(0) if call["model"] == name]
    calls = sorted((call["at"], call["input_tokens"] if unit == "tokens" else 1) for call in made)
    over = max(_most_in(calls, window) - a_second * (window + BURST_S) for window in (1, 2, 5, 10, 20))
    took = calls[-1][0] - calls[0][0]
    used = sum(amount for _, amount in calls) / (a_second * (took + BURST_S))
    print(
        f"{', '.join(f'{key} {value}' for key, value in limit.items())}: {len(calls)} calls in {took:.1f} s,",
        end=" ",
    )
    print(f"{used:.0%} of the limit used, over limit and burst in any window: {max(over, 0):.1f} {unit}")


def _most_in(calls: list[tuple[float, int]], window: float) -> int:
    most = start = total = 0
    for at, amount in calls:
        total += amount
        while calls[start][0] <= at - window:
            total -= calls[start][1]
            start += 1
        most = max(most, total)
    return most


def company(folder: Path, simulator: Simulator) -> None:
    """Three judges without limits, alone and beside one of thirty requests a minute."""
    fast = {f"fast-{i}": judge(simulator, f"fast-{i}") for i in range(3)}
    profiles = {name: {"latency_ms": 200} for name in fast}
    simulator.set_profiles(profiles)
    bake_off(folder / "alone", fast, cases=CASES).wait()
    alone = _span(simulator, "fast")
    simulator.reset()
    simulator.set_profiles(profiles)
    process = bake_off(folder / "beside", {**fast, "slow": judge(simulator, "slow", rpm=30)}, cases=CASES)
    while sum(call["model"].startswith("fast") for call in simulator.calls(0)) < len(fast) * CASES:
        time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait()
    beside = _span(simulator, "fast")
    ratio = f"× {beside / alone:.2f}"
    print(f"three judges without limits: {alone:.1f} s alone, {beside:.1f} s beside one at 30 rpm: {ratio}")


def _span(simulator: Simulator, prefix: str) -> float:
    times = [call["at"] for call in simulator.calls(0) if call["model"].startswith(prefix)]
    return max(times) - min(times)


def unnamed(folder: Path) -> None:
    """Servers that name no limits: what is lost, what is used, how often they refuse."""
    for place, (rpm, seconds, form) in enumerate(UNNAMED):
        print(measure(folder / str(place), rpm=rpm, seconds=seconds, form=form), flush=True)


def main() -> None:
    """Print all of it; with the word `unnamed`, only servers that name no limits."""
    with tempfile.TemporaryDirectory() as name:
        unnamed(Path(name))
    if sys.argv[1:] == ["unnamed"]:
        return
    with tempfile.TemporaryDirectory() as name, running_simulator() as simulator:
        folder = Path(name)
        rate(folder / "rpm", simulator, "by-requests", {"rpm": RPM}, "requests")
        simulator.reset()
        rate(folder / "tpm", simulator, "by-tokens", {"input_tpm": TPM}, "tokens")
        simulator.reset()
        company(folder, simulator)


if __name__ == "__main__":
    main()
