"""The plan of a bake-off: who is asked what, in which order, and what it may cost."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalq.definitions.evalset import EvalSet
from evalq.definitions.judge import JudgeConfig
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.errors import CapReached, InputError, Problem
from evalq.grading.judge_model import MAX_FINDINGS, verdict_prompt
from evalq.pricing import estimate_usd, price_of, worst_case_usd
from evalq.question import answer_prompt
from evalq.records import Prompt


@dataclass(frozen=True)
class PlannedJob:
    """One (case, sample) for a judge, at its place in the shuffled order."""

    case_id: str
    sample: int
    position: int


@dataclass(frozen=True)
class Plan:
    """Everything a bake-off needs, decided before the first call."""

    task: TaskConfig
    evalset: EvalSet
    judges: tuple[JudgeConfig, ...]
    grader: JudgeConfig | None
    seed: int
    samples: int
    estimate_usd: Decimal
    worst_usd: Decimal

    @property
    def scorer(self) -> str:
        """The scorer's name as stored: the mode, or `graders` for a task with a list of them."""
        return self.task.scoring.mode if self.task.scoring else "graders"

    @property
    def jobs_per_judge(self) -> int:
        """Cases times samples."""
        return len(self.evalset.cases) * self.samples

    @property
    def n_jobs(self) -> int:
        """Jobs of the whole bake-off."""
        return self.jobs_per_judge * len(self.judges)

    def jobs(self) -> Iterator[PlannedJob]:
        """One judge's jobs; all judges meet the cases in the same order, shuffled by the seed."""
        pairs = [(case.id, sample) for case in self.evalset.cases for sample in range(1, self.samples + 1)]
        random.Random(self.seed).shuffle(pairs)  # noqa: S311 - an order, not a secret
        return (PlannedJob(case_id, sample, at) for at, (case_id, sample) in enumerate(pairs))


def make_plan(
    task: TaskConfig,
    evalset: EvalSet,
    judges: Sequence[JudgeConfig],
    *,
    grader: JudgeConfig | None = None,
    seed: int = 0,
    samples: int = 1,
) -> Plan:
    """Price and order a bake-off. A judge without a price is refused: no cap could hold."""
    everyone = (*judges, *((grader,) if grader else ()))
    unpriced = [judge.name for judge in everyone if price_of(judge) is None]
    if unpriced:
        raise InputError(
            *(
                Problem(f"judge {name!r} has no price", "add price: under it in evalq.yaml")
                for name in unpriced
            )
        )
    estimate, worst = _costs(task, evalset, judges, grader)
    return Plan(task, evalset, tuple(judges), grader, seed, samples, estimate * samples, worst * samples)


def apply_scorer(task: TaskConfig, scorer: ScorerMode | None, grader_model: str | None) -> TaskConfig:
    """The task with another scorer mode or grader model than its file says."""
    if scorer is None and grader_model is None:
        return task
    if task.scoring is None:
        raise InputError(
            Problem(f"task {task.name!r} is marked by its graders", "leave out --scorer and --grader-model")
        )
    fields = task.scoring.model_dump()
    fields |= {"mode": scorer or fields["mode"], "judge_model": grader_model or fields["judge_model"]}
    if fields["mode"] == "llm_judge" and not (fields["judge_model"] and fields["rubric"]):
        raise InputError(
            Problem(
                f"task {task.name!r} has no rubric or grader model for llm_judge",
                "add scoring.rubric and scoring.judge_model",
            )
        )
    return task.model_copy(update={"scoring": type(task.scoring)(**fields)})


def refuse_over_cap(plan: Plan, cap_usd: Decimal) -> None:
    """Stop before the first call when the projection does not fit under the cap."""
    if plan.estimate_usd > cap_usd:
        raise CapReached(
            f"the projected cost ${plan.estimate_usd:.2f} exceeds the cap ${cap_usd:.2f}; "
            f"raise --max-cost-usd, or take fewer judges or cases"
        )


def _costs(
    task: TaskConfig, evalset: EvalSet, judges: Sequence[JudgeConfig], grader: JudgeConfig | None
) -> tuple[Decimal, Decimal]:
    """Probable and greatest dollars of one sample of everything, grading included."""
    estimate = worst = Decimal(0)
    for case in evalset.cases:
        prompt = answer_prompt(task, case)
        estimate += sum((estimate_usd(judge, prompt) for judge in judges), Decimal(0))
        worst += sum((worst_case_usd(judge, prompt) for judge in judges), Decimal(0))
        if grader:
            verdict = verdict_prompt(task, case, _stand_in(task, prompt))
            estimate += estimate_usd(grader, verdict) * len(judges)
            worst += worst_case_usd(grader, verdict) * len(judges) * MAX_FINDINGS
    return estimate, worst


def _stand_in(task: TaskConfig, prompt: Prompt) -> str:
    """Text as long as what a grader may have to read."""
    return "x" * min(task.max_tokens * 4, len(prompt.user) * 4)
