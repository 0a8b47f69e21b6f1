"""An errand as plain values: what is asked of which model, and what came back."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from evalq.definitions.evalset import EvalSet
from evalq.definitions.task import TaskConfig


@dataclass(frozen=True)
class Errand:
    """What is asked, case by case, and of whom; the run type says what for."""

    run_type: str
    task: TaskConfig
    evalset: EvalSet
    judge: str
    seed: int = 0
    allow_unpriced: bool = False


@dataclass(frozen=True)
class Reply:
    """What came back for one case: its text, or why there is none."""

    text: str | None
    fault: str = ""


@dataclass(frozen=True)
class Replies:
    """What an errand came to; `is_kept` when the same was asked before, and nothing spent again."""

    bakeoff_id: int
    judge: str
    state: str
    spent_usd: Decimal
    is_kept: bool
    by_case: Mapping[str, Reply]
