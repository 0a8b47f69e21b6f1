"""Review away from the terminal: what is to be rated as JSONL, and the ratings people wrote into it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import read_text, shown
from evalq.definitions.json_text import load_json
from evalq.definitions.validation import cut, near
from evalq.errors import InputError, Problem
from evalq.reviewing.offering import open_items
from evalq.reviewing.rating import Given, rate_all
from evalq.store.database import Database

FILLED_IN = ("item", "rating", "comment", "reviewer", "adjudicate")
FOR_PEOPLE = (
    *("schema", "bakeoff_id", "task", "grader", "case_id", "interface", "instructions", "question"),
    *("reference", "answer", "answers", "rubric", "scale", "blind", "reviews"),
)
"""What helps whoever rates; it is not read back."""

KNOWN = (*FILLED_IN, *FOR_PEOPLE)


@dataclass(frozen=True)
class Imported:
    """What a file of ratings came to; `n_empty` lines nobody has filled in yet."""

    stored: int
    decided: int
    pending: int
    disputed: int
    n_empty: int
    bakeoff_ids: tuple[int, ...]


def export_items(db: Database, bakeoff_id: int, *, grader: str | None = None) -> Iterator[dict[str, Any]]:
    """One line per item that reviews are wanted of, `rating` left null; blind ones hide the judge."""
    for item in open_items(db, bakeoff_id, grader=grader):
        yield {"item": item.item, "rating": None, "comment": "", "reviewer": "", **item.to_dict()}


def import_ratings(db: Database, path: Path, *, reviewer: str) -> Imported:
    """Store the ratings of a JSONL file: all of them, or none when one is wrong.

    `reviewer` is who rated where a line names nobody. Of two ratings of one item by one person the later
    stands.
    """
    given, n_empty = read_ratings(read_text(path), shown(path), reviewer=reviewer)
    if not given:
        raise InputError(Problem("no rating in it", "fill in `rating`", shown(path)))
    rated = rate_all(db, given)
    last = {one.item: one.state for one in rated}
    states = list(last.values())
    return Imported(
        len(rated),
        states.count("decided"),
        states.count("pending"),
        states.count("undecidable"),
        n_empty,
        tuple(sorted({one.bakeoff_id for one in rated})),
    )


def read_ratings(text: str, file: str, *, reviewer: str) -> tuple[list[Given], int]:
    """The ratings in a text, and how many of its lines have none yet; InputError with every problem."""
    given: list[Given] = []
    problems: list[Problem] = []
    n_empty = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = load_json(line, file, first_line=number).value
            one = _given(value, file, number, reviewer)
        except InputError as exc:
            problems += exc.problems
            continue
        n_empty += one is None
        given += [one] if one else []
    if problems:
        raise InputError(*cut(problems))
    return given, n_empty


def _given(value: Any, file: str, line: int, reviewer: str) -> Given | None:
    """The rating of a line; None when nobody has filled it in."""
    if not isinstance(value, Mapping):
        raise InputError(Problem("not a JSON object", "write {…}", file, line))
    problems = [
        Problem(f"unknown key {name!r}", near(name, FILLED_IN), file, line)
        for name in value
        if name not in KNOWN
    ]
    for name in ("item", "comment", "reviewer"):
        if not isinstance(value.get(name, ""), str):
            problems.append(Problem(f"{name} is not text", "put it in quotes", file, line))
    if not isinstance(value.get("adjudicate", False), bool):
        problems.append(Problem("adjudicate is not true or false", "write true or false", file, line))
    if not value.get("item"):
        problems.append(Problem("missing key 'item'", "copy it from the exported line", file, line))
    if problems:
        raise InputError(*problems)
    said = value.get("rating")
    if said is None or said == "":
        return None
    return Given(
        value["item"],
        value.get("reviewer") or reviewer,
        said,
        value.get("comment", ""),
        value.get("adjudicate", False),
        file,
        line,
    )
