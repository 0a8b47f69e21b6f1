"""What a supervisor imports before it forks workers: all that they need, and nothing that reads settings."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import workers
from evalq.calling.providers import PROVIDERS
from workers.preload import PROVIDER_MODULES

ROOT = Path(workers.__file__).parents[1]
PRELOAD = "from workers import preload; list(preload.import_step_by_step()); "
SHOW = "print(json.dumps(sorted(set(sys.modules) - before)))"


def run(code: str) -> list[Any]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "EVALQ_BROKER_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys; {code}"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names: list[Any] = json.loads(done.stdout)
    return names


def test_a_forked_worker_has_only_its_own_package_left_to_import() -> None:
    late = run(f"{PRELOAD} before = set(sys.modules); import workers.app, workers.jobs; {SHOW}")
    assert late
    assert [name for name in late if not name.startswith("workers.")] == []


def test_what_is_imported_before_the_fork_reads_no_settings_and_starts_no_thread() -> None:
    loaded = run(f"before = set(); {PRELOAD} {SHOW}")
    assert not {"workers.app", "workers.jobs", "workers.connections"} & set(loaded)
    threads = "import psutil; print(json.dumps([psutil.Process().num_threads()]))"
    assert run(f"{PRELOAD} preload.import_adapters({list(PROVIDERS)}); {threads}") == [1]


def test_every_provider_has_its_modules() -> None:
    assert set(PROVIDER_MODULES) == set(PROVIDERS)
