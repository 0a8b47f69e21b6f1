"""No text freezes a worker: every pattern of ours is listed, and gets to the end of hostile texts."""

import re
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks.pattern_attacks import Use, evil_texts, find_patterns
from benchmarks.pattern_table import AT_MOST, BUILT, listed
from benchmarks.patterns import SHORT

ROOT = Path(__file__).parents[2]
CPU_LIMIT_S = 240


def test_every_pattern_is_listed_with_the_text_it_sees() -> None:
    found = find_patterns()
    there = {use.where for use in found.uses} | found.built
    assert there == {where for where, _ in listed()}, "list it in benchmarks/pattern_table.py"
    assert found.built == set(BUILT), "give an example of the pattern it builds"
    assert set(AT_MOST) <= there


def test_no_place_is_listed_twice() -> None:
    assert [where for where, n in Counter(where for where, _ in listed()).items() if n > 1] == []


def test_every_pattern_gets_to_the_end_of_hostile_texts() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.patterns", "--own"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    frozen = [line for line in done.stdout.splitlines() if line.endswith("FROZEN")]
    assert frozen == []
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]


def test_the_attack_finds_the_pattern_that_once_froze_the_fleet() -> None:
    once = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
    texts = {make(SHORT) for make in evil_texts(once)}
    assert any(text.startswith(" ```") and text.count("\n") > SHORT // 2 for text in texts)
    Use("once", once, "match").apply("```\n[]\n```")
