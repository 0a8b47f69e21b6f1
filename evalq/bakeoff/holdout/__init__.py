"""Frozen evalsets: a holdout is for the final decision, and every look at it is on record."""

from evalq.bakeoff.holdout.guard import Purpose, check_look, is_holdout
from evalq.bakeoff.holdout.log import head
from evalq.bakeoff.holdout.looks import (
    Look,
    admit,
    annotate,
    close_bakeoff,
    close_look,
    complete_files,
    open_look,
    refuse_cases,
    warn_before,
)

__all__ = [
    "Look",
    "Purpose",
    "admit",
    "annotate",
    "check_look",
    "close_bakeoff",
    "close_look",
    "complete_files",
    "head",
    "is_holdout",
    "open_look",
    "refuse_cases",
    "warn_before",
]
