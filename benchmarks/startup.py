"""How long a user waits: `evalq --help`, and the timeline of a small bake-off from command to prompt."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.echo_project import clean_environment, write_project
from benchmarks.machine import measure_speed
from evalq.engines.simulator.process import Simulator, running_simulator

HELP_RUNS = 7
CALLS = 12
BAKE_OFF = ("bake-off", "--task", "echo", "--eval-set", "dev", "--judges", "judge-0")
MOMENTS = ("first call", "last answer", "table", "prompt", "quiet")


@dataclass(frozen=True)
class Timeline:
    """Seconds from the command to each moment; 0 for calls where no simulator counts them.

    `quiet` is when the last process that the command started has ended.
    """

    first_call: float
    last_answer: float
    table: float
    prompt: float
    quiet: float

    @property
    def seconds(self) -> tuple[float, ...]:
        """In the order of MOMENTS."""
        return (self.first_call, self.last_answer, self.table, self.prompt, self.quiet)


@dataclass(frozen=True)
class Scene:
    """Where the commands are given: a project, an environment, and a provider that notes its calls."""

    folder: Path
    env: Mapping[str, str]
    simulator: Simulator

    def run(self, *arguments: str) -> None:
        """Give a command whose time does not matter."""
        argv = [sys.executable, "-m", "evalq", *arguments]
        subprocess.run(argv, cwd=self.folder, env=self.env, capture_output=True, check=True)

    def forget_data(self) -> None:
        """Start from an empty data folder again."""
        shutil.rmtree(self.folder / ".evalq", ignore_errors=True)

    def time(self, *arguments: str, waits: bool = True) -> Timeline:
        """Give a command and note its moments; `waits` for the end of all it started."""
        before = self.simulator.ledger()["requests"]
        started = time.monotonic()
        argv = [sys.executable, "-m", "evalq", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(argv, cwd=self.folder, env=self.env, **pipes) as process:
            assert process.stdout
            process.stdout.read(1)
            table = time.monotonic() - started
            process.stdout.read()
            process.wait()
            prompt = time.monotonic() - started
        if waits:
            self.wait_until_quiet()
        quiet = time.monotonic() - started
        calls = [call["at"] - started for call in self.simulator.calls(before)] or [0.0]
        return Timeline(min(calls), max(calls), table, prompt, quiet)

    def wait_until_quiet(self) -> None:
        """Wait until nothing runs in the project's folder."""
        while any(_is_inside(process, self.folder) for process in psutil.process_iter()):
            time.sleep(0.02)


def _is_inside(process: psutil.Process, folder: Path) -> bool:
    try:
        words = [process.cwd(), *process.cmdline()]
    except (psutil.Error, OSError):
        return False
    return any(str(folder) in word for word in words)


@contextmanager
def new_scene() -> Iterator[Scene]:
    """A project of its own, with a cache folder of its own."""
    with tempfile.TemporaryDirectory() as name, running_simulator() as simulator:
        folder = Path(name) / "project"
        folder.mkdir()
        write_project(folder, simulator.url, cases=CALLS, judges=1, slots=128)
        env = clean_environment() | {"XDG_CACHE_HOME": str(Path(name) / "cache")}
        yield Scene(folder, env, simulator)


def time_all(scene: Scene) -> Iterator[tuple[str, Timeline]]:
    """Every way a bake-off can start, each as its name and timeline."""
    yield "first ever", scene.time(*BAKE_OFF)
    scene.forget_data()
    yield "cold", scene.time(*BAKE_OFF)
    yield "second", scene.time(*BAKE_OFF)
    scene.run("up")
    yield "warm", scene.time(*BAKE_OFF, waits=False)
    scene.run("down")
    scene.wait_until_quiet()
    scene.forget_data()
    yield "demo", scene.time("demo")


def seconds(argv: Sequence[str]) -> float:
    """Wall time of one command."""
    started = time.perf_counter()
    subprocess.run(argv, env=clean_environment(), capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    """Print the help's time and every timeline, as ratios too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="Every scene so often.")
    rounds = parser.parse_args().rounds
    bare = min(seconds([sys.executable, "-c", "pass"]) for _ in range(HELP_RUNS))
    shown = min(seconds([sys.executable, "-m", "evalq", "--help"]) for _ in range(HELP_RUNS))
    print(f"a bare Python: {bare:.3f} s; a fixed loop: {measure_speed():.3f} s")
    print(f"evalq --help: {shown:.3f} s, {shown / bare:.1f} × a bare Python, best of {HELP_RUNS}")
    print(f"\n{CALLS} calls, seconds from the command (× a bare Python)")
    print(f"{'':<12}" + "".join(f"{moment:>16}" for moment in MOMENTS))
    for _ in range(rounds):
        with new_scene() as scene:
            for name, timeline in time_all(scene):
                cells = [f"{moment:.2f} ({moment / bare:.0f} ×)" for moment in timeline.seconds]
                print(f"{name:<12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
