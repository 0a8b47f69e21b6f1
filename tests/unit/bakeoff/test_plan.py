from decimal import Decimal

import pytest

from evalq.bakeoff.plan import Plan, apply_scorer, make_plan, refuse_over_cap, refuse_unpriced
from evalq.calling.pricing import estimate_usd, worst_case_usd
from evalq.definitions.evalset import EvalSet
from evalq.definitions.judge import OpenAIJudge, PythonJudge, SimulatedJudge
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import FINDINGS_RULE, TaskConfig
from evalq.errors import CapReached, InputError
from evalq.grading.scoring import MAX_FINDINGS, VERDICT_TOKENS, verdict_prompt

STRICT = {"mode": "strict_substring", "pass_rule": FINDINGS_RULE}
MODEL = {**STRICT, "mode": "llm_judge", "judge_model": "g", "rubric": "knowledge_audit"}


def task(**fields: object) -> TaskConfig:
    known = {"name": "t", "system_prompt": "audit", "user_template": "{sources}", "scoring": STRICT}
    return TaskConfig.model_validate(known | fields)


def judge(name: str = "a", **fields: object) -> SimulatedJudge:
    known = {"name": name, "provider": "simulated", "model": name, "price": {"input": 3, "output": 15}}
    return SimulatedJudge.model_validate(known | fields)


CASES = EvalSet.model_validate(
    {"name": "dev", "cases": [{"id": f"c{n}", "inputs": {"sources": "x" * n}} for n in range(1, 21)]}
)
RANKING = task(scoring=None, graders=[{"type": "mrr"}])


def plan(**options: object) -> Plan:
    return make_plan(task(), CASES, [judge("a"), judge("b")], **options)  # type: ignore[arg-type]


def test_every_judge_answers_every_case_as_often_as_samples_are_asked_for() -> None:
    made = plan(samples=3)
    assert (made.jobs_per_judge, made.n_jobs) == (60, 120)
    pairs = {(job.case_id, job.sample) for job in made.jobs()}
    assert pairs == {(case.id, sample) for case in CASES.cases for sample in (1, 2, 3)}


def test_positions_count_from_zero_without_gaps() -> None:
    assert [job.position for job in plan(samples=2).jobs()] == list(range(40))


def test_the_seed_alone_decides_the_order() -> None:
    def order(seed: int) -> list[str]:
        return [job.case_id for job in plan(seed=seed).jobs()]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != [case.id for case in CASES.cases]


def test_the_costs_are_the_sum_over_judges_and_cases() -> None:
    prompts = [answer_prompt(task(), case) for case in CASES.cases]
    made = plan()
    assert made.estimate_usd == 2 * sum(estimate_usd(judge(), prompt) for prompt in prompts)
    assert made.worst_usd == 2 * sum(worst_case_usd(judge(), prompt) for prompt in prompts)


def test_every_sample_costs_as_much_again() -> None:
    assert plan(samples=4).estimate_usd == 4 * plan().estimate_usd
    assert plan(samples=4).worst_usd == 4 * plan().worst_usd


def test_grading_is_part_of_the_costs_once_probably_and_for_every_finding_at_worst() -> None:
    marked = task(scoring=MODEL)
    bare = make_plan(marked, CASES, [judge("a")])
    graded = make_plan(marked, CASES, [judge("a")], graders={"g": judge("g")})
    verdicts = [verdict_prompt(marked, case, "x" * (4 * n)) for n, case in enumerate(CASES.cases, start=1)]
    assert {prompt.max_tokens for prompt in verdicts} == {VERDICT_TOKENS}
    assert graded.estimate_usd - bare.estimate_usd == sum(estimate_usd(judge(), v) for v in verdicts)
    worst = sum(worst_case_usd(judge(), v) for v in verdicts) * MAX_FINDINGS
    assert graded.worst_usd - bare.worst_usd == worst


def unpriced(name: str) -> OpenAIJudge:
    return OpenAIJudge(name=name, provider="openai", model="m", base_url="http://127.0.0.1:8000/v1")


def test_judges_without_a_price_are_refused_by_name() -> None:
    with pytest.raises(InputError) as caught:
        refuse_unpriced([judge("a"), unpriced("b"), unpriced("g")])
    assert [problem.message for problem in caught.value.problems] == [
        "judge 'b' has no price",
        "judge 'g' has no price",
    ]


def test_a_system_of_ones_own_needs_no_price() -> None:
    own = PythonJudge(name="p", provider="python", callable="m:f")
    assert make_plan(task(), CASES, [own]).worst_usd == 0


def test_a_task_with_graders_is_stored_under_that_word() -> None:
    assert plan().scorer == "strict_substring"
    assert make_plan(RANKING, CASES, [judge()]).scorer == "graders"


def test_without_another_scorer_the_task_stays_as_it_is() -> None:
    assert apply_scorer(task(), None, None) == task()
    assert apply_scorer(RANKING, None, None) == RANKING


def test_another_scorer_or_grader_takes_the_place_of_the_tasks_own() -> None:
    marked = task(scoring=MODEL)
    assert apply_scorer(marked, "strict_substring", None).scoring.mode == "strict_substring"  # type: ignore[union-attr]
    assert apply_scorer(marked, None, "other").scoring.judge_model == "other"  # type: ignore[union-attr]
    assert apply_scorer(marked, "strict_substring", None).name == marked.name


def test_a_strict_task_with_a_rubric_can_be_graded_by_a_model() -> None:
    strict = task(scoring={**STRICT, "rubric": "knowledge_audit"})
    scoring = apply_scorer(strict, "llm_judge", "g").scoring
    assert scoring is not None
    assert (scoring.mode, scoring.judge_model, scoring.pass_rule) == ("llm_judge", "g", FINDINGS_RULE)


@pytest.mark.parametrize(
    "scoring", [STRICT, {**STRICT, "rubric": "knowledge_audit"}, {**STRICT, "judge_model": "g"}]
)
def test_a_grader_model_needs_its_rubric_and_its_name(scoring: dict[str, str]) -> None:
    with pytest.raises(InputError, match="no rubric or grader model for llm_judge"):
        apply_scorer(task(scoring=scoring), "llm_judge", None)


def test_a_task_marked_by_graders_has_no_scorer_to_change() -> None:
    with pytest.raises(InputError, match="marked by its graders; leave out --scorer"):
        apply_scorer(RANKING, "llm_judge", None)


def test_a_projection_over_the_cap_is_refused_before_the_first_call() -> None:
    made = plan()
    refuse_over_cap(made, made.estimate_usd)
    with pytest.raises(CapReached, match=r"cost \$0\.12 exceeds the cap \$0\.10; raise --max-cost-usd"):
        refuse_over_cap(made, Decimal("0.10"))


def test_the_date_of_the_price_table_is_kept_where_it_was_used() -> None:
    model = OpenAIJudge(name="m", provider="openai", model="gpt-5.4-mini")
    assert make_plan(task(), CASES, [model]).prices_as_of
    assert make_plan(task(), CASES, [judge("a")]).prices_as_of is None


def test_a_plan_names_every_parameter_without_a_bound() -> None:
    fields = {"name": "j", "provider": "openai", "model": "gpt-5.4"}
    unbounded = OpenAIJudge.model_validate(fields | {"params": {"best_off": 50, "max_tokens": None}})
    with pytest.raises(InputError) as refused:
        make_plan(task(), CASES, [judge(), unbounded])
    assert len(refused.value.problems) == 2
    assert "judge 'j': the parameter 'max_tokens' is null" in str(refused.value)
    assert "did you mean 'best_of'?" in str(refused.value)
