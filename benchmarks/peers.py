"""The contenders: evalq and its peers, each installed on demand in its own folder, given the same work."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from benchmarks.echo_project import (
    MAX_TOKENS,
    SYSTEM_PROMPT,
    bake_off_arguments,
    clean_environment,
    make_question,
    make_token,
    write_project,
)
from benchmarks.measurement import Workload
from benchmarks.tree_meter import NamePart, name_evalq_part, name_peer_part

PROGRAMS = Path(__file__).parent / "peer_programs"
_INSTALL_S = 900


class InstallFailed(Exception):
    """A peer could not be installed; the message says why."""


@dataclass(frozen=True)
class Command:
    """What a contender is started with."""

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contender:
    """A tool that can do a workload: `write` puts its files into a folder and returns its command."""

    name: str
    version: str
    write: Callable[[Path, Workload, str], Command]
    name_part: NamePart = name_peer_part


def default_cache() -> Path:
    """Where peers are installed unless told otherwise: in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evalq-bench"


def find_evalq(cache: Path, *, processes: int = 2) -> Contender:
    """This very evalq, with its embedded engines."""
    del cache

    def write(folder: Path, work: Workload, url: str) -> Command:
        fleet = {"processes": processes}
        write_project(folder, url, cases=work.cases, judges=work.judges, slots=work.at_once, fleet=fleet)
        return Command([sys.executable, "-m", "evalq", *bake_off_arguments(work.judges)])

    return Contender("evalq", version("evalq"), write, name_evalq_part)


def find_asyncio(cache: Path) -> Contender:
    """A loop over bare sockets: what the machine allows."""
    del cache

    def write(folder: Path, work: Workload, url: str) -> Command:
        questions = write_questions(folder, work)
        program = str(PROGRAMS / "bare_asyncio.py")
        return Command([sys.executable, "-P", program, url, str(questions), str(work.at_once)])

    return Contender("asyncio", "bare sockets", write)


def install_openai(cache: Path) -> Contender:
    """A loop over OpenAI's own client."""
    python = _install_python(cache / "openai", "openai")

    def write(folder: Path, work: Workload, url: str) -> Command:
        questions = write_questions(folder, work)
        program = str(PROGRAMS / "openai_loop.py")
        return Command([str(python), "-P", program, url, str(questions), str(work.at_once)])

    return Contender("openai", _python_version(python, "openai"), write)


def install_inspect(cache: Path) -> Contender:
    """The task on inspect_ai, all models at once; its connections are counted per model."""
    python = _install_python(cache / "inspect_ai", "inspect_ai", "openai")

    def write(folder: Path, work: Workload, url: str) -> Command:
        models = ",".join(f"openai-api/mock/m{judge}" for judge in range(work.judges))
        limits = ["--max-connections", str(-(-work.at_once // work.judges)), "--max-tasks", str(work.judges)]
        quiet = ["--display", "none", "--log-dir", str(folder / "logs")]
        # inspect takes only tasks below its working folder.
        shutil.copy(PROGRAMS / "inspect_echo.py", folder)
        argv = [str(python.with_name("inspect")), "eval", "inspect_echo.py", "--model", models]
        env = {
            "MOCK_API_KEY": "none",
            "MOCK_BASE_URL": f"{url}/v1",
            "ECHO_CASES": str(_write_cases(folder, work)),
            "ECHO_SYSTEM_PROMPT": SYSTEM_PROMPT,
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        return Command([*argv, *limits, *quiet, "--max-tokens", str(MAX_TOKENS)], env)

    return Contender("inspect_ai", _python_version(python, "inspect_ai"), write)


def install_promptfoo(cache: Path) -> Contender:
    """The task as a configuration of promptfoo."""
    place = cache / "promptfoo"
    program = place / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--cache", str(place / "npm-cache")]
        _run(["npm", "install", "--prefix", str(place), *quiet, "promptfoo"])
    package = json.loads((place / "node_modules" / "promptfoo" / "package.json").read_text("utf-8"))
    return Contender("promptfoo", package["version"], _write_promptfoo_for(program))


def _write_promptfoo_for(program: Path) -> Callable[[Path, Workload, str], Command]:
    def write(folder: Path, work: Workload, url: str) -> Command:
        config = folder / "promptfooconfig.json"
        config.write_text(json.dumps(promptfoo_config(work, url)))
        quiet = ["--no-cache", "--no-progress-bar", "--max-concurrency", str(work.at_once)]
        env = {
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            "PROMPTFOO_DISABLE_SHARING": "1",
            "PROMPTFOO_CONFIG_DIR": str(folder / "state"),
        }
        return Command([str(program), "eval", "--config", str(config), *quiet], env)

    return write


def promptfoo_config(work: Workload, url: str) -> dict[str, object]:
    """The workload in promptfoo's words."""
    settings = {"apiBaseUrl": f"{url}/v1", "apiKey": "none", "max_tokens": MAX_TOKENS}
    # `dump` writes the question as a JSON string: it holds quotation marks.
    user = '{"role": "user", "content": {{q | dump}}}'
    system = json.dumps({"role": "system", "content": SYSTEM_PROMPT})
    tests = []
    for case in range(work.cases):
        check = {"type": "contains", "value": make_token(case)}
        tests.append({"vars": {"q": make_question(case)}, "assert": [check]})
    return {
        "prompts": [f"[{system}, {user}]"],
        "providers": [{"id": f"openai:chat:m{judge}", "config": settings} for judge in range(work.judges)],
        "tests": tests,
        "evaluateOptions": {"maxConcurrency": work.at_once, "cache": False, "showProgressBar": False},
    }


CONTENDERS: dict[str, Callable[[Path], Contender]] = {
    "evalq": find_evalq,
    "asyncio": find_asyncio,
    "openai": install_openai,
    "promptfoo": install_promptfoo,
    "inspect_ai": install_inspect,
}


def write_questions(folder: Path, work: Workload) -> Path:
    """Every question of a workload as the body of its request, a line each."""
    lines = []
    for case in range(work.cases):
        user = {"role": "user", "content": make_question(case)}
        messages = [{"role": "system", "content": SYSTEM_PROMPT}, user]
        for judge in range(work.judges):
            request = {"model": f"m{judge}", "messages": messages, "max_tokens": MAX_TOKENS}
            lines.append(json.dumps({"request": request, "expected": make_token(case)}))
    file = folder / "questions.jsonl"
    file.write_text("\n".join(lines))
    return file


def _write_cases(folder: Path, work: Workload) -> Path:
    lines = []
    for case in range(work.cases):
        lines.append(
            json.dumps({"id": f"c{case}", "question": make_question(case), "expected": make_token(case)})
        )
    file = folder / "cases.jsonl"
    file.write_text("\n".join(lines))
    return file


def _install_python(place: Path, *packages: str) -> Path:
    """An interpreter of its own that has the packages; installed once."""
    python, done = place / "bin" / "python", place / "installed"
    if not done.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        done.touch()
    return python


def install_program(cache: Path, package: str) -> Path:
    """The program of that name from the package of that name."""
    return _install_python(cache / package, package).with_name(package)


def _python_version(python: Path, package: str) -> str:
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    return _run([str(python), "-c", asked]).strip()


def _run(argv: list[str]) -> str:
    """What a command prints; InstallFailed with its last words if it fails."""
    try:
        done = subprocess.run(
            argv, env=clean_environment(), capture_output=True, text=True, timeout=_INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise InstallFailed(str(exc)) from exc
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise InstallFailed(f"{Path(argv[0]).name} ended with code {done.returncode}: {' '.join(words[-3:])}")
    return done.stdout
