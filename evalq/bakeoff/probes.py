"""Small bake-offs of our own: a smoke test of judges, and queries to one model for ingest and draft."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalq.bakeoff.follow import is_never_interrupted, run_to_end
from evalq.bakeoff.holdout import is_holdout
from evalq.bakeoff.plan import Plan, make_plan, refuse_over_cap, refuse_unpriced
from evalq.bakeoff.progress import Gate, read_gates
from evalq.bakeoff.request import Request
from evalq.definitions.catalogue import all_judges, pick_judges
from evalq.definitions.evalset import EvalSet
from evalq.definitions.project import is_draft_set, list_evalsets
from evalq.definitions.task import TaskConfig
from evalq.engines.session import Session, open_session
from evalq.errors import InputError, Problem
from evalq.settings import Settings
from evalq.store import answers, bakeoffs
from evalq.store.answers import JudgeAnswer
from evalq.store.definitions import evalset_sha, judge_sha, task_sha


@dataclass(frozen=True)
class Smoke:
    """The result of one judge's smoke call."""

    judge: str
    ok: bool
    answer: str
    fault: str | None
    latency_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: str
    limits: dict[str, float]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    def line(self) -> str:
        """On one line."""
        if not self.ok:
            return self.fault or "no answer"
        limits = " ".join(f"{name}={value:g}" for name, value in self.limits.items() if value)
        tokens = f"{self.input_tokens}+{self.output_tokens} tokens"
        return f"{self.latency_ms} ms, {tokens}, ${self.cost_usd}" + (f", limits {limits}" if limits else "")


def smoke_request(
    task: str, eval_set: str | None, judges: Sequence[str], *, root: Path, allow_unpriced: bool
) -> Request:
    """A request for the first case of a set, once per judge."""
    return Request(
        task, eval_set or _first_set(task, root), judges, allow_unpriced=allow_unpriced, only_first_case=True
    )


def smoke_test(session: Session, plan: Plan, *, cap_usd: Decimal, root: Path) -> list[Smoke]:
    """Run a plan of one case to its end, and report each judge's answer or fault."""
    bakeoff_id = run_to_end(session, plan, cap_usd=cap_usd, root=root, run_type="smoke")
    return _findings(session, bakeoff_id)


def _first_set(task: str, root: Path) -> str:
    name = Path(task).stem if task.endswith((".yaml", ".yml", ".json")) else task
    sets = [found for found in list_evalsets(name, root) if not is_holdout(found)]
    if not sets:
        raise InputError(
            Problem(f"task {task!r} has no evalset to take a case from", "name one with --eval-set")
        )
    # A set of drafts is the last choice.
    return min(sets, key=is_draft_set)


def _findings(session: Session, bakeoff_id: int) -> list[Smoke]:
    gates = {gate.name: gate for gate in read_gates(session.broker, session.settings)}
    first = answers.first_answers(session.db, bakeoff_id)
    return [
        _smoke(run.judge, first[run.judge], run.pause_reason, gates.get(run.gate))
        for run in bakeoffs.runs(session.db, bakeoff_id)
    ]


def _smoke(judge: str, said: JudgeAnswer, pause_reason: str | None, gate: Gate | None) -> Smoke:
    is_answer = said.completion_state == "answered"
    state = describe_state(said) if said.completion_state else said.message
    return Smoke(
        judge=judge,
        ok=is_answer,
        answer=said.answer or "",
        fault=None if is_answer else pause_reason or state or "no answer yet",
        latency_ms=said.latency_ms,
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        cost_usd=f"{said.cost_usd or 0:.6f}",
        limits=gate.limit if gate else {},
    )


def describe_state(said: JudgeAnswer) -> str:
    """What is wrong with an answer, and for one that was cut off what to raise."""
    state = f"the answer is {said.completion_state}"
    if said.completion_state != "truncated":
        return state
    if said.answer:
        return f"{state} after {said.output_tokens} tokens; raise max_tokens: of the task"
    thought = f"{state}: {said.output_tokens} tokens of thinking left no room for text"
    return f"{thought}; raise thinking_tokens: of the judge in evalq.yaml"


@dataclass(frozen=True)
class ModelQuery:
    """Questions to one model, one per case; the run type names their purpose."""

    run_type: str
    task: TaskConfig
    evalset: EvalSet
    judge: str
    seed: int = 0
    allow_unpriced: bool = False


@dataclass(frozen=True)
class QueryReply:
    """The reply to one case: its text, or why there is none."""

    text: str | None
    fault: str = ""


@dataclass(frozen=True)
class QueryReplies:
    """The replies to a query; `is_kept` when the same query was answered before and nothing was spent now."""

    bakeoff_id: int
    judge: str
    state: str
    spent_usd: Decimal
    is_kept: bool
    by_case: Mapping[str, QueryReply]


def plan_query(query: ModelQuery, settings: Settings) -> Plan:
    """Choose the model and price the query; touches nothing."""
    judges = pick_judges([query.judge], all_judges(settings.judges))
    if not query.allow_unpriced:
        refuse_unpriced(judges)
    return make_plan(query.task, query.evalset, judges, seed=query.seed)


def run_query(
    query: ModelQuery,
    settings: Settings,
    root: Path,
    *,
    cap_usd: Decimal,
    is_interrupted: Callable[[], bool] = is_never_interrupted,
) -> QueryReplies:
    """Ask, metered and capped like any bake-off, or read the replies if the same query was answered before.

    So the replies that a user reviewed are the ones that are written, and they are paid for once. An
    interrupt pauses the query.
    """
    plan = plan_query(query, settings)
    refuse_over_cap(plan, cap_usd)
    with open_session(settings, fleet=True) as session:
        known = _asked_before(session, query, plan)
        if known is not None:
            return _replies(session, known, plan, is_kept=True)
        bakeoff_id = run_to_end(
            session, plan, cap_usd=cap_usd, root=root, run_type=query.run_type, is_interrupted=is_interrupted
        )
        return _replies(session, bakeoff_id, plan, is_kept=False)


def _asked_before(session: Session, query: ModelQuery, plan: Plan) -> int | None:
    return bakeoffs.find_answered(
        session.db,
        run_type=query.run_type,
        task_sha=task_sha(plan.task),
        eval_set_sha=evalset_sha(plan.evalset),
        seed=plan.seed,
        judge_sha=judge_sha(plan.judges[0]),
    )


def _replies(session: Session, bakeoff_id: int, plan: Plan, *, is_kept: bool) -> QueryReplies:
    bakeoff = bakeoffs.get(session.db, bakeoff_id)
    (run,) = bakeoffs.runs(session.db, bakeoff_id)
    case_ids = [case.id for case in plan.evalset.cases]
    by_case = dict.fromkeys(case_ids, QueryReply(None, run.pause_reason or "not asked"))
    for answer in answers.judge_answers(session.db, bakeoff_id, case_ids):
        by_case[answer.case_id] = _reply(answer)
    spent_usd = Decimal(0) if is_kept else bakeoff.spent_usd
    return QueryReplies(bakeoff_id, run.judge, bakeoff.state, spent_usd, is_kept, by_case)


def _reply(answer: JudgeAnswer) -> QueryReply:
    if answer.completion_state == "answered":
        return QueryReply(answer.answer)
    state = f"the answer is {answer.completion_state}" if answer.completion_state else answer.message
    return QueryReply(None, state or "no answer")
