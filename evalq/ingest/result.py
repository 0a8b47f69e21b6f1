"""What an ingest comes to: what was replaced, which cases there are, what is left out, and what is next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evalq.definitions.evalset import EvalSet
from evalq.ingest.casting import Cast, LeftOut
from evalq.scrub.recall import Recall
from evalq.scrub.report import Report

SCHEMA = "evalq.ingest/1"

NO_PROMISE = (
    "what none of these kinds covers is still there: names without --names-by, customer numbers, anything "
    "said in other words; read the diff, and the file, before it is shared"
)


@dataclass(frozen=True)
class NamesPass:
    """The names pass: who was asked, in which bake-off, for how much."""

    judge: str
    bakeoff_id: int
    state: str
    spent_usd: str
    kept: bool
    unknown: int


@dataclass(frozen=True)
class Ingested:
    """Rows on their way into an evalset; nothing is written yet."""

    file: str
    task: str
    path: str
    evalset: EvalSet
    columns: Mapping[str, Any]
    rows: int
    cast: Cast
    report: Report
    diff: str
    recall: Recall
    unread: tuple[LeftOut, ...] = ()
    names: NamesPass | None = None

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Every row that became no case, in the order of the file; duplicates apart."""
        return tuple(sorted((*self.cast.left_out, *self.unread), key=lambda one: one.line))

    @property
    def exit_code(self) -> int:
        """4 when the names pass stopped at its cap, 3 when rows are left out, else 0."""
        if self.names and self.names.state == "capped":
            return 4
        return 3 if self.left_out else 0

    def warnings(self) -> list[str]:
        """What a person must know before saying yes."""
        found = self.report.warnings()
        if self.cast.n_drafts:
            found.append(
                f"cases that lack what the task's grading needs are marked draft: {self.cast.n_drafts}; "
                f"add it, then accept them"
            )
        if self.names is None:
            found.append("names of persons are not looked for; --names-by MODEL has a model find them")
        return [*found, NO_PROMISE]

    def document(self, *, written: bool, next_commands: list[str]) -> dict[str, Any]:
        """The `evalq.ingest/1` document; no value that was replaced is in it."""
        return {
            "schema": SCHEMA,
            "file": self.file,
            "task": self.task,
            "eval_set": self.evalset.name,
            "path": self.path,
            "columns": dict(self.columns),
            "rows": self.rows,
            "cases": len(self.cast.cases),
            "drafts": self.cast.n_drafts,
            "duplicates": list(self.cast.duplicates),
            "left_out": [asdict(one) for one in self.left_out],
            **self.report.document(),
            "names": asdict(self.names) if self.names else None,
            "recall": self.recall.document(),
            "diff": self.diff,
            "written": written,
            "warnings": self.warnings(),
            "next": next_commands,
        }
