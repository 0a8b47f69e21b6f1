"""What a bake-off will probably cost: from earlier answers, else from a smoke call, else a guess."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from evalq.calling.pricing import estimate_usd, guess_usd, tokens_usd, worst_case_usd
from evalq.definitions.evalset import EvalSet
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import grader_calls
from evalq.records import Prompt
from evalq.store.database import Database
from evalq.store.definitions import judge_sha, task_sha
from evalq.store.earlier_costs import EarlierAnswers, EarlierGrading, earlier_answers, earlier_grading

if TYPE_CHECKING:
    from evalq.bakeoff.plan import Plan

Basis = Literal["earlier answers", "smoke call", "guess"]

_USUAL_FINDING_CHARACTERS = 400
_ZERO = Decimal(0)


@dataclass(frozen=True)
class JudgeEstimate:
    """Dollars that one sample of every case will probably cost at one judge, and how that is known."""

    judge: str
    input_usd: Decimal
    output_usd: Decimal
    basis: Basis = "guess"
    n_answers: int = 0

    @property
    def usd(self) -> Decimal:
        """Input and output together."""
        return self.input_usd + self.output_usd


@dataclass(frozen=True)
class GradingEstimate:
    """Dollars that one grader model will probably cost for one sample of every answer it grades."""

    grader: JudgeConfig
    n_answers: int
    usd: Decimal
    basis: Basis = "guess"


@dataclass(frozen=True)
class CostEstimate:
    """The estimates of all judges and graders for one sample of every case."""

    judges: tuple[JudgeEstimate, ...] = ()
    grading: tuple[GradingEstimate, ...] = ()

    @property
    def usd(self) -> Decimal:
        """Answers and grading together."""
        answers = sum((one.usd for one in self.judges), _ZERO)
        return answers + sum((one.usd for one in self.grading), _ZERO)

    @property
    def source(self) -> str:
        """What the estimate is made from, for one line of text."""
        n_answers = sum(one.n_answers for one in self.judges if one.basis == "earlier answers")
        by_basis: defaultdict[Basis, list[str]] = defaultdict(list)
        for one in self.judges:
            by_basis[one.basis].append(one.judge)
        answers = "1 earlier answer" if n_answers == 1 else f"{n_answers} earlier answers"
        texts: dict[Basis, str] = {
            "earlier answers": f"from {answers}",
            "smoke call": "from the smoke call",
            "guess": "a guess",
        }
        found = [basis for basis in texts if by_basis[basis]]
        if len(found) < 2:
            return "".join(texts[basis] for basis in found)
        return "; ".join(f"{', '.join(by_basis[basis])}: {texts[basis]}" for basis in found)

    def document(self) -> dict[str, Any]:
        """The estimates as JSON, for one sample of every case."""
        judges = []
        for one in self.judges:
            about = {"judge": one.judge, "usd": f"{one.usd:.6f}", "basis": one.basis}
            judges.append({**about, "n_answers": one.n_answers})
        grading = [
            {"grader": one.grader.name, "usd": f"{one.usd:.6f}", "basis": one.basis} for one in self.grading
        ]
        return {"judges": judges, "grading": grading}


@dataclass
class _Sums:
    """Dollars summed over the cases, by judge and by grader."""

    input_usd: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    output_usd: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    grading_usd: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    graded_cases: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    worst_usd: Decimal = _ZERO


def guess_costs(
    task: TaskConfig, evalset: EvalSet, judges: Sequence[JudgeConfig], graders: Mapping[str, JudgeConfig]
) -> tuple[CostEstimate, Decimal]:
    """A guess by the length of the prompts, and the worst case, of one sample of every case."""
    sums = _Sums()
    for case in evalset.cases:
        prompt = answer_prompt(task, case)
        for judge in judges:
            input_usd, output_usd = guess_usd(judge, prompt)
            sums.input_usd[judge.name] += input_usd
            sums.output_usd[judge.name] += output_usd
            sums.worst_usd += worst_case_usd(judge, prompt)
        if not graders:
            continue
        usual, longest = _graded_texts(task, prompt)
        asked = set()
        for one in grader_calls(task, case, usual):
            asked.add(one.model or "")
            sums.grading_usd[one.model or ""] += estimate_usd(graders[one.model or ""], one.prompt)
        for name in asked:
            sums.graded_cases[name] += 1
        for one in grader_calls(task, case, longest):
            sums.worst_usd += worst_case_usd(graders[one.model or ""], one.prompt) * len(judges) * one.at_most
    return _build_guess(sums, judges, graders), sums.worst_usd


def _build_guess(
    sums: _Sums, judges: Sequence[JudgeConfig], graders: Mapping[str, JudgeConfig]
) -> CostEstimate:
    answers = []
    for judge in judges:
        answers.append(JudgeEstimate(judge.name, sums.input_usd[judge.name], sums.output_usd[judge.name]))
    grading = []
    for name, n_cases in sums.graded_cases.items():
        usd = sums.grading_usd[name] * len(judges)
        grading.append(GradingEstimate(graders[name], n_cases * len(judges), usd))
    return CostEstimate(tuple(answers), tuple(grading))


def _graded_texts(task: TaskConfig, prompt: Prompt) -> tuple[str, str]:
    """Two texts for pricing a grader: of the usual length of an answer, and of the greatest."""
    longest = min(task.max_tokens * 4, len(prompt.user) * 4)
    return "x" * min(_USUAL_FINDING_CHARACTERS, longest), "x" * longest


def refine_estimate(db: Database, plan: "Plan") -> "Plan":
    """The plan with an estimate from what the same judges and graders cost on this task before.

    Only the estimate changes: what is reserved for each call is its worst case. A plan that brings its own
    total, as a rescoring does, stays as it is.
    """
    if not plan.estimate.judges:
        return plan
    sha, n_cases = task_sha(plan.task), len(plan.evalset.cases)
    configs = {judge.name: judge for judge in plan.judges}
    judges = []
    for guess in plan.estimate.judges:
        judge = configs[guess.judge]
        known = earlier_answers(db, task_sha=sha, judge_sha=judge_sha(judge), eval_set_name=plan.evalset.name)
        judges.append(_refine_judge(guess, judge, known, n_cases=n_cases))
    costs = earlier_grading(db, task_sha=sha) if plan.estimate.grading else {}
    grading = [_refine_grading(one, costs) for one in plan.estimate.grading]
    return plan.with_estimate(CostEstimate(tuple(judges), tuple(grading)))


def _refine_judge(
    guess: JudgeEstimate, judge: JudgeConfig, known: EarlierAnswers | None, *, n_cases: int
) -> JudgeEstimate:
    """The judge's estimate from its mean tokens; input tokens count only if the cases were the same."""
    if known is None:
        return guess
    input_usd, output_usd = tokens_usd(judge, known.input_tokens, known.output_tokens)
    refined = replace(guess, output_usd=output_usd * n_cases, n_answers=known.n)
    if known.is_same_set:
        refined = replace(refined, input_usd=input_usd * n_cases)
    return replace(refined, basis="smoke call" if known.is_smoke else "earlier answers")


def _refine_grading(
    guess: GradingEstimate, costs: Mapping[tuple[str, str], EarlierGrading]
) -> GradingEstimate:
    known = costs.get((guess.grader.name, guess.grader.model))
    if known is None:
        return guess
    return replace(guess, usd=known.usd_per_answer * guess.n_answers, basis="earlier answers")
