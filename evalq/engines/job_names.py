"""The name a job has in Flower: `7 grok-4.3 case-017`, its bake-off, judge and case."""

from evalq.reports.text import one_line

_LONGEST_JUDGE = 80
_LONGEST_CASE = 80
_LABEL = "judge:"


def name_job(bakeoff_id: int, judge: str, case_id: str, *, sample: int = 1) -> str:
    """A job's name; later samples of a case have a number: `7 grok-4.3 case-017#2`.

    Judges and cases are named by users, so a name has no control characters, no blanks and a bounded length.
    """
    number = f"#{sample}" if sample > 1 else ""
    return f"{bakeoff_id} {_one_word(judge, _LONGEST_JUDGE)} {_one_word(case_id, _LONGEST_CASE)}{number}"


def name_series(name: str) -> str:
    """What a job is counted as in figures, `judge:grok-4.3`: a number for each case would never end."""
    bakeoff_id, _, rest = name.partition(" ")
    judge, blank, _ = rest.partition(" ")
    return f"{_LABEL}{judge}" if blank and bakeoff_id.isdecimal() else name


def _one_word(text: str, width: int) -> str:
    return one_line(text, width).replace(" ", "_") or "_"
