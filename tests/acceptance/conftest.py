"""The program as its users meet it: a project folder, the command line, real workers, real engines."""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from forks import Forked, Forks
from patience import PATIENCE_S

from evalq.engines.embedded import attach, stop_engines
from evalq.engines.processes import wait_until

SETTINGS = """\
fleet: {processes: 1, slots: 16}
judges:
  good:
    {provider: simulated, model: good, accuracy: 0.9, time_scale: 0, price: {input: 1, output: 5}}
  poor:
    {provider: simulated, model: poor, accuracy: 0.4, time_scale: 0, price: {input: 1, output: 5}}
  mute:
    {provider: simulated, model: mute, misbehaviour: {empty: 1}, time_scale: 0, price: {input: 1, output: 5}}
  slow:
    {provider: simulated, model: slow, latency_ms: {p50: 300, p95: 400}, price: {input: 1, output: 5}}
"""

TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: "What is the capital of {country}?"
scoring:
  mode: strict_substring
  pass_rule: exact_match
  judge_model: sim-grader
  rubric: "Expected: {expected}. Answer: {answer}. Reply with VALID or INVALID."
max_tokens: 16
"""


@dataclass
class Command:
    """A command on its way, its output in files."""

    process: Forked
    stdout: Path
    stderr: Path

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def says(self, pattern: str) -> bool:
        """Wait until its standard error has the pattern; False when it ends without."""

        def has_said() -> bool:
            return bool(re.search(pattern, self.stderr.read_text("utf-8")))

        wait_until(lambda: has_said() or self.process.poll() is not None, timeout_s=PATIENCE_S)
        return has_said()

    def end(self) -> int:
        """Wait for its exit code."""
        code = self.process.wait(PATIENCE_S)
        assert code is not None, f"it has not ended: {self.stderr.read_text('utf-8')[-500:]}"
        return code


@dataclass
class Project:
    """A user's folder and home, and the commands given in it."""

    folder: Path
    forks: Forks
    settings: Mapping[str, str] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)

    @property
    def data_dir(self) -> Path:
        return self.folder / ".evalq"

    @property
    def environ(self) -> dict[str, str]:
        """Ours without anything that is evalq's, another home, and a cache that the projects share."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}
        places = {"HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder.parent / "cache")}
        return {**inherited, **places, "COLUMNS": "100", **self.settings}

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def write_cases(self, name: str, n_cases: int) -> None:
        cases = [
            {
                "id": f"c{i:02}",
                "inputs": {"country": f"country {i}"},
                "expected": {"answer": f"capital {i}"},
                "stratum": {"half": "even" if i % 2 else "odd"},
            }
            for i in range(n_cases)
        ]
        self.write(f"evalsets/capitals/{name}.json", json.dumps({"cases": cases}))

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Give a command and wait for its end."""
        return self.python("-m", "evalq", *arguments)

    def python(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self.forks.run(arguments, cwd=self.folder, env=self.environ, timeout_s=PATIENCE_S)

    def bake(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Give a command that ends with a JSON document and this exit code."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def start(self, *arguments: str) -> Command:
        """Give a command and leave it running."""
        paths = [self.folder / f"{name}-{len(self.commands)}" for name in ("stdout", "stderr")]
        with paths[0].open("wb") as stdout, paths[1].open("wb") as stderr:
            process = self.forks.start(
                ["-m", "evalq", *arguments], cwd=self.folder, env=self.environ, stdout=stdout, stderr=stderr
            )
        self.commands.append(Command(process, *paths))
        return self.commands[-1]

    def rows(self, statement: str, *params: object) -> list[tuple[Any, ...]]:
        """What the project's database holds."""
        with (
            attach(self.data_dir, want=("postgres",)) as engines,
            psycopg.connect(engines.database_url) as connection,
        ):
            return connection.execute(statement.encode(), params or None).fetchall()

    def processes(self, argument: str | None = None) -> list[psutil.Process]:
        """Whatever runs in the folder or names it; only those with the argument, if one is given."""
        return [process for process in psutil.process_iter() if self._is_ours(process, argument)]

    def _is_ours(self, process: psutil.Process, argument: str | None) -> bool:
        try:
            folder, arguments = process.cwd(), process.cmdline()
        except psutil.Error:  # gone meanwhile, or somebody else's
            return False
        if process.pid == os.getpid() or (argument is not None and argument not in arguments):
            return False
        return any(str(self.folder) in word for word in (folder, *arguments))

    def is_quiet(self) -> bool:
        """Wait until nothing of it runs."""
        return wait_until(lambda: not self.processes(), timeout_s=PATIENCE_S, every_s=0.2)

    def clear(self) -> None:
        """End whatever a failed test has left."""
        for command in self.commands:
            command.process.kill()
        if self.data_dir.exists():
            stop_engines(self.data_dir, force=True)
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()


@pytest.fixture(scope="module")
def new_project(tmp_path_factory: pytest.TempPathFactory, forks: Forks) -> Iterator[Callable[..., Project]]:
    """Makes project folders with a task, an evalset of twelve cases and judges that answer at once."""
    made: list[Project] = []

    def make(settings: str = SETTINGS, **environ: str) -> Project:
        project = Project(tmp_path_factory.mktemp("p"), forks, environ)
        made.append(project)
        project.write("evalq.yaml", settings)
        project.write("tasks/capitals.yaml", TASK)
        project.write_cases("dev-12", 12)
        return project

    yield make
    for project in made:
        project.clear()


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    """The project of one file of tests."""
    return new_project()


@pytest.fixture(scope="module")
def served(project: Project) -> Iterator[Project]:
    """The same project with its engines and fleet kept running."""
    up = project.run("up")
    assert up.returncode == 0, up.stderr
    yield project
    down = project.run("down")
    assert (down.returncode, down.stdout) == (0, "stopped\n"), down.stderr
    assert project.is_quiet()
