"""The plan of a bake-off: its jobs, their order, their grader models, and what they may cost."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from evalq.bakeoff.estimate import CostEstimate, guess_costs
from evalq.calling.pricing import price_of, prices_as_of
from evalq.calling.rate_limit import estimate_tokens
from evalq.definitions.catalogue import Catalogue, pick_judges
from evalq.definitions.definition import did_you_mean
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.graders.code import FunctionOutput
from evalq.definitions.graders.model import PairwiseGrader
from evalq.definitions.judge import JudgeConfig, ModelJudge
from evalq.definitions.model_params import refuse_unbounded
from evalq.definitions.money import money
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import ScorerMode, TaskConfig
from evalq.errors import CapReached, InputError, Problem
from evalq.grading.grade import grader_models, named_graders, stages
from evalq.records import Executor

SIMULATED_GRADER = "sim-grader"
WINDOW_S = 20
"""Seconds of a gate's limits that may be published at once."""
LARGEST_WINDOW = 4096
"""Messages published at once for a gate without limits."""

_SMALLEST_WINDOW = 4


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
    graders: Mapping[str, JudgeConfig]
    """Grader models by the name that the task or its cases use; "" for graders that name none."""
    seed: int
    samples: int
    estimate_usd: Decimal
    worst_usd: Decimal
    estimate: CostEstimate = field(default_factory=CostEstimate)
    """What `estimate_usd` is made from, for one sample."""
    prices_as_of: str | None = None
    look: str | None = None
    """The run type of a bake-off on a holdout: why it is looked at."""
    set_sha256: str | None = None
    """Of the bytes of a holdout's file."""
    warnings: tuple[str, ...] = ()
    """Parts of another tool's file that evalq cannot run."""
    n_drafts: int = 0
    """Cases left out because they are drafts that no person has accepted."""
    notes: str | None = None
    name: str | None = None
    """What the user noted, and calls it."""
    is_limited: bool = False
    """Whether only some of the cases are asked."""

    def with_estimate(self, estimate: CostEstimate) -> "Plan":
        """The plan with another estimate, never above its worst case."""
        usd = min(estimate.usd * self.samples, self.worst_usd)
        return replace(self, estimate=estimate, estimate_usd=usd)

    def window(self, judge: JudgeConfig) -> int:
        """How many messages of a judge's gate to publish at once: about twenty seconds of its limits."""
        tokens = [estimate_tokens(answer_prompt(self.task, case)) for case in self.evalset.cases[:20]]
        return window(judge, input_tokens=sum(tokens) // len(tokens), output_tokens=self.task.max_tokens)

    @property
    def draft_warning(self) -> str | None:
        """A warning about draft cases that are left out; None when there are none."""
        if not self.n_drafts:
            return None
        cases = "1 draft case" if self.n_drafts == 1 else f"{self.n_drafts} draft cases"
        return f"{cases} left out; accept them with `{accept_command(self.evalset.name, self.task.name)}`"

    @property
    def run_type(self) -> str:
        """The kind of run: a look at a holdout, a limited one, or a whole bake-off."""
        return self.look or ("limited" if self.is_limited else "bake-off")

    @property
    def scorer(self) -> str:
        """The scorer's name as stored: the mode, or `graders` for a task with a list of them."""
        return self.task.scoring.mode if self.task.scoring else "graders"

    @property
    def runs_code(self) -> bool:
        """Whether a grader runs code that judges wrote."""
        return any("sandbox" in stages(self.task, case) for case in self.evalset.cases)

    @property
    def executors(self) -> frozenset[Executor]:
        """What must be installed to run the code that judges write."""
        found: set[Executor] = set()
        for case in self.evalset.cases:
            for _, grader in named_graders(self.task, case):
                if isinstance(grader, FunctionOutput):
                    found.add(grader.executor)
        return frozenset(found)

    @property
    def providers(self) -> frozenset[str]:
        """The providers that its calls go to."""
        return frozenset(judge.provider for judge in (*self.judges, *self.graders.values()))

    @property
    def grader(self) -> JudgeConfig | None:
        """The grader model, the first of several."""
        return next(iter(self.graders.values()), None)

    @property
    def grader_names(self) -> str | None:
        """The names of the grader models, separated by commas."""
        return ", ".join(dict.fromkeys(judge.name for judge in self.graders.values())) or None

    @property
    def jobs_per_judge(self) -> int:
        """Cases times samples."""
        return len(self.evalset.cases) * self.samples

    @property
    def n_jobs(self) -> int:
        """Jobs of the whole bake-off."""
        return self.jobs_per_judge * len(self.judges)

    def jobs(self) -> Iterator[PlannedJob]:
        """One judge's jobs, shuffled by the seed; the order is the same for every judge."""
        pairs = [(case.id, sample) for case in self.evalset.cases for sample in range(1, self.samples + 1)]
        random.Random(self.seed).shuffle(pairs)  # noqa: S311 - an order, not a secret
        return (PlannedJob(case_id, sample, at) for at, (case_id, sample) in enumerate(pairs))


def make_plan(
    task: TaskConfig,
    evalset: EvalSet,
    judges: Sequence[JudgeConfig],
    *,
    graders: Mapping[str, JudgeConfig] | None = None,
    seed: int = 0,
    samples: int = 1,
) -> Plan:
    """Price and order a bake-off."""
    known = graders or {}
    refuse_unbounded([*judges, *known.values()])
    estimate, worst = guess_costs(task, evalset, judges, known)
    return Plan(
        task,
        evalset,
        tuple(judges),
        known,
        seed,
        samples,
        estimate_usd=estimate.usd * samples,
        worst_usd=worst * samples,
        estimate=estimate,
        prices_as_of=_prices_as_of([*judges, *known.values()]),
    )


def accept_command(eval_set: str, task: str) -> str:
    """The command that accepts all draft cases of a set."""
    return f"evalq generate --accept {eval_set} --task {task} --all"


def _prices_as_of(judges: Sequence[JudgeConfig]) -> str | None:
    """The date of the price table, if any of these judges is priced by it."""
    by_table = any(isinstance(judge, ModelJudge) and judge.price is None for judge in judges)
    return prices_as_of() if by_table else None


def refuse_unpriced(judges: Sequence[JudgeConfig]) -> None:
    """Refuse judges without a known price, since no cap holds for them."""
    remedy = "add price: under it in evalq.yaml, or allow it with --allow-unpriced"
    problems = [Problem(f"judge {j.name!r} has no price", remedy) for j in judges if price_of(j) is None]
    if problems:
        raise InputError(*problems)


def window(judge: JudgeConfig, *, input_tokens: int, output_tokens: int) -> int:
    """How many messages of a gate to publish: enough to keep it busy, too few to fill other gates' slots."""
    per_minute = []
    if judge.rpm:
        per_minute.append(float(judge.rpm))
    if judge.input_tpm:
        per_minute.append(judge.input_tpm / input_tokens)
    if judge.output_tpm:
        per_minute.append(judge.output_tpm / output_tokens)
    sizes = [LARGEST_WINDOW]
    if per_minute:
        sizes.append(math.ceil(min(per_minute) / 60 * WINDOW_S))
    if judge.concurrency:
        sizes.append(judge.concurrency * 2)
    return max(_SMALLEST_WINDOW, min(sizes))


def apply_scorer(task: TaskConfig, scorer: ScorerMode | None, grader_model: str | None) -> TaskConfig:
    """The task with its scorer mode or grader model replaced."""
    if scorer is None and grader_model is None:
        return task
    if task.scoring is None and scorer is not None:
        raise InputError(Problem(f"task {task.name!r} is marked by its graders", "leave out --scorer"))
    if task.scoring is None:
        return task
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
            f"the projected cost ${money(plan.estimate_usd)} exceeds the cap ${money(cap_usd)}; "
            f"raise --max-cost-usd, or take fewer judges or cases"
        )


def choose_graders(
    task: TaskConfig,
    cases: Sequence[EvalCase],
    judges: Sequence[JudgeConfig],
    known: Catalogue,
    *,
    chosen: str | None = None,
    usual: str | None = None,
) -> dict[str, JudgeConfig]:
    """Every grader model by the name that graders use, "" for graders that name none.

    `chosen` replaces all but the members of panels, `usual` serves graders that name none. Simulated answers
    are graded by a simulation, at no cost, unless a grader is chosen.
    """
    panels = {name for case in cases for name in _panel_members(task, case)}
    is_simulated = all(judge.provider == "simulated" for judge in judges)
    graders: dict[str, JudgeConfig] = {}
    for case in cases:
        for model in grader_models(task, case):
            name = model or ""
            is_member = name in panels
            if name in graders:
                continue
            if is_simulated and (is_member or not chosen):
                graders[name] = _simulate_grader(name, known, is_member=is_member)
            elif is_member:
                graders[name] = _pick_grader(name, task, known)
            else:
                graders[name] = _pick_grader(chosen or name or usual, task, known)
    return graders


def named_models(task: TaskConfig, cases: Sequence[EvalCase]) -> list[str]:
    """The grader models named by a task and its cases, each once."""
    names = dict.fromkeys(name for case in cases for name in grader_models(task, case))
    return [name for name in names if name]


def _panel_members(task: TaskConfig, case: EvalCase) -> Sequence[str]:
    return [name for _, grader in named_graders(task, case) for name in getattr(grader, "models", ())]


def _simulate_grader(name: str, known: Catalogue, *, is_member: bool) -> JudgeConfig:
    """The named grader if it is simulated, else the simulated grader; panel members get one each."""
    if name in known and known[name].provider == "simulated":
        return known[name]
    grader = known[SIMULATED_GRADER]
    if not is_member:
        return grader
    return grader.model_copy(update={"name": f"{grader.name}-{name}", "model": f"{grader.model} as {name}"})


def _pick_grader(name: str | None, task: TaskConfig, known: Catalogue) -> JudgeConfig:
    if not name:
        raise InputError(
            Problem(
                f"task {task.name!r} has a model grader that names no model",
                "write model: under it, give --grader-model, or set grader_model: in evalq.yaml",
            )
        )
    return pick_judges([name], known)[0]


def refuse_absent_opponents(
    task: TaskConfig, cases: Sequence[EvalCase], judges: Sequence[JudgeConfig]
) -> None:
    """Refuse pairwise graders whose opponent is not among the judges."""
    names = [judge.name for judge in judges]
    graders = [grader for case in cases for _, grader in named_graders(task, case)]
    opponents = dict.fromkeys(one.opponent for one in graders if isinstance(one, PairwiseGrader))
    problems = [
        Problem(
            f"a pairwise grader compares with {name!r}, which is not among the judges",
            f"add it to --judges, or name another {did_you_mean(name, names)}".rstrip(),
        )
        for name in opponents
        if name is not None and name not in names
    ]
    if problems:
        raise InputError(*problems)


def own_graders(judges: Sequence[JudgeConfig], graders: Mapping[str, JudgeConfig]) -> list[str]:
    """The judges on trial that also grade: the same model of the same provider."""
    models = {(grader.provider, grader.model) for grader in graders.values()}
    return [judge.name for judge in judges if (judge.provider, judge.model) in models]
