"""A suite on the fleet: its bake-offs one after the other, then what failed once more."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from evalq.bakeoff import start
from evalq.broker import Broker
from evalq.importers.suite_evals import SuiteEval
from evalq.plan import Plan
from evalq.results import BakeOffResult
from evalq.session import Session
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.suites.planning import Part, retry_plan

RUN_TYPE = "suite"
RETRY_TYPE = "suite_retry"


@dataclass(frozen=True)
class Round:
    """One bake-off of a suite run: which part it is of, and whether it was a retry."""

    part: Part
    bakeoff_id: int
    attempt: int = 0


@dataclass(frozen=True)
class Rounds:
    """Every bake-off that was run, and what kept the others from it."""

    rounds: tuple[Round, ...]
    is_capped: bool = False
    is_stopped: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The bake-offs, in the order they were started."""
        return tuple(one.bakeoff_id for one in self.rounds)


@dataclass(frozen=True)
class Fleet:
    """Where a suite is run, under which cap, and who watches.

    None from `watch` ends it; so does `is_over`, before anything more is started.
    """

    session: Session
    broker: Broker
    cap_usd: Decimal
    root: Path
    watch: Callable[[int], BakeOffResult | None]
    is_over: Callable[[], bool] = lambda: False


def run_rounds(fleet: Fleet, parts: Sequence[Part], *, retries_of: Callable[[SuiteEval], int]) -> Rounds:
    """Run every part, then again what failed, as often as each eval says.

    An eval that failed is run again; so is one whose answer was broken. One that could not be asked is not:
    its call was repeated already.
    """
    rounds: list[Round] = []
    queue = [(part, part.plan, 0) for part in parts]
    while queue:
        for part, plan, attempt in queue:
            left = fleet.cap_usd - committed(fleet.session.db, [one.bakeoff_id for one in rounds])
            if fleet.is_over() or plan.estimate_usd > left:
                return Rounds(tuple(rounds), is_capped=not fleet.is_over(), is_stopped=fleet.is_over())
            bakeoff_id = start(
                fleet.session,
                fleet.broker,
                plan,
                cap_usd=left,
                root=fleet.root,
                run_type=RETRY_TYPE if attempt else RUN_TYPE,
            )
            rounds.append(Round(part, bakeoff_id, attempt))
            result = fleet.watch(bakeoff_id)
            if result is None or result.state == "capped":
                return Rounds(tuple(rounds), is_capped=result is not None, is_stopped=result is None)
        attempt = queue[0][2] + 1
        queue = list(_again(fleet.session.db, parts, rounds, attempt=attempt, retries_of=retries_of))
    return Rounds(tuple(rounds))


def committed(db: Database, ids: Sequence[int]) -> Decimal:
    """Dollars spent, or set aside for calls nobody has accounted for."""
    rows = [bakeoffs.get(db, one) for one in ids]
    return sum((row.spent_usd + row.reserved_usd for row in rows), Decimal(0))


def _again(
    db: Database,
    parts: Sequence[Part],
    rounds: Sequence[Round],
    *,
    attempt: int,
    retries_of: Callable[[SuiteEval], int],
) -> Iterator[tuple[Part, Plan, int]]:
    """What the last attempt has left failing and may be tried once more, by judge."""
    for part in parts:
        last = [one for one in rounds if one.part is part and one.attempt == attempt - 1]
        may = {one.id for one in part.evals if retries_of(one) >= attempt}
        by_cases: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for judge in part.plan.judges:
            open_ids = tuple(
                case_id for one in last for case_id in _failed(db, one, judge.name) if case_id in may
            )
            if open_ids:
                by_cases[open_ids].append(judge.name)
        for case_ids, names in by_cases.items():
            judges = [judge for judge in part.plan.judges if judge.name in names]
            yield part, retry_plan(part, judges, case_ids, attempt=attempt), attempt


def _failed(db: Database, one: Round, judge: str) -> list[str]:
    """The cases of a judge that no attempt of a round has passed by most of its samples."""
    rows = db.rows("judge_verdicts", bakeoff_id=one.bakeoff_id, judge=judge)
    verdicts: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for row in rows:
        verdicts[row["case_id"]].append((row["verdict"], row["error_kind"]))
    return [case_id for case_id, found in verdicts.items() if _is_to_retry(found)]


def _is_to_retry(found: Sequence[tuple[str, str | None]]) -> bool:
    graded = [verdict for verdict, _ in found if verdict in ("passed", "failed")]
    if graded:
        return graded.count("passed") * 2 <= len(graded)
    return any(verdict == "errored" and not str(kind).startswith("call_") for verdict, kind in found)
