import json
from dataclasses import replace

import pytest
from asking import complete

from evalq.calling.providers.simulated import SimulatedAdapter, other_labels
from evalq.definitions.judge import SimulatedJudge
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt
from evalq.stats import cohen_kappa

ABOUT = CaseContext(
    task="t",
    case_id="c1",
    inputs={"sources": "[A] Wiki\nIt was 2021.\n\n[B] Mail\nIt was 2023."},
    expected={
        "any_of": ["2021"],
        "quotes": [{"source": "A", "quote": "It was 2021."}],
        "why": "Years differ.",
    },
    stratum={"bucket": "positive_explicit", "lang": "EN"},
    answer_form="findings",
)


def judge(name: str = "sim", **fields: object) -> SimulatedJudge:
    return SimulatedJudge(name=name, provider="simulated", model=name, time_scale=0.0, **fields)  # type: ignore[arg-type]


def ask(config: SimulatedJudge, about: CaseContext = ABOUT) -> Completion:
    return complete(SimulatedAdapter(config, {}), Prompt("system", "user", 256, about))


def test_the_same_question_has_the_same_answer() -> None:
    assert ask(judge(accuracy=0.5)) == ask(judge(accuracy=0.5))


def test_another_seed_sample_or_judge_draws_anew() -> None:
    answers = {
        ask(judge(), replace(ABOUT, seed=seed, sample=sample)).latency_ms
        for seed in range(4)
        for sample in range(4)
    }
    assert len(answers) > 8
    assert ask(judge("other")).latency_ms != ask(judge("sim")).latency_ms


def test_a_right_judge_finds_the_contradiction_and_a_wrong_one_does_not() -> None:
    [finding] = json.loads(ask(judge(accuracy=1.0)).text)
    assert finding["quotes"] == [{"source": "A", "quote": "It was 2021."}]
    assert "2021" not in ask(judge(accuracy=0.0)).text


def test_a_right_judge_finds_nothing_on_a_negative_case() -> None:
    negative = replace(ABOUT, is_positive=False, expected={})
    assert ask(judge(accuracy=1.0), negative).text == "[]"
    assert len(json.loads(ask(judge(accuracy=0.0), negative).text)) == 1


def test_it_answers_plain_text_and_rankings_in_their_own_form() -> None:
    text = replace(ABOUT, answer_form="text", expected={"answer": "invoice"})
    assert ask(judge(accuracy=1.0), text).text == "invoice"
    assert ask(judge(accuracy=0.0), text).text != "invoice"
    ranking = replace(ABOUT, answer_form="ranking", expected={"relevant": ["n1"]})
    assert json.loads(ask(judge(accuracy=1.0), ranking).text)[0] == "n1"
    assert "n1" not in json.loads(ask(judge(accuracy=0.0), ranking).text)


def test_a_wrong_answer_is_wrong_even_when_the_stock_phrase_is_expected() -> None:
    text = replace(ABOUT, answer_form="text", expected={"answer": "none of these"})
    assert ask(judge(accuracy=0.0), text).text != "none of these"


def test_a_right_grader_tells_true_findings_from_false() -> None:
    grader = judge(accuracy=1.0)
    assert ask(grader, replace(ABOUT, graded_text='{"quote": "It was 2021."}')).text == "VALID"
    assert ask(grader, replace(ABOUT, graded_text='{"quote": "nothing"}')).text == "INVALID"
    assert ask(judge(accuracy=0.0), replace(ABOUT, graded_text='{"quote": "nothing"}')).text == "VALID"


@pytest.mark.parametrize("trouble", ["empty", "refused", "truncated"])
def test_misbehaviour_is_a_state_of_its_own(trouble: str) -> None:
    completion = ask(judge(accuracy=1.0, misbehaviour={trouble: 1.0}))
    assert completion.state == trouble
    assert not completion.is_answer


def test_a_malformed_answer_is_text_that_is_not_json() -> None:
    with pytest.raises(ValueError):
        json.loads(ask(judge(misbehaviour={"malformed": 1.0})).text)


def test_an_error_is_a_transient_fault_drawn_anew_for_each_attempt() -> None:
    with pytest.raises(ProviderFault, match="transient"):
        ask(judge(misbehaviour={"error": 1.0}))
    flaky, outcomes = judge(misbehaviour={"error": 0.5}), set()
    for attempt in range(1, 9):
        try:
            outcomes.add(ask(flaky, replace(ABOUT, attempt=attempt)).state)
        except ProviderFault:
            outcomes.add("fault")
    assert outcomes == {"answered", "fault"}


def test_a_slow_answer_takes_five_times_as_long() -> None:
    assert ask(judge(misbehaviour={"slow": 1.0})).latency_ms == pytest.approx(
        5 * ask(judge()).latency_ms, abs=3
    )


def test_tokens_follow_the_length_of_the_text() -> None:
    usage = ask(judge(accuracy=1.0)).usage
    assert usage.input_tokens == 2 + 8
    assert usage.output_tokens > 10
    assert ask(judge(misbehaviour={"empty": 1.0})).usage.output_tokens == 0


def passes(config: SimulatedJudge, n: int = 400) -> list[bool]:
    cases = [
        replace(ABOUT, case_id=f"c{i}", stratum={"bucket": "easy" if i % 2 else "hard"}) for i in range(n)
    ]
    return ["2021" in ask(config, about).text for about in cases]


def test_accuracy_holds_overall_and_by_stratum() -> None:
    result = passes(judge(accuracy=0.9, accuracy_by_stratum={"hard": 0.3}), n=2000)
    assert sum(result[1::2]) / 1000 == pytest.approx(0.9, abs=0.04)
    assert sum(result[::2]) / 1000 == pytest.approx(0.3, abs=0.06)


def test_judges_of_a_family_agree_more_than_strangers() -> None:
    def kappa(a: SimulatedJudge, b: SimulatedJudge) -> float:
        return cohen_kappa(passes(a), passes(b)).kappa

    kin = {"family": "kin", "family_likeness": 0.4, "shared_difficulty": 0.4, "accuracy": 0.6}
    stranger = judge("z", **{**kin, "family": "other"})
    assert kappa(judge("x", **kin), judge("y", **kin)) > kappa(judge("x", **kin), stranger) + 0.1
    assert kappa(judge("x", **kin), stranger) > 0.1


def test_the_latency_has_the_median_and_tail_it_was_given() -> None:
    config = judge(latency_ms={"p50": 400, "p95": 1200})
    drawn = sorted(ask(config, replace(ABOUT, case_id=str(i))).latency_ms for i in range(1000))
    assert drawn[500] == pytest.approx(400, rel=0.1)
    assert drawn[950] == pytest.approx(1200, rel=0.15)


def test_a_wrong_label_is_another_one_of_those_the_prompt_lists() -> None:
    system = "Answer with one of these labels:\n- billing\n- sales\n- support\n"
    assert other_labels(system, "sales") == ["billing", "support"]
    assert other_labels(system, "legal") == []
    assert other_labels("Be brief.", "sales") == []
