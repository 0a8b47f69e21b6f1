"""What evil regular expressions cost, and how the cost of each of our own grows with the text.

`--own` attacks our own only, and ends with 1 if one of them does not get to the end of a long text.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.pattern_attacks import Use, evil_texts, find_patterns
from benchmarks.pattern_table import AT_MOST, attacked, built_uses
from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade

Result = TypeVar("Result")

SIZE = 1_000_000
EVIL = {
    r"^(([a-z])+.)+[A-Z]([a-z])+$": "a",
    r"(a+)+$": "a",
    r"^(a|aa)+$": "a",
    r"^(a*)*$": "a",
    r"([a-zA-Z]+)*$": "ab",
    r"(.*a){25}$": "ab",
    r"^(\w+\s?)*$": "a ",
    r"^(.*?,){11}P": "1,",
    r"(x+x+)+y": "x",
    r"\s+$": " ",
}


class NoContext:
    """A check asks nobody."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a check must do without {name}")

    async def apart(self, work: Callable[[], Result]) -> Result:
        return work()


def marked(pattern: str, text: str) -> Grade:
    """What the `regex` grader makes of a text."""
    graders = [{"type": "regex", "pattern": pattern}]
    fields = {"name": "t", "system_prompt": "", "user_template": "", "graders": graders}
    task, case = TaskConfig.model_validate(fields), EvalCase(id="c", inputs={})
    answer = AnswerToGrade(task, case, Completion("answered", text))
    [grade] = asyncio.run(grade_answer(answer, NoContext()))
    return grade


SHORT = 2_000
FULL = 500_000
PATIENCE_S = 20
"""Of processor time for one pattern on one text at full size; a linear one needs a second at most."""


class Frozen(Exception):
    """A pattern used up its processor time."""


@dataclass(frozen=True)
class Growth:
    """The worst text for one use of a pattern: its cost when short and at its full size."""

    use: Use
    text: str
    short_s: float
    size: int
    full_s: float | None
    """None when it never ended."""

    @property
    def per_char(self) -> float:
        """How many times more each character costs in the full text."""
        return 0.0 if self.full_s is None else self.full_s / self.size / max(self.short_s / SHORT, 1e-9)


def own_growth() -> Iterator[Growth]:
    """The worst text for every pattern of ours that sees text of others."""
    signal.signal(signal.SIGVTALRM, _give_up)
    for use in (*find_patterns().uses, *built_uses()):
        if attacked(use.where):
            yield measure(use)


def measure(use: Use) -> Growth:
    """Try every evil text short, then those that cost most, or more than their share, at full size."""
    size = AT_MOST.get(use.where, FULL)
    costs = [(_seconds(use, make(SHORT)), make) for make in evil_texts(use.pattern)]
    worst = max(costs, key=lambda cost: cost[0])
    suspects = [worst]
    if use.where not in AT_MOST:
        suspects += [cost for cost in costs if cost[0] > 0.002 and _is_steep(use, cost[1])]
    found = []
    for short_s, make in suspects:
        found.append(Growth(use, make(40), short_s, size, _full_cost(use, make(size)[:size])))
        if found[-1].full_s is None:
            break
    return max(found, key=lambda one: (one.full_s is None, one.per_char))


def _is_steep(use: Use, make: Callable[[int], str]) -> bool:
    """Whether four times the text costs more than eight times as much."""
    return _seconds(use, make(SHORT * 4)) > 8 * _seconds(use, make(SHORT))


def _seconds(use: Use, text: str) -> float:
    text = text[: AT_MOST.get(use.where)]
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
    began = time.perf_counter()
    try:
        use.apply(text)
    except Frozen:
        return float(PATIENCE_S)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.perf_counter() - began


def _full_cost(use: Use, text: str) -> float | None:
    took = _seconds(use, text)
    return None if took == PATIENCE_S else took


def _give_up(number: int, frame: object) -> None:
    del number, frame
    raise Frozen


def print_own() -> int:
    """Print a line for each of our patterns; 1 if one of them froze."""
    frozen = 0
    for one in own_growth():
        end = "FROZEN" if one.full_s is None else f"{one.full_s:.3f} s, {one.per_char:.1f} times a character"
        print(f"{one.use.where} {one.use.method} on {one.size:,} like {one.text!r}: {end}", flush=True)
        frozen += one.full_s is None
    return int(frozen > 0)


def main() -> None:
    """Print a line for each; wrong if one of them is decided, or takes 1.5 seconds."""
    began = time.perf_counter()
    harmless = marked("[!]$", "a" * SIZE + "!")
    base = time.perf_counter() - began
    print(f"harmless: {base * 1000:.1f} ms, {'found' if harmless.passed else 'not found'}")
    for pattern, letters in EVIL.items():
        began, worked = time.perf_counter(), time.process_time()
        grade = marked(pattern, letters * (SIZE // len(letters)) + "!")
        wall, cpu = time.perf_counter() - began, time.process_time() - worked
        end = "a grader error" if grade.passed is None else "DECIDED"
        print(f"{pattern:32} {wall:.2f} s, {cpu:.2f} s of processor time: {end}")


if __name__ == "__main__":
    if "--own" not in sys.argv:
        main()
    sys.exit(print_own())
