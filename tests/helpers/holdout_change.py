"""A holdout set that somebody edits."""

from pathlib import Path


def change(root: Path) -> None:
    with (root / "evalsets" / "capitals" / "holdout-3.jsonl").open("a", encoding="utf-8") as cases:
        cases.write("\n")
