"""The shape of the tree: entries, files, lines, layers, the walk of one job; with `--map`, every module."""

import ast
import contextlib
import io
import json
import os
import statistics
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("evalq", "workers")
PATIENCE_S = 60

TASK = """\
name: capitals
system_prompt: Answer with one word.
user_template: "What is the capital of {country}?"
scoring: {mode: strict_substring, pass_rule: exact_match}
max_tokens: 16
"""
CASES = "cases:\n  - {id: france, inputs: {country: France}, expected: {answer: Paris}}\n"


class Walk:
    """Every module of ours in which a function is called, in the order of the first call."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self._names: dict[str, str | None] = {}

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record all threads while the block runs."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, arg: object) -> None:
        del arg
        code = frame.f_code
        if event == "call" and code.co_flags & CO_OPTIMIZED:
            name = self._module(code.co_filename)
            if name is not None and name not in self.modules and not _is_import(frame):
                self.modules[name] = None

    def _module(self, file: str) -> str | None:
        if file not in self._names:
            path = Path(file)
            is_ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES
            self._names[file] = path.relative_to(ROOT).as_posix() if is_ours else None
        return self._names[file]

    def rooms(self) -> dict[str, list[str]]:
        """The modules by room; the files at the top of evalq/ are one, its vocabulary."""
        rooms: dict[str, list[str]] = {}
        for name in self.modules:
            parts = name.split("/")
            room = parts[0] if parts[0] == "workers" else parts[1] if len(parts) > 2 else "vocabulary"
            rooms.setdefault(room, []).append(name)
        return rooms


def _is_import(frame: FrameType | None) -> bool:
    """Whether a call is made while a module is imported, which is not a step of a job."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and Path(frame.f_code.co_filename).is_relative_to(ROOT):
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


def walk_of_a_job() -> Walk:
    """Run a bake-off of one job in this process: command, worker and table, on real engines."""
    from evalq.engines.embedded import attach
    from evalq.engines.simulator.process import running_simulator

    walk = Walk()
    with (
        tempfile.TemporaryDirectory(prefix="evalq-house-") as folder,
        attach(Path(folder) / "data") as engines,
        running_simulator() as simulator,
        contextlib.chdir(folder),
    ):
        _write_project(Path(folder), simulator.url)
        os.environ |= {
            "EVALQ_DATABASE_URL": engines.database_url,
            "EVALQ_BROKER_URL": engines.broker_url,
            "EVALQ_HOUSE_KEY": "sk-not-a-key",
        }
        evalq("schema", "apply")
        worker = threading.Thread(target=_work_off, args=[engines.database_url], daemon=True)
        with walk.recorded():
            worker.start()
            table = evalq("bake-off", "--task", "capitals", "--eval-set", "one", "--judges", "model")
            worker.join()
    if "model" not in table:
        raise SystemExit(f"the bake-off has no table: {table}")
    return walk


def _write_project(folder: Path, url: str) -> None:
    judge = {
        "provider": "openai",
        "model": "sim-sonnet-4.6",
        "base_url": f"{url}/v1",
        "api_key_env": "EVALQ_HOUSE_KEY",
        "price": {"input": 1, "output": 5},
    }
    (folder / "tasks").mkdir()
    (folder / "evalsets" / "capitals").mkdir(parents=True)
    (folder / "evalq.yaml").write_text(json.dumps({"judges": {"model": judge}}))
    (folder / "tasks" / "capitals.yaml").write_text(TASK)
    (folder / "evalsets" / "capitals" / "one.yaml").write_text(CASES)


def _work_off(database_url: str) -> None:
    """Wait for the only job, then run it and its conclusion as a worker would."""
    import psycopg

    from workers import jobs

    job = None
    deadline = time.monotonic() + PATIENCE_S
    with psycopg.connect(database_url, autocommit=True) as connection:
        while job is None and time.monotonic() < deadline:
            job = connection.execute("SELECT id, run_id FROM jobs WHERE state = 'queued'").fetchone()
            time.sleep(0.05)
    if job is not None:
        jobs.run_case(job[0])
        jobs.conclude(job[1])


def evalq(*arguments: str) -> str:
    """What a command prints."""
    from evalq.cli.main import run

    printed = io.StringIO()
    streams = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with streams[0], streams[1], contextlib.suppress(SystemExit):
        run(list(arguments))
    return printed.getvalue()


def layers() -> list[Any]:
    """The layers of the first contract of import-linter."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return list(contracts[0]["layers"])


def source_files() -> list[Path]:
    """Every module of ours."""
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]


def module_map() -> list[str]:
    """Every module with the first sentence of its docstring."""
    lines = []
    for path in source_files():
        sentence = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0]
        lines.append(f"- `{path.relative_to(ROOT).as_posix()}`: {sentence}")
    return lines


def main() -> None:
    """Print the figures, or the map."""
    if "--map" in sys.argv:
        print("\n".join(module_map()))
        return
    files = source_files()
    modules = [path.read_text("utf-8").count("\n") for path in files if path.name != "__init__.py"]
    entries = [path for path in (ROOT / "evalq").iterdir() if path.name != "__pycache__"]
    walk = walk_of_a_job()
    rooms = walk.rooms()
    print(f"entries in evalq/: {len(entries)}")
    print(f"layers: {len(layers()) - 1} and the vocabulary")
    print(f"files: {len(files)}, of which modules: {len(modules)}, lines: {sum(modules)}")
    print(f"lines a module: median {statistics.median(modules):g}, longest {max(modules)}")
    print(f"the walk of one job: {len(walk.modules)} modules in {len(rooms)} rooms")
    for room, names in rooms.items():
        print(f"  {room} ({len(names)}): {', '.join(Path(name).stem for name in names)}")


if __name__ == "__main__":
    main()
