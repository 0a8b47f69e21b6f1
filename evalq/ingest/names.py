"""Names of persons in rows, asked of a model through the fleet; a row nobody could read is left out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.errand.values import Errand, Replies
from evalq.errors import UngradableAnswer
from evalq.ingest.casting import LeftOut
from evalq.scrub.names import MAX_TOKENS, SYSTEM_PROMPT, USER_TEMPLATE, joined_texts, names_inputs, read_names
from evalq.scrub.scrubbing import ScrubbedRow

RUN_TYPE = "names"


@dataclass(frozen=True)
class NamesFound:
    """The names of each row by its line, rows that could not be read, and what was named but not there."""

    by_line: Mapping[int, tuple[str, ...]]
    unread: tuple[LeftOut, ...]
    n_unknown: int = 0


def names_errand(rows: Sequence[ScrubbedRow], *, file: Path, judge: str, allow_unpriced: bool) -> Errand:
    """One question per row, on what is left of its texts after everything else was replaced."""
    cases = [
        EvalCase(
            id=case_id(row.line),
            inputs=dict(names_inputs(joined_texts(row.values))),
            # Only simulated models see it: an answer in the right form.
            expected={"answer": "[]", "any_of": ["["]},
        )
        for row in rows
    ]
    evalset = EvalSet(name=_set_name(file), task=_TASK.name, cases=cases)
    return Errand(RUN_TYPE, _TASK, evalset, judge, allow_unpriced=allow_unpriced)


def case_id(line: int) -> str:
    """The id of a row's question: what a simulated model's fixed answers are listed under."""
    return f"line-{line}"


def read_replies(rows: Sequence[ScrubbedRow], replies: Replies) -> NamesFound:
    """The names row by row; a row without a reply that can be read is listed, never passed."""
    found: dict[int, tuple[str, ...]] = {}
    unread: list[LeftOut] = []
    n_unknown = 0
    for row in rows:
        reply = replies.by_case[case_id(row.line)]
        if reply.text is None:
            unread.append(LeftOut(row.line, f"names not read: {reply.fault}"))
            continue
        try:
            names = read_names(reply.text, joined_texts(row.values))
        except UngradableAnswer as exc:
            unread.append(LeftOut(row.line, f"names not read: {exc}"))
            continue
        found[row.line] = names.names
        n_unknown += names.n_unknown
    return NamesFound(found, tuple(unread), n_unknown)


_TASK = TaskConfig(
    name="names-of-persons",
    description="List the names of persons in a text, so that they can be replaced.",
    system_prompt=SYSTEM_PROMPT,
    user_template=USER_TEMPLATE,
    scoring=ScoringConfig(mode="strict_substring", pass_rule="any_substring"),  # noqa: S106 - a rule
    max_tokens=MAX_TOKENS,
)


def _set_name(file: Path) -> str:
    """A name that is never a holdout's, whatever the file is called."""
    return ("rows-" + re.sub(r"[^A-Za-z0-9_.-]", "-", file.stem))[:100]
