"""The wheel is the whole program: installed elsewhere, away from the checkout, it finds all it ships."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("schema", "tasks", "evalsets")

Run = Callable[..., subprocess.CompletedProcess[str]]


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)  # type: ignore[call-overload]
    assert isinstance(done, subprocess.CompletedProcess)
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    quiet = ["--quiet", "--disable-pip-version-check"]
    built = run(sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "-w", folder, ROOT)
    assert built.returncode == 0, built.stderr
    [path] = folder.glob("evalq-*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has the wheel, and everything else from where these tests run."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    added = run(sys.executable, "-m", "pip", "--python", interpreter, "install", *quiet, wheel)
    assert added.returncode == 0, added.stderr
    # A path added this way is searched last, and its own .pth files (one makes evalq editable) are not read.
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return interpreter


@pytest.fixture
def evalq(python: Path, tmp_path: Path) -> Run:
    """Runs the installed program in an empty folder."""
    hidden = ("EVALQ_", "XDG_", "PYTHON", "VIRTUAL_ENV")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    home = tmp_path / "home"
    empty = tmp_path / "empty"
    home.mkdir()
    empty.mkdir()

    def call(*arguments: str, program: str = "evalq") -> subprocess.CompletedProcess[str]:
        return run(python.with_name(program), *arguments, cwd=empty, env={**environ, "HOME": str(home)})

    return call


def test_every_shipped_file_is_in_the_wheel(wheel: Path) -> None:
    files = [path for name in SHIPPED for path in (ROOT / name).rglob("*") if path.is_file()]
    wanted = {f"evalq/shipped/{path.relative_to(ROOT).as_posix()}" for path in files}
    wanted |= {
        "evalq/definitions/judges.yaml",
        "evalq/py.typed",
        "workers/jobs.py",
    }
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "evalq/store/queries").glob("*.sql")}
    pages = [path for name in ("templates", "static") for path in (ROOT / "evalq/web" / name).rglob("*")]
    wanted |= {path.relative_to(ROOT).as_posix() for path in pages if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - set(archive.namelist()) == set()


def test_nothing_but_the_program_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"evalq", "workers"}


def test_what_is_imported_is_the_wheel_and_not_the_checkout(evalq: Run, python: Path) -> None:
    done = evalq("-c", "import evalq, workers; print(evalq.__file__, workers.__file__)", program="python")
    places = [Path(place) for place in done.stdout.split()]
    assert len(places) == 2
    assert all(place.is_relative_to(python.parents[1]) for place in places)


def test_the_program_is_the_module(evalq: Run) -> None:
    helped = evalq("--help")
    assert helped.returncode == 0
    assert "bake-off" in helped.stdout
    assert evalq("-m", "evalq", "--help", program="python").stdout == helped.stdout


def test_the_shipped_judges_are_found(evalq: Run) -> None:
    listed = evalq("judges", "--json")
    assert listed.returncode == 0, listed.stderr
    assert {"sim-grok-4.3", "sim-grader", "bm25"} <= {judge["name"] for judge in json.loads(listed.stdout)}


@pytest.mark.parametrize(
    ("task", "eval_set", "judge"),
    [
        ("mail_classify", "dev-30", "sim-grok-4.3"),
        ("voice_tool_use", "dev-30", "sim-grok-4.3"),
        ("knowledge_audit", "dev-93", "sim-haiku-4.5"),
        ("personal_rag_retrieval", "personal-93", "bm25"),
    ],
)
def test_the_shipped_tasks_and_evalsets_are_found(evalq: Run, task: str, eval_set: str, judge: str) -> None:
    names = ["--task", task, "--eval-set", eval_set, "--judges", judge]
    done = evalq("bake-off", *names, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"{task} · {eval_set} · 1 judge:" in done.stderr


def test_a_first_task_of_ones_own_is_in_order(evalq: Run) -> None:
    assert evalq("init", "mine").returncode == 0
    checked = evalq("check")
    assert checked.returncode == 0, checked.stderr
    assert "1 task, 1 evalset" in checked.stdout
    assert evalq("bake-off", "--task", "mine", "--eval-set", "dev", "--dry-run").returncode == 0


def test_the_schema_is_found(evalq: Run) -> None:
    files = sorted((ROOT / "schema").glob("*.sql"))
    assert evalq("schema", "show").stdout == "".join(file.read_text("utf-8") + "\n" for file in files)


def test_the_queries_and_the_notes_are_found(evalq: Run) -> None:
    queries = "from evalq.store.database import named_queries; print(len(named_queries()))"
    assert int(evalq("-c", queries, program="python").stdout) > 20
    notes = "from evalq.calling.providers.retriever import retrieve; print(retrieve({'query': 'Oma Hilde'}))"
    assert "note-003" in evalq("-c", notes, program="python").stdout
