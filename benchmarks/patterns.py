"""What evil regular expressions cost: each on a megabyte of text, beside a harmless one on the same text."""

import time
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grade_answer
from evalq.grading.grader import AnswerToGrade
from evalq.records import Completion, Grade

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


def marked(pattern: str, text: str) -> Grade:
    """What the `regex` grader makes of a text."""
    graders = [{"type": "regex", "pattern": pattern}]
    fields = {"name": "t", "system_prompt": "", "user_template": "", "graders": graders}
    task, case = TaskConfig.model_validate(fields), EvalCase(id="c", inputs={})
    [grade] = grade_answer(AnswerToGrade(task, case, Completion("answered", text)), NoContext())
    return grade


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
    main()
