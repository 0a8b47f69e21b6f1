"""How long a user waits: `evalq --help` beside a bare Python, and the demo from command to table."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HELP_RUNS = 7


def seconds(argv: Sequence[str], cwd: str) -> float:
    """Wall time of one command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}
    started = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    """Print both, the help as a ratio too."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tasks").mkdir()
        bare = min(seconds([sys.executable, "-c", "pass"], folder) for _ in range(HELP_RUNS))
        shown = min(seconds([sys.executable, "-m", "evalq", "--help"], folder) for _ in range(HELP_RUNS))
        ratio = f"{shown / bare:.1f} × a bare Python ({bare:.3f} s)"
        print(f"evalq --help: {shown:.3f} s, {ratio}, best of {HELP_RUNS}")
        for name in ("first", "second"):
            took = seconds([sys.executable, "-m", "evalq", "demo"], folder)
            print(f"evalq demo, {name} run in a folder: {took:.1f} s from command to table, 651 jobs")


if __name__ == "__main__":
    main()
