"""Files in the working folder that have the name of a module a worker imports."""

import os
import subprocess
from pathlib import Path

import pytest

from evalq.engines.fleet import process_argv
from evalq.engines.head_start import python_path

SHADOWS = ("msgpack", "celery", "workers", "yaml", "cassandra", "django", "sitecustomize", "flower")


@pytest.mark.parametrize("kind", ["worker", "beat", "flower"])
@pytest.mark.parametrize("given", ["", os.pathsep], ids=["empty", "only a separator"])
def test_no_module_of_the_working_folder_is_run_by_a_worker(tmp_path: Path, kind: str, given: str) -> None:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"open('{name}.ran', 'w')\n")
    env = {
        **os.environ,
        "EVALQ_BROKER_URL": "redis://127.0.0.1:1/0",
        "PYTHONPATH": python_path({"PYTHONPATH": given}),
    }
    done = subprocess.run(
        process_argv(kind, "--help"),  # type: ignore[arg-type]
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "Usage" in done.stdout + done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.ran")) == []
